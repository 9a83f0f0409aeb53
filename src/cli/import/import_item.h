// SPDX-License-Identifier: Apache-2.0
// CopyItem: a key with its value as `mayfly import` and `mayfly export` copy it, and its layout in
// a store:
//
//   string    family default      key                         -> value
//   hash      family hash         length, key, field          -> value
//   set       family set          length, key, member         -> (empty)
//   zset      family zset         length, key, member         -> score, as text
//   list      family list         length, key, index          -> element
//   stream    family stream       length, key, id             -> fields and values
//                                 length, key                 -> its state (import_stream.h)
//
// `length` is the length of the key in 4 bytes, the index of a list has 8 bytes and the id of an
// entry 16, all big-endian: a scan by prefix visits one hash, or one list in its order. With --cf
// NAME the families are NAME, NAME.hash, NAME.set, NAME.zset, NAME.list and NAME.stream.
//
// A member expires at its own expiry time or that of its key, whichever is earlier. So each member
// expires by itself, and a key is gone with its last member, as on a server.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"

namespace mayfly {

enum class CopyType { string, hash, set, zset, list, stream };
inline constexpr std::array<std::string_view, 6> kCopyTypes = {"string", "hash", "set",
                                                               "zset",   "list", "stream"};
inline std::string_view name_of(CopyType type) {
  return kCopyTypes[static_cast<std::size_t>(type)];
}

// The commands for deadlines of members; none for strings, lists and streams.
struct DeadlineCommands {
  std::string_view read;
  std::string_view write;
  std::string_view word;  // before the number of members
};
inline constexpr std::array<DeadlineCommands, kCopyTypes.size()> kDeadlineCommands = {
    DeadlineCommands{},
    DeadlineCommands{"HPEXPIRETIME", "HPEXPIREAT", "FIELDS"},
    DeadlineCommands{"SPEXPIRETIME", "SPEXPIREAT", "MEMBERS"},
    DeadlineCommands{"ZPEXPIRETIME", "ZPEXPIREAT", "MEMBERS"},
    DeadlineCommands{},
    DeadlineCommands{}};

struct CopyMember {
  std::string name;   // field, member, or id of an entry; empty for a list, and a stream's state
  std::string value;  // of a field, score, element of a list, or words of an entry
  Time deadline = kNever;
};

struct CopyItem {
  std::string key;
  int database = 0;  // of a server
  CopyType type = CopyType::string;
  Time deadline = kNever;
  std::string value;                // of a string
  std::vector<CopyMember> members;  // of other types
};

struct CopyCounts {
  std::uint64_t seen = 0;                               // keys or entries read from the source
  std::array<std::uint64_t, kCopyTypes.size()> keys{};  // copied, by type
  std::uint64_t members = 0;                            // of the keys copied
  std::uint64_t key_deadlines = 0;                      // copied keys with an expiry time
  std::uint64_t member_deadlines = 0;                   // copied members with their own
  std::uint64_t gone = 0;                               // expired or deleted before they were read
  std::uint64_t kept = 0;                               // existed in the target, with --if-absent
  std::uint64_t loosened = 0;                    // keys whose members had different deadlines
  std::uint64_t dropped = 0;                     // deadlines of members, dropped
  std::map<std::string, std::uint64_t> skipped;  // keys, by reason
  std::string last_skipped;                      // a key, for messages; not in the state file

  std::uint64_t all_keys() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t number : keys) sum += number;
    return sum;
  }
  std::uint64_t all_skipped() const {
    std::uint64_t sum = 0;
    for (const auto& [what, number] : skipped) sum += number;
    return sum;
  }
  void copied(const CopyItem& item) {
    ++keys[static_cast<std::size_t>(item.type)];
    for (const CopyMember& member : item.members) {
      members += item.type != CopyType::stream || !member.name.empty();
    }
    if (item.deadline != kNever) ++key_deadlines;
    for (const CopyMember& member : item.members) member_deadlines += member.deadline != kNever;
  }
  void skip(std::string_view what, const std::string& key) {
    ++skipped[std::string(what)];
    last_skipped = key;
  }

  // All counts with their names in the state file and in --json.
  template <class Counts, class Visit>
  static void each(Counts& counts, Visit visit) {
    visit("seen", counts.seen);
    visit("strings", counts.keys[0]);
    visit("hashes", counts.keys[1]);
    visit("sets", counts.keys[2]);
    visit("zsets", counts.keys[3]);
    visit("lists", counts.keys[4]);
    visit("streams", counts.keys[5]);
    visit("members", counts.members);
    visit("keys_with_deadline", counts.key_deadlines);
    visit("members_with_deadline", counts.member_deadlines);
    visit("vanished", counts.gone);
    visit("kept", counts.kept);
    visit("deadlines_loosened", counts.loosened);
    visit("deadlines_dropped", counts.dropped);
  }
};

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kIndexBytes = 8;
inline constexpr std::size_t kStreamIdBytes = 16;

inline std::string big_endian(std::uint64_t number, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = bytes; i-- > 0; number >>= 8) text[i] = static_cast<char>(number & 0xFF);
  return text;
}

inline std::uint64_t from_big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// The prefix of the entries of all members of a key.
inline std::string member_prefix(std::string_view key) {
  return big_endian(key.size(), kLengthBytes).append(key);
}

struct MemberKey {
  std::string_view key;
  std::string_view member;
};

// Nothing if it is not the key of a member.
inline std::optional<MemberKey> split_member_key(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  const std::size_t length = from_big_endian(bytes.substr(0, kLengthBytes));
  if (bytes.size() - kLengthBytes < length) return std::nullopt;
  return MemberKey{bytes.substr(kLengthBytes, length), bytes.substr(kLengthBytes + length)};
}

// Whether an import writes members with such a name.
inline bool is_member_name(CopyType type, std::string_view name) {
  if (type == CopyType::list) return name.size() == kIndexBytes;
  return type != CopyType::stream || name.empty() || name.size() == kStreamIdBytes;
}

inline std::string family_name(std::string_view chosen, CopyType type) {
  if (type == CopyType::string) return std::string(chosen);
  std::string name;
  if (chosen != "default") name.append(chosen).append(".");
  return name.append(name_of(type));
}

}  // namespace mayfly
