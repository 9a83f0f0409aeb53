// SPDX-License-Identifier: Apache-2.0
// ZsetModel: sorted sets whose members have deadlines, in maps and loops too simple to be wrong.
// For tests. It holds only what is alive: begin() drops the rest.
//
//   model.begin(now);
//   if (model.erase("z", "a")) model.tell("z:zrem", "z");         // what the command does
//   model.events                                                  // what users must see
//
// Events about expired members, and `del`, are left out: they depend on when a member is found due.

#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mayfly/time.h"
#include "resp/numbers.h"

namespace mayfly {

struct ModelMember {
  double score = 0;
  Time deadline = kNever;
  bool operator==(const ModelMember&) const = default;
};
using ModelZset = std::map<std::string, ModelMember>;
using ModelZsets = std::map<std::string, ModelZset>;

struct ModelEntry {
  std::string name;
  double score = 0;
};
using ModelEntries = std::vector<ModelEntry>;

class ZsetModel {
 public:
  Time now{};
  ModelZsets zsets;
  std::string events;

  void begin(Time moment) {
    now = moment;
    events.clear();
    for (auto& [key, zset] : zsets) {
      std::erase_if(zset, [&](const auto& item) { return is_due(item.second.deadline, now); });
    }
    drop_empty();
  }

  void drop_empty() {
    std::erase_if(zsets, [](const auto& item) { return item.second.empty(); });
  }

  bool has(const std::string& key) const { return zsets.contains(key); }

  void tell(const std::string& event, const std::string& key) {
    events.append(events.empty() ? "" : " ").append(event).append(":").append(key);
  }

  // A read of a key that is not there says so.
  void read(const std::string& key) {
    if (!has(key)) tell("m:keymiss", key);
  }
  void make(const std::string& key) {
    if (!has(key)) tell("n:new", key);
    zsets[key];
  }

  ModelMember* find(const std::string& key, const std::string& name) {
    const auto zset = zsets.find(key);
    if (zset == zsets.end()) return nullptr;
    const auto found = zset->second.find(name);
    return found == zset->second.end() ? nullptr : &found->second;
  }
  bool erase(const std::string& key, const std::string& name) {
    return has(key) && zsets[key].erase(name) > 0;
  }

  // In order.
  ModelEntries entries(const std::string& key) const {
    ModelEntries list;
    if (!has(key)) return list;
    for (const auto& [name, member] : zsets.at(key)) list.push_back({name, member.score});
    sort(list);
    return list;
  }

  static void sort(ModelEntries& list) {
    std::ranges::sort(list, [](const ModelEntry& a, const ModelEntry& b) {
      return a.score != b.score ? a.score < b.score : a.name < b.name;
    });
  }

  // A key of this content, which may be nothing.
  void store(const std::string& key, const ModelEntries& list, const std::string& event) {
    if (list.empty()) {
      zsets.erase(key);
      return;
    }
    make(key);
    zsets[key].clear();
    for (const ModelEntry& entry : list) zsets[key][entry.name] = {entry.score, kNever};
    tell("z:" + event, key);
  }
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
