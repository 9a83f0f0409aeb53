// SPDX-License-Identifier: Apache-2.0
// What the commands of sorted sets share: storing scores, replying with them, and ending a command
// with its events and what is propagated.
//
// Clients see events in the order that members/member_steps.h describes.

#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "keyspace/members/members_order.h"

namespace mayfly {

// ---- Scores ----

// Sets score and deadline.
void put_score(MembersRef& zset, std::string_view name, double score, Time deadline = kNever);

// A list of members with or without scores: in RESP3 the scores make an array of each pair.
void reply_members_head(Reply& reply, std::size_t count, bool with_scores);
void reply_member(Reply& reply, std::string_view name, double score, bool with_scores);

// ---- Ending a command ----

// Removes members, of which there is at least one, and ends the command as finish_write() does.
void remove_members(Call& call, MembersRef& zset, std::string_view key, std::string_view event,
                    const std::vector<std::string>& names);

// ZREM key name ..., in requests of limited size.
void propagate_removals(Call& call, std::string_view key, const std::vector<std::string>& names);

// ---- Results ----

struct ScoredName {
  std::string_view name;
  double score = 0;
};

// Members that a command found or computed. The names may be views into other keys.
class ScoredNames {
 public:
  ScoredNames() = default;
  ScoredNames(const ScoredNames&) = delete;
  ScoredNames(ScoredNames&&) = default;

  std::vector<ScoredName>& items() { return items_; }
  const std::vector<ScoredName>& items() const { return items_; }
  void add(std::string_view name, double score) { items_.push_back({name, score}); }

  // A copy of the name that lives as long as this object.
  std::string_view copied(std::string_view name) { return copies_.emplace_back(name); }

  // Copies all names, since the keys that they point into are about to change.
  void copy_all();

  // By score, then by name.
  void sort();

 private:
  std::vector<ScoredName> items_;
  std::deque<std::string> copies_;
};

// Ends a command that stores its result: the key becomes a sorted set of these members, without
// deadlines, or is removed if there are none. Replies how many they are. The original words are
// propagated, or, if `is_by_value`, the result. The names must not point into the key.
void store_result(Call& call, std::string_view key, std::string_view event,
                  const ScoredNames& result, bool is_by_value);

}  // namespace mayfly
