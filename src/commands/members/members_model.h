// SPDX-License-Identifier: Apache-2.0
// MembersModel: hashes, sets or sorted sets whose members have deadlines, in maps and loops too
// simple to be wrong. For tests.
//
//   MembersModel model(ValueType::set);
//   model.begin();
//   model.look_up("s");                               // a key that is dead is removed
//   if (model.erase("s", "a")) own = {"srem"};        // what the command does
//   model.end("s", own);                              // model.events is what users must see
//
// What is due stays until it is named or swept, or the order of a sorted set is read.

#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "commands/members/member_words.h"
#include "mayfly/time.h"
#include "resp/numbers.h"

namespace mayfly {

// The value is of a hash, the score of a sorted set.
struct ModelMember {
  std::string value = {};
  double score = 0;
  Time deadline = kNever;
  bool operator==(const ModelMember&) const = default;
};
using ModelMembers = std::map<std::string, ModelMember>;
using ModelKeys = std::map<std::string, ModelMembers>;

struct ModelEntry {
  std::string name;
  double score = 0;
};
using ModelEntries = std::vector<ModelEntry>;

class MembersModel {
 public:
  explicit MembersModel(ValueType type) : words_(words_of(type)) {}

  Time now{};
  ModelKeys keys;
  std::string events;

  void begin() {
    events.clear();
    reclaimed_.clear();
  }

  bool has(const std::string& key) const { return keys.contains(key); }

  // Returns whether the key is there.
  bool look_up(const std::string& key) {
    if (!has(key)) return false;
    if (!alive(key).empty()) return true;
    keys.erase(key);
    tell_expired(key);
    tell("g:del", key);
    return false;
  }

  // The same for a read, which tells of a key that is not there.
  bool read(const std::string& key) {
    const bool is_there = look_up(key);
    if (!is_there) tell("m:keymiss", key);
    return is_there;
  }

  void make(const std::string& key) {
    if (!has(key)) tell("n:new", key);
    keys[key];
  }

  ModelMembers alive(const std::string& key) const { return alive(key, now); }
  ModelMembers alive(const std::string& key, Time time) const {
    ModelMembers members;
    if (!has(key)) return members;
    for (const auto& [name, member] : keys.at(key)) {
      if (!is_due(member.deadline, time)) members[name] = member;
    }
    return members;
  }

  // In order, those that are alive.
  ModelEntries entries(const std::string& key) const { return entries(key, now); }
  ModelEntries entries(const std::string& key, Time time) const {
    ModelEntries list;
    for (const auto& [name, member] : alive(key, time)) list.push_back({name, member.score});
    sort(list);
    return list;
  }
  static void sort(ModelEntries& list) {
    std::ranges::sort(list, [](const ModelEntry& a, const ModelEntry& b) {
      return a.score != b.score ? a.score < b.score : a.name < b.name;
    });
  }

  // Null if there is no such member. One that is due is removed.
  ModelMember* find(const std::string& key, const std::string& name) {
    if (!has(key)) return nullptr;
    const auto found = keys[key].find(name);
    if (found == keys[key].end()) return nullptr;
    if (!is_due(found->second.deadline, now)) return &found->second;
    keys[key].erase(found);
    reclaimed_.insert(key);
    return nullptr;
  }

  // Returns whether it is new.
  bool put(const std::string& key, const std::string& name, const ModelMember& member) {
    const bool is_new = find(key, name) == nullptr;
    keys[key][name] = member;
    return is_new;
  }

  bool erase(const std::string& key, const std::string& name) {
    return find(key, name) != nullptr && keys[key].erase(name) > 0;
  }

  // Removes all that is due.
  void reclaim(const std::string& key) {
    if (!has(key)) return;
    if (remove_due(keys[key]) > 0) reclaimed_.insert(key);
  }

  // Ends the use of a key: tells of members that were found due, and of what was done.
  void end(const std::string& key, const std::vector<std::string>& own = {}) {
    if (reclaimed_.erase(key) > 0) tell_expired(key);
    for (const std::string& event : own) tell(std::string(1, letter()) + ":" + event, key);
    if (!has(key) || !keys[key].empty()) return;
    keys.erase(key);
    tell("g:del", key);
  }

  // A result, which may be nothing, becomes a key of its own.
  void store(const std::string& key, const ModelMembers& result, const std::string& event) {
    const bool is_there = look_up(key);
    if (result.empty()) {
      if (is_there) tell("g:del", key);
      keys.erase(key);
      return;
    }
    make(key);
    keys[key] = result;
    end(key, {event});
  }

  void sweep() {
    for (auto& [key, members] : keys) remove_due(members);
    std::erase_if(keys, [](const auto& item) { return item.second.empty(); });
  }

  void tell(const std::string& event, const std::string& key) {
    events.append(events.empty() ? "" : " ").append(event).append(":").append(key);
  }

  const MemberWords& words() const { return words_; }
  char letter() const { return words_.expire.front(); }

 private:
  std::size_t remove_due(ModelMembers& members) const {
    return std::erase_if(members,
                         [&](const auto& item) { return is_due(item.second.deadline, now); });
  }
  void tell_expired(const std::string& key) {
    tell(std::string(1, letter()) + "x:" + std::string(words_.expired), key);
  }

  const MemberWords& words_;
  std::set<std::string> reclaimed_;  // keys of which a due member was removed
};

// As replies have them.
inline std::string reply_of(const ModelEntries& list, bool with_scores) {
  std::string reply = "[";
  for (const ModelEntry& entry : list) {
    reply.append(reply.size() > 1 ? ", " : "").append("\"").append(entry.name).append("\"");
    if (with_scores) reply.append(", \"").append(format_double(entry.score)).append("\"");
  }
  return reply.append("]");
}

}  // namespace mayfly
