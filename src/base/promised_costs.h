// SPDX-License-Identifier: Apache-2.0
// What the programs of costs_test.py share: promised costs, as operations on structures of a chosen
// size.
//
//   valgrind --tool=callgrind --instr-atstart=no costs 10000
//   costs --list          a line for each: name, growth, where it is promised

#pragma once

#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mayfly {

// Instructions are counted between begin() and its end.
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
  std::string growth;  // constant, or log
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

// The main() of such a program.
inline int show_costs(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const Promise& promise : promises()) {
      std::printf("%s\t%s\t%s\n", promise.name.c_str(), promise.growth.c_str(),
                  promise.place.c_str());
    }
    return 0;
  }
  const std::size_t size = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (size < 1'000) {
    std::fprintf(stderr, "usage: %s --list | SIZE (1000 at least)\n", argv[0]);
    return 2;
  }
  for (const Promise& promise : promises()) promise.run(size, promise.name);
  return 0;
}

}  // namespace mayfly
