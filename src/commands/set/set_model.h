// SPDX-License-Identifier: Apache-2.0
// SetModel: sets whose members have deadlines, in maps and loops too simple to be wrong. For tests.
//
//   model.begin();
//   model.look_up("s");                               // a key that is dead is removed
//   if (model.erase("s", "a")) own = {"srem"};        // what the command does
//   model.end("s", own);                              // model.events is what users must see
//
// What is due stays until it is named or swept.

#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mayfly/time.h"

namespace mayfly {

using ModelMembers = std::map<std::string, Time>;  // deadlines
using ModelSets = std::map<std::string, ModelMembers>;

class SetModel {
 public:
  Time now{};
  ModelSets sets;
  std::string events;

  void begin() {
    events.clear();
    reclaimed_.clear();
  }

  // Returns whether the key is there.
  bool look_up(const std::string& key) {
    if (!sets.contains(key)) return false;
    if (!alive(key).empty()) return true;
    sets.erase(key);
    tell("sx:sexpired", key);
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
    if (!sets.contains(key)) tell("n:new", key);
    sets[key];
  }

  std::set<std::string> alive(const std::string& key) const {
    std::set<std::string> names;
    if (!sets.contains(key)) return names;
    for (const auto& [name, deadline] : sets.at(key)) {
      if (!is_due(deadline, now)) names.insert(name);
    }
    return names;
  }

  // The deadline; null if there is no such member.
  Time* find(const std::string& key, const std::string& name) {
    if (!sets.contains(key)) return nullptr;
    const auto found = sets[key].find(name);
    if (found == sets[key].end()) return nullptr;
    if (!is_due(found->second, now)) return &found->second;
    sets[key].erase(found);
    reclaimed_.insert(key);
    return nullptr;
  }

  // Returns whether it is new.
  bool put(const std::string& key, const std::string& name, Time deadline) {
    const bool is_new = find(key, name) == nullptr;
    sets[key][name] = deadline;
    return is_new;
  }

  bool erase(const std::string& key, const std::string& name) {
    return find(key, name) != nullptr && sets[key].erase(name) > 0;
  }

  // Removes what is due, as a STORE command does with its sources.
  void reclaim(const std::string& key) {
    if (!sets.contains(key)) return;
    const auto is_dead = [this](const auto& member) { return is_due(member.second, now); };
    if (std::erase_if(sets[key], is_dead) > 0) tell("sx:sexpired", key);
  }

  void end(const std::string& key, const std::vector<std::string>& own) {
    if (reclaimed_.erase(key) > 0) tell("sx:sexpired", key);
    for (const std::string& event : own) tell("s:" + event, key);
    if (!sets.contains(key) || !sets[key].empty()) return;
    sets.erase(key);
    tell("g:del", key);
  }

  void sweep() {
    for (auto set = sets.begin(); set != sets.end();) {
      std::erase_if(set->second, [this](const auto& member) { return is_due(member.second, now); });
      set = set->second.empty() ? sets.erase(set) : std::next(set);
    }
  }

  void tell(const std::string& event, const std::string& key) {
    events.append(events.empty() ? "" : " ").append(event).append(":").append(key);
  }

 private:
  std::set<std::string> reclaimed_;  // keys of which a due member was named
};

}  // namespace mayfly
