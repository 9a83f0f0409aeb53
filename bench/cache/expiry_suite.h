// SPDX-License-Identifier: Apache-2.0
// The suites `expiry` (the expiry strategies, as indexes alone and in a cache) and `cache` (reads
// of the cache).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cache/strategies.h"
#include "bench/report/results.h"
#include "mayfly/time.h"

namespace mayfly::bench {

// As the user wrote them. Empty means the default.
struct ExpiryOptions {
  std::string sizes = {};
  std::string strategies = {};
  std::string distributions = {};
  std::string rounds = {};
  std::string seed = {};
  bool full = false;
  bool quick = false;
};

struct ExpiryPlan {
  std::vector<std::size_t> sizes;
  std::vector<const Strategy*> strategies;
  std::vector<Distribution> distributions;
  int rounds = 3;
  std::uint64_t seed = 1;

  // No round but the first begins that would probably end after this. Not set if the user has
  // asked for a number of rounds.
  std::optional<double> seconds_limit;

  std::size_t lateness_keys = 100'000;
  Millis lateness_length = std::chrono::seconds(90);
};

// Throws Failure if an option is wrong.
ExpiryPlan make_expiry_plan(const ExpiryOptions& options);

// Rounds are interleaved: each strategy runs once before any runs again, so that a disturbance of
// the machine affects all of them.
void run_expiry(const ExpiryPlan& plan, Results& results);

struct GetsPlan {
  std::size_t entries = 100'000;
  std::size_t gets = 2'000'000;  // of each thread in each round
  int rounds = 5;
  std::size_t threads = 2;  // the most at once
  std::uint64_t seed = 1;
};

// One thread: the cache against the hash map it is built on and the standard one. Several threads:
// ShardedCache against a map with a mutex.
void run_gets(const GetsPlan& plan, Results& results);

}  // namespace mayfly::bench
