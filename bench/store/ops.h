// SPDX-License-Identifier: Apache-2.0
// The operations by which the suite `store` compares systems: the same keys, values
// and deadlines in the same order for all of them, from a seed.
//
// They are made before anything is measured and lie in memory one behind the other, so that what is
// measured is the system and not the making of keys.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"

namespace mayfly::bench {

inline constexpr std::size_t kBenchKeyBytes = 12;

// The time at which everything is written and read, and the one at which about half is due.
inline constexpr Time kStoreBenchStart{std::chrono::hours(24 * 365 * 56)};
inline constexpr Time kStoreBenchHalfDue = kStoreBenchStart + std::chrono::minutes(30) + Millis(7);

struct StoreOp {
  enum class Kind : unsigned char { get, put, erase };

  std::array<char, kBenchKeyBytes> key;
  std::uint32_t value;     // where in the pool of values its own begins
  Time deadline = kNever;  // of a put
  Kind kind = Kind::put;

  std::string_view key_view() const { return {key.data(), key.size()}; }
};

// The values of all operations are pieces of one pool, which compressors cannot shrink.
class ValuePool {
 public:
  ValuePool(std::size_t value_bytes, std::uint64_t seed);

  std::size_t value_bytes() const { return value_bytes_; }
  std::string_view operator[](const StoreOp& op) const {
    return {bytes_.data() + op.value, value_bytes_};
  }

 private:
  std::size_t value_bytes_;
  std::string bytes_;
};

struct StoreOps {
  const ValuePool* values;
  std::span<const StoreOp> ops;
};

enum class KeyOrder {
  sequential,  // 0, 1, 2 ...
  appended,    // the same, behind all keys that are there
  shuffled,    // each key once
  random,      // any key, as often as it happens
};

struct OpsRequest {
  std::size_t keys;   // that there are
  std::size_t count;  // of operations
  KeyOrder order = KeyOrder::random;
  bool ttl = false;
  bool mixed = false;       // 70 % gets, 20 % puts, 10 % erasures; else puts
  unsigned generation = 0;  // another one, other values and deadlines; below 8
  std::uint64_t seed = 1;
};

std::vector<StoreOp> make_ops(const OpsRequest& request);

// "key:00000042". REQUIRES: number < 10^8.
std::array<char, kBenchKeyBytes> bench_key(std::size_t number);

// The key of a session token: no order in them, and none comes twice. REQUIRES: number < 10^8.
std::array<char, kBenchKeyBytes> token_key(std::size_t number);

// From 8 ms to an hour after the start. However often a key is put again, in whichever generation,
// its deadline stays on the same side of kStoreBenchHalfDue: so all systems have the same to purge,
// though a fast one has put more by then than a slow one.
Time bench_deadline(std::size_t number, unsigned generation);

// What a reader makes of a value: enough that it has to be there, and too little to be noticed.
inline std::uint64_t digest(std::string_view value) {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  if (value.size() < sizeof head) return value.size();
  std::memcpy(&head, value.data(), sizeof head);
  std::memcpy(&tail, value.data() + value.size() - sizeof tail, sizeof tail);
  return head + tail + value.size();
}

}  // namespace mayfly::bench
