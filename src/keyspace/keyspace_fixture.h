// SPDX-License-Identifier: Apache-2.0
// A keyspace in a test, with a listener that writes down what it hears.

#pragma once

#include <string>
#include <vector>

#include "keyspace/keyspace.h"

namespace mayfly {

class Recorder final : public KeyspaceListener {
 public:
  void key_expired(Database&, std::string_view key, Found found) override {
    events.push_back(text("expired ", key, found));
  }
  void fields_expired(Database&, std::string_view key, std::span<const std::string> fields,
                      bool emptied, Found found) override {
    std::string event = text("hexpired ", key, found);
    for (const std::string& field : fields) event += " " + field;
    events.push_back(event + (emptied ? " del" : ""));
  }
  void key_evicted(Database&, std::string_view key) override {
    events.push_back("evicted " + std::string(key));
  }

  std::vector<std::string> take() { return std::exchange(events, {}); }

  std::vector<std::string> events;

 private:
  static std::string text(std::string_view event, std::string_view key, Found found) {
    std::string line(event);
    line += key;
    return line + (found == Found::by_sweep ? " swept" : " met");
  }
};

inline Time at(std::int64_t ms) { return Time(Millis(ms)); }

struct KeyspaceFixture {
  explicit KeyspaceFixture(const KeyspaceOptions& options = {}) : keyspace(options, recorder) {
    keyspace.set_now(at(1'000'000));
  }

  void advance(std::int64_t ms) { keyspace.set_now(keyspace.now() + Millis(ms)); }
  Time in(std::int64_t ms) const { return keyspace.now() + Millis(ms); }

  // A hash with these fields, each with its own name for a value.
  Slot make_hash(std::string_view key, const std::vector<std::string>& fields,
                 Time deadline = kNever) {
    const Slot slot = keyspace[0].make_hash(key);
    HashRef hash = keyspace[0].hash(slot);
    for (const std::string& field : fields) hash.put(field, field, deadline);
    return slot;
  }

  Recorder recorder;
  Keyspace keyspace;
  Database& database = keyspace[0];
};

}  // namespace mayfly
