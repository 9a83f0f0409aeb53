// SPDX-License-Identifier: Apache-2.0
// The shortest useful program: two entries, one of which has expired. README.md shows this code.

#include <iostream>
#include <string>

#include "mayfly/cache.h"

using namespace std::chrono_literals;

int main() {
  mayfly::ManualClock clock;  // in your own program: mayfly::SteadyClock
  mayfly::Cache<std::string, int> stock(clock, {.default_expiry = 10min});

  stock.put("apples", 3);      // for ten minutes
  stock.put("pears", 5, 30s);  // a TTL of its own
  clock.advance(30s);          // instead of waiting

  const int* apples = stock.get("apples");  // a pointer to 3
  const int* pears = stock.get("pears");    // null: a TTL of 30 s lasts 30 s, to the millisecond
  std::cout << "apples: " << (apples != nullptr ? *apples : 0) << ", live: " << stock.size()
            << '\n';
  return apples != nullptr && pears == nullptr && stock.size() == 1 ? 0 : 1;
}
