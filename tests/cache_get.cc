// SPDX-License-Identifier: Apache-2.0
// Looks keys up, many times: in a Cache, or in the bare hash map that it is built on. For
// callgrind; cache_get_test.py compares the instructions of the two.
//
//   cache_get cache|map number|string ROUNDS

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/cache.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKeys = 10'000;

template <class Key>
Key key_of(std::uint64_t number) {
  if constexpr (std::is_same_v<Key, std::string>) {
    return "session:" + std::to_string(number * 2'654'435'761u);
  } else {
    return number * 2'654'435'761u;
  }
}

// The whole lookup, as a program that is not inlined into it would call it.
template <class Key>
[[gnu::noinline]] const std::uint64_t* get(Cache<Key, std::uint64_t>& cache, const Key& key) {
  return cache.get(key);
}

template <class Key>
[[gnu::noinline]] const std::uint64_t* get(const internal::SlotMap<Key, std::uint64_t>& map,
                                           const Key& key) {
  const auto* const entry = map.lookup(key, map.hash_of(key));
  return entry == nullptr ? nullptr : &entry->value;
}

template <class Key, class Map>
std::uint64_t look_up(Map& map, const std::vector<Key>& keys, int rounds) {
  std::uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const Key& key : keys) sum += *get(map, key);
  }
  return sum;
}

template <class Key>
std::uint64_t run(bool is_cache, int rounds) {
  std::vector<Key> keys;
  for (std::uint64_t number = 0; number < kKeys; ++number) keys.push_back(key_of<Key>(number));

  ManualClock clock;
  Cache<Key, std::uint64_t> cache(clock);
  internal::SlotMap<Key, std::uint64_t> map;
  for (const Key& key : keys) {
    if (is_cache) {
      cache.put(key, 1, 1h);
    } else {
      map.insert(key, 1);
    }
  }
  return is_cache ? look_up(cache, keys, rounds) : look_up(map, keys, rounds);
}

}  // namespace
}  // namespace mayfly

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: cache_get cache|map number|string ROUNDS\n");
    return 1;
  }
  const bool is_cache = std::string_view(words[1]) == "cache";
  const int rounds = std::atoi(words[3]);
  const std::uint64_t sum = std::string_view(words[2]) == "number"
                                ? mayfly::run<std::uint64_t>(is_cache, rounds)
                                : mayfly::run<std::string>(is_cache, rounds);
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
