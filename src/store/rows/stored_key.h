// SPDX-License-Identifier: Apache-2.0
// The form in which keys and deadlines stand in the tables.
//
// LMDB takes keys of up to 511 bytes, and the expiry index puts 8 bytes of deadline in front. So a
// key of up to 502 bytes is stored as it is, and a longer one as 503 bytes:
//
//   short    [ key ............................ ]                          1 to 502 bytes
//   long     [ first 487 bytes of the key ][ hash of the whole, 16 bytes ]     503 bytes
//            value: [ length of the key, 4 bytes ][ key ][ value ]
//
// The length alone tells which it is. Among keys that share their first 487 bytes the stored order
// is not the order of the keys; LongKeys (row_cursor.h) restores it for cursors.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/store_options.h"
#include "mayfly/time.h"

namespace mayfly::internal {

inline constexpr std::size_t kStoredKeyMax = 503;
inline constexpr std::size_t kShortKeyMax = kStoredKeyMax - 1;
inline constexpr std::size_t kLongHashBytes = 16;
inline constexpr std::size_t kLongPrefixBytes = kStoredKeyMax - kLongHashBytes;  // 487
inline constexpr std::size_t kLongHeaderBytes = 4;
inline constexpr std::size_t kDeadlineBytes = 8;

static_assert(kStoredKeyMax + kDeadlineBytes == 511, "the longest key that LMDB takes");

// Whether a store can hold such a key or value; if not, bad_key() or bad_value() is the error.
inline bool good_key(std::string_view key) { return !key.empty() && key.size() <= kStoreKeyMax; }
inline bool good_value(std::string_view value) { return value.size() <= kStoreValueMax; }
Error bad_key(std::string_view key);
Error bad_value(std::string_view value);

constexpr bool is_long(std::string_view stored) { return stored.size() == kStoredKeyMax; }

class StoredKey {
 public:
  // A short key is not copied: it must outlive this. `seed` is the file's own.
  StoredKey(std::string_view key, std::uint64_t seed) : key_(key) {
    if (key.size() > kShortKeyMax) make_long(seed);
  }
  StoredKey(const StoredKey&) = delete;
  StoredKey& operator=(const StoredKey&) = delete;

  std::string_view bytes() const {
    return long_form() ? std::string_view(buffer_, kStoredKeyMax) : key_;
  }
  bool long_form() const { return key_.size() > kShortKeyMax; }
  std::string_view key() const { return key_; }

 private:
  void make_long(std::uint64_t seed);

  std::string_view key_;
  char buffer_[kStoredKeyMax];
};

// What stands in the data table of a long key.
struct LongValue {
  std::string_view key;
  std::string_view value;
};

// Nothing sensible can be made of bytes that are no long value: `ok` tells.
struct LongValueResult {
  LongValue parts;
  bool ok;
};
LongValueResult split_long_value(std::string_view stored);

// Writes the header and the key in front of where the value goes, and returns that place.
char* begin_long_value(char* at, std::string_view key);
constexpr std::size_t long_value_bytes(std::size_t key_bytes, std::size_t value_bytes) {
  return kLongHeaderBytes + key_bytes + value_bytes;
}

// Eight bytes, most significant first, so that the order of bytes is the order of time. What is
// before 1970 counts as 1970: it is as expired.
struct DeadlineBytes {
  char bytes[kDeadlineBytes];
  std::string_view view() const { return {bytes, kDeadlineBytes}; }
};

inline DeadlineBytes encode_deadline(Time deadline) {
  const std::int64_t ms = deadline.time_since_epoch().count();
  const auto word = __builtin_bswap64(ms < 0 ? 0 : static_cast<std::uint64_t>(ms));
  DeadlineBytes result;
  std::memcpy(result.bytes, &word, sizeof word);
  return result;
}

// REQUIRES: at least 8 bytes.
inline Time decode_deadline(std::string_view bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return Time(Millis(static_cast<std::int64_t>(__builtin_bswap64(word))));
}

// A key of the expiry index: the deadline, then the stored key.
class ExpiryKey {
 public:
  ExpiryKey(Time deadline, std::string_view stored) : size_(kDeadlineBytes + stored.size()) {
    const DeadlineBytes head = encode_deadline(deadline);
    std::memcpy(buffer_, head.bytes, kDeadlineBytes);
    std::memcpy(buffer_ + kDeadlineBytes, stored.data(), stored.size());
  }
  std::string_view bytes() const { return {buffer_, size_}; }

 private:
  std::size_t size_;
  char buffer_[kDeadlineBytes + kStoredKeyMax];
};

}  // namespace mayfly::internal
