// SPDX-License-Identifier: Apache-2.0
// Promised costs, as operations on structures of a chosen size. A program lists them, or runs them
// all for callgrind.

#pragma once

#include <valgrind/callgrind.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mayfly {

inline constexpr std::uint64_t kOperations = 500;

// Instructions are counted between its construction and end().
class Counted {
 public:
  Counted() {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
  }
  void end(const std::string& name) {
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
  }
};

struct Promise {
  std::string name;
  std::string growth;  // constant, log or linear
  std::string place;   // where it is promised
  std::function<void(std::size_t size, const std::string& name)> run;
};

inline std::vector<Promise>& promises() {
  static std::vector<Promise> all;
  return all;
}

inline void add(std::string name, std::string growth, std::string place,
                std::function<void(std::size_t, const std::string&)> run) {
  promises().push_back({std::move(name), std::move(growth), std::move(place), std::move(run)});
}

// `--list`: a line for each, with name, growth and place. SIZE: runs them all.
inline int run_promises(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  if (word == "--list") {
    for (const Promise& promise : promises()) {
      std::printf("%s\t%s\t%s\n", promise.name.c_str(), promise.growth.c_str(),
                  promise.place.c_str());
    }
    return 0;
  }
  const std::size_t size = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (size >= 1'000) {
    for (const Promise& promise : promises()) promise.run(size, promise.name);
    return 0;
  }
  std::fprintf(stderr, "usage: %s --list | %s SIZE (1000 at least)\n", argv[0], argv[0]);
  return 2;
}

}  // namespace mayfly
