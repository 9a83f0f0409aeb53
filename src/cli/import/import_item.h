// SPDX-License-Identifier: Apache-2.0
// What `mayfly import` and `mayfly export` carry: a key with all that belongs to it, and counts of
// what became of them.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"

namespace mayfly {

enum class CopyType { string, hash, set, zset, list };
inline constexpr std::array<std::string_view, 5> kCopyTypes = {"string", "hash", "set", "zset",
                                                               "list"};
inline std::string_view name_of(CopyType type) {
  return kCopyTypes[static_cast<std::size_t>(type)];
}

struct CopyMember {
  std::string name;   // field or member; of a list it is empty
  std::string value;  // value of a field, score, or element of a list
  Time deadline = kNever;
};

struct CopyItem {
  std::string key;
  CopyType type = CopyType::string;
  Time deadline = kNever;
  std::string value;                // of a string
  std::vector<CopyMember> members;  // of all others
};

struct CopyCounts {
  std::uint64_t seen = 0;                               // keys or entries that the source showed
  std::array<std::uint64_t, kCopyTypes.size()> keys{};  // copied, by type
  std::uint64_t members = 0;                            // of the keys copied
  std::uint64_t key_deadlines = 0;                      // keys copied that have one
  std::uint64_t member_deadlines = 0;                   // members copied with one of their own
  std::uint64_t gone = 0;                               // expired or deleted before they were read
  std::uint64_t kept = 0;                               // were in the target, and were to be kept
  std::uint64_t loosened = 0;                           // keys whose members had several deadlines
  std::uint64_t dropped = 0;                            // deadlines of fields that were given up
  std::map<std::string, std::uint64_t> skipped;         // keys, by what they are
  std::string last_skipped;                             // a key, to show one; not kept in the state

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
    members += item.members.size();
    if (item.deadline != kNever) ++key_deadlines;
    for (const CopyMember& member : item.members) member_deadlines += member.deadline != kNever;
  }
  void skip(std::string_view what, const std::string& key) {
    ++skipped[std::string(what)];
    last_skipped = key;
  }

  // All numbers with their names, which are those of the state file and of --json.
  template <class Counts, class See>
  static void each(Counts& counts, See see) {
    see("seen", counts.seen);
    see("strings", counts.keys[0]);
    see("hashes", counts.keys[1]);
    see("sets", counts.keys[2]);
    see("zsets", counts.keys[3]);
    see("lists", counts.keys[4]);
    see("members", counts.members);
    see("keys_with_deadline", counts.key_deadlines);
    see("members_with_deadline", counts.member_deadlines);
    see("vanished", counts.gone);
    see("kept", counts.kept);
    see("deadlines_loosened", counts.loosened);
    see("deadlines_dropped", counts.dropped);
  }
};

}  // namespace mayfly
