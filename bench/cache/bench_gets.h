// SPDX-License-Identifier: Apache-2.0
// How fast are reads of the cache? The measurements of `mayfly bench cache`.
//
// One thread: the cache against the bare hash map it is built on and the standard one. Many
// threads: ShardedCache against what people write first, a map with a mutex around it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mayfly {

struct GetsPlan {
  std::size_t entries = 100'000;
  std::size_t gets = 2'000'000;  // in each round, of each thread
  std::size_t rounds = 5;        // interleaved; medians are reported
  std::size_t threads = 2;       // the most at once
  std::uint64_t seed = 1;
};

struct GetsResult {
  std::string name;
  std::size_t threads = 1;
  double millions_per_second = 0;  // of all threads together
};

// In the order in which they are to be shown; for each name the fewest threads come first.
std::vector<GetsResult> measure_gets(const GetsPlan& plan);

// Tables for people.
std::string render_gets(const GetsPlan& plan, const std::vector<GetsResult>& results);

// The same for programs.
std::string gets_to_json(const GetsPlan& plan, const std::vector<GetsResult>& results);

}  // namespace mayfly
