// SPDX-License-Identifier: Apache-2.0
#include "store/rows/stored_key.h"

#include <xxhash.h>

#include <string>

namespace mayfly::internal {

Error bad_key(std::string_view key) {
  if (key.empty()) return {Code::invalid, "the key is empty (it must have at least one byte)"};
  return {Code::invalid, "the key has " + std::to_string(key.size()) + " bytes (at most " +
                             std::to_string(kStoreKeyMax) + " are allowed)"};
}

Error bad_value(std::string_view value) {
  return {Code::invalid, "the value has " + std::to_string(value.size()) + " bytes (at most " +
                             std::to_string(kStoreValueMax) + " are allowed)"};
}

void StoredKey::make_long(std::uint64_t seed) {
  std::memcpy(buffer_, key_.data(), kLongPrefixBytes);
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits_withSeed(key_.data(), key_.size(), seed));
  static_assert(sizeof hash.digest == kLongHashBytes);
  std::memcpy(buffer_ + kLongPrefixBytes, hash.digest, kLongHashBytes);
}

LongValueResult split_long_value(std::string_view stored) {
  if (stored.size() < kLongHeaderBytes) return {{}, false};
  std::uint32_t word = 0;
  std::memcpy(&word, stored.data(), sizeof word);
  const std::size_t key_bytes = __builtin_bswap32(word);
  stored.remove_prefix(kLongHeaderBytes);
  if (key_bytes > stored.size() || key_bytes <= kShortKeyMax) return {{}, false};
  return {{stored.substr(0, key_bytes), stored.substr(key_bytes)}, true};
}

char* begin_long_value(char* at, std::string_view key) {
  const std::uint32_t word = __builtin_bswap32(static_cast<std::uint32_t>(key.size()));
  std::memcpy(at, &word, sizeof word);
  std::memcpy(at + kLongHeaderBytes, key.data(), key.size());
  return at + kLongHeaderBytes + key.size();
}

}  // namespace mayfly::internal
