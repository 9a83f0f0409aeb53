// SPDX-License-Identifier: Apache-2.0
// How keys of a server stand in a store: what `mayfly import` writes and `mayfly export` reads.
//
//   string    family default      key                         -> value
//   hash      family hash         length, key, field          -> value
//   set       family set          length, key, member         -> nothing
//   zset      family zset         length, key, member         -> score, as text
//   list      family list         length, key, index          -> element
//
// `length` is that of the key, in 4 bytes, the index of a list has 8, both with the greatest first:
// so a scan by prefix walks one hash, or one list in its order. With --cf NAME the families are
// NAME, NAME.hash, NAME.set, NAME.zset and NAME.list.
//
// A member's deadline is its own or its key's, whichever is sooner. So each member expires by
// itself, and a key is gone with the last of them, as on a server.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/import/import_item.h"

namespace mayfly {

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kIndexBytes = 8;

inline std::string big_endian(std::uint64_t number, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = bytes; i-- > 0; number >>= 8) text[i] = static_cast<char>(number & 0xFF);
  return text;
}

// What the entries of all members of a key begin with.
inline std::string member_prefix(std::string_view key) {
  return big_endian(key.size(), kLengthBytes).append(key);
}

struct MemberKey {
  std::string_view key;
  std::string_view member;
};

// Nothing if it is no key of a member.
inline std::optional<MemberKey> split_member_key(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  if (bytes.size() - kLengthBytes < length) return std::nullopt;
  return MemberKey{bytes.substr(kLengthBytes, length), bytes.substr(kLengthBytes + length)};
}

inline std::string family_name(std::string_view chosen, CopyType type) {
  if (type == CopyType::string) return std::string(chosen);
  std::string name;
  if (chosen != "default") name.append(chosen).append(".");
  return name.append(name_of(type));
}

}  // namespace mayfly
