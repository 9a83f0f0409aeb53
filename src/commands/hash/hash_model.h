// SPDX-License-Identifier: Apache-2.0
// HashModel: hashes whose fields have deadlines, in maps and loops too simple to be wrong. For
// tests.
//
//   model.begin("h");                                // looks the key up
//   if (model.erase("a")) own = {"hdel"};            // what the command does
//   model.end(own);                                  // model.events is what users must see
//
// What is due stays until it is named or swept.

#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "mayfly/time.h"

namespace mayfly {

struct ModelField {
  std::string value;
  Time deadline = kNever;
  bool operator==(const ModelField&) const = default;
};
using ModelFields = std::map<std::string, ModelField>;
using ModelHashes = std::map<std::string, ModelFields>;

class HashModel {
 public:
  Time now{};
  ModelHashes hashes;
  std::string events;

  void begin(const std::string& key) {
    key_ = key;
    events.clear();
    reclaimed_ = false;
    const auto hash = hashes.find(key);
    if (hash == hashes.end() || alive() > 0) return;
    hashes.erase(hash);
    tell("hx:hexpired");
    tell("g:del");
  }

  bool is_there() const { return hashes.contains(key_); }
  std::size_t alive() const {
    std::size_t count = 0;
    if (!is_there()) return 0;
    for (const auto& [name, field] : hashes.at(key_)) count += !is_due(field.deadline, now);
    return count;
  }

  // A read of a key that is not there says so.
  bool misses() {
    if (!is_there()) tell("m:keymiss");
    return !is_there();
  }

  void make() {
    if (!is_there()) tell("n:new");
    hashes[key_];
  }

  ModelField* find(const std::string& name) {
    if (!is_there()) return nullptr;
    ModelFields& fields = hashes[key_];
    const auto found = fields.find(name);
    if (found == fields.end()) return nullptr;
    if (!is_due(found->second.deadline, now)) return &found->second;
    fields.erase(found);
    reclaimed_ = true;
    return nullptr;
  }

  // Returns whether it is new.
  bool put(const std::string& name, const std::string& value, Time deadline) {
    const bool is_new = find(name) == nullptr;
    hashes[key_][name] = {value, deadline};
    return is_new;
  }

  bool erase(const std::string& name) { return find(name) && hashes[key_].erase(name) > 0; }

  void end(const std::vector<std::string>& own) {
    if (reclaimed_) tell("hx:hexpired");
    for (const std::string& event : own) tell("h:" + event);
    if (is_there() && hashes[key_].empty()) {
      hashes.erase(key_);
      tell("g:del");
    }
  }

  void sweep() {
    for (auto hash = hashes.begin(); hash != hashes.end();) {
      std::erase_if(hash->second,
                    [this](const auto& field) { return is_due(field.second.deadline, now); });
      hash = hash->second.empty() ? hashes.erase(hash) : std::next(hash);
    }
  }

 private:
  void tell(const std::string& event) {
    events.append(events.empty() ? "" : " ").append(event).append(":").append(key_);
  }

  std::string key_;
  bool reclaimed_ = false;
};

}  // namespace mayfly
