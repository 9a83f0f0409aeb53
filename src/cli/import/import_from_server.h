// SPDX-License-Identifier: Apache-2.0
// ServerSource: the keys of a database of any Redis (2.8 or later), Valkey or Mayfly server.
//
// Deadlines are moments by the source's clock. Where there is no PEXPIRETIME (before Redis 7.0),
// PTTL is asked and TIME right behind it, and the deadline is their sum: never early, and late by
// no more than the server needs from the one to the other. Fields have deadlines where the server
// knows HPEXPIRETIME.
//
// A key is read as it is between a few commands, not in one moment: one that changes meanwhile may
// be copied as it was, as it is, or, if it has more than a thousand members, in between.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/import/import_copy.h"
#include "cli/import/import_server_mark.h"
#include "mayfly/clock.h"
#include "tools/resp_client.h"
#include "tools/server_address.h"

namespace mayfly {

class ServerSource final : public CopySource {
 public:
  struct Choice {
    std::string match;         // a pattern of SCAN; empty: all keys
    std::size_t batch = 1000;  // keys that a SCAN looks at
  };

  // `clock` is asked only where the server does not tell the time.
  static Result<std::unique_ptr<ServerSource>> open(const ServerAddress& address, Choice choice,
                                                    const Clock& clock);

  std::string name() const override { return address_.text(); }
  std::string identity() const override { return mark_.text(); }
  std::string change_since(std::string_view identity) const override {
    return mark_.change_since(ServerMark::parse(identity));
  }
  Result<double> total() override;
  Result<std::vector<CopyItem>> read(CopyCounts& counts) override;
  std::string place() const override { return cursor_; }
  bool is_in_batch() const override { return !waiting_.empty(); }
  Status go_to(std::string_view place) override;
  bool is_at_end() const override { return is_begun_ && waiting_.empty() && cursor_ == "0"; }

 private:
  // A key that is being read.
  struct Reading {
    CopyItem item;
    std::string cursor = "0";  // of HSCAN and its like; of a list the index
    bool has_more = false;
    bool is_gone = false;
    bool is_changed = false;  // is of another type than it was a moment ago
    Millis ttl{0};
  };

  ServerSource(RespClient client, ServerAddress address, Choice choice, const Clock& clock);
  Status look_around();
  Status scan(CopyCounts& counts);
  Result<std::vector<Reading>> read_types(std::vector<std::string> keys, CopyCounts& counts);
  Status read_values(std::vector<Reading>& readings);
  Status read_rest(Reading& reading);
  Status read_field_deadlines(std::vector<Reading>& readings);
  void ask_page(RespDialogue& dialogue, Reading& reading);
  void ask_deadline(RespDialogue& dialogue, Reading& reading);
  Status take_page(Reading& reading, ReplyValue& reply);
  Status take_deadline(Reading& reading, const ReplyValue& reply);

  RespClient client_;
  const ServerAddress address_;
  const Choice choice_;
  const Clock& clock_;
  ServerMark mark_;
  bool tells_moments_ = false;   // knows PEXPIRETIME
  bool expires_fields_ = false;  // knows HPEXPIRETIME
  std::string cursor_ = "0";
  bool is_begun_ = false;
  std::vector<std::string> waiting_;  // keys of the last SCAN that are to be read
  std::set<std::string> changed_;     // those of them that had changed when they were read
};

}  // namespace mayfly
