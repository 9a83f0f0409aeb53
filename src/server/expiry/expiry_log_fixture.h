// SPDX-License-Identifier: Apache-2.0
// A server with an expiry log in a test, and the log as text.
//
//   server.advance(10ms);
//   server.sweep();
//   EXPECT_EQ(log_of(server.server()), (std::vector<std::string>{"0 k string 10 +0 sweep"}));

#pragma once

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "keyspace/keyspace.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/expiry/expiry_log.h"

namespace mayfly {

using LogEntry = std::map<std::string, std::string>;

inline Config logging_config() {
  Config config;
  config.expiry_log = true;
  return config;
}

inline std::vector<LogEntry> log_entries(Server& server, int number = 0) {
  std::vector<LogEntry> entries;
  Database& database = server.parts().keyspace[number];
  const Slot slot = database.stored_slot(kExpiryLogKey);
  if (slot == kNoSlot || database.type(slot) != ValueType::stream) return entries;
  database.stream(slot).each(kStreamIdMin, kStreamIdMax, true, [&](const StreamEntry& entry) {
    LogEntry fields{{"id", entry.id.text()}};
    for (std::size_t i = 0; i < entry.words.size(); i += 2) {
      fields.emplace(entry.words[i], entry.words[i + 1]);
    }
    entries.push_back(std::move(fields));
    return true;
  });
  return entries;
}

// "db key[/member] type how[=value]", and in how many milliseconds after the deadline it went.
inline std::string log_line(const LogEntry& entry) {
  std::string line = entry.at("db") + " " + entry.at("key");
  if (entry.contains("member")) line += "/" + entry.at("member");
  const long late = std::stol(entry.at("at")) - std::stol(entry.at("deadline"));
  line += fmt::format(" {} {} +{}", entry.at("type"), entry.at("how"), late);
  if (entry.contains("value")) line += "=" + entry.at("value");
  return line;
}

inline std::vector<std::string> log_of(Server& server, int number = 0) {
  std::vector<std::string> lines;
  for (const LogEntry& entry : log_entries(server, number)) lines.push_back(log_line(entry));
  return lines;
}

}  // namespace mayfly
