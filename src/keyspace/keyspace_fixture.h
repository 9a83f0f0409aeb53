// SPDX-License-Identifier: Apache-2.0
// A keyspace in a test, with a listener that records what it is told.

#pragma once

#include <string>
#include <vector>

#include "keyspace/keyspace.h"

namespace mayfly {

class Recorder final : public KeyspaceListener {
 public:
  void key_expired(Database&, std::string_view key, FoundBy by) override {
    events.push_back(text("expired ", key, by));
  }
  void members_expired(Database&, const ExpiredMembers& expired) override {
    std::string_view event_name = "hexpired ";
    if (expired.type == ValueType::set) event_name = "sexpired ";
    if (expired.type == ValueType::zset) event_name = "zexpired ";
    std::string event = text(event_name, expired.key, expired.by);
    for (const std::string& name : expired.names) event += " " + name;
    events.push_back(event + (expired.emptied ? " del" : ""));
  }
  void key_evicted(Database&, std::string_view key) override {
    events.push_back("evicted " + std::string(key));
  }

  std::vector<std::string> take() { return std::exchange(events, {}); }

  std::vector<std::string> events;

 private:
  static std::string text(std::string_view event, std::string_view key, FoundBy by) {
    std::string line(event);
    line += key;
    return line + (by == FoundBy::sweep ? " swept" : " on access");
  }
};

inline Time at(std::int64_t ms) { return Time(Millis(ms)); }

struct KeyspaceFixture {
  explicit KeyspaceFixture(const KeyspaceOptions& options = {}) : keyspace(options, recorder) {}

  void advance(std::int64_t ms) { context.now += Millis(ms); }
  Time in(std::int64_t ms) const { return context.now + Millis(ms); }

  // A hash with these fields, each with its own name as value.
  Slot make_hash(std::string_view key, const std::vector<std::string>& fields,
                 Time deadline = kNever) {
    const Slot slot = database.make_members(context, ValueType::hash, key);
    MembersRef hash = database.members(context, slot);
    for (const std::string& field : fields) hash.put(field, field, deadline);
    return slot;
  }

  ExecContext context{.now = at(1'000'000)};
  Recorder recorder;
  Keyspace keyspace;
  Database& database = keyspace[0];
};

}  // namespace mayfly
