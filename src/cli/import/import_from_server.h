// SPDX-License-Identifier: Apache-2.0
// ServerSource: the keys of a Redis (2.8 or later), Valkey or Mayfly server: of one database, or of
// all that have keys when the source is opened.
//
// Deadlines are absolute times of the source's clock. Servers without PEXPIRETIME (before Redis
// 7.0) are asked for PTTL and then TIME; the sum is never early, and late by the time between the
// two commands. Members have deadlines if the server knows HPEXPIRETIME, SPEXPIRETIME and
// ZPEXPIRETIME.
//
// A key is read with several commands, not atomically: a key that changes meanwhile may be copied
// in its old or new state or, with more than a thousand members, in between.

#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/import/import_copy.h"
#include "cli/import/import_marks.h"
#include "cli/import/import_stream.h"
#include "cli/import/whole_server.h"
#include "mayfly/clock.h"
#include "tools/resp_client.h"
#include "tools/server_address.h"

namespace mayfly {

class ServerSource final : public CopySource {
 public:
  struct Choice {
    std::string match;         // a pattern of SCAN; empty: all keys
    std::size_t batch = 1000;  // COUNT of SCAN
    bool all_databases = false;
  };

  // `clock` is used if the server does not report its time.
  static Result<std::unique_ptr<ServerSource>> open(const ServerAddress& address, Choice choice,
                                                    const Clock& clock);
  // The same by a connection that is there.
  static Result<std::unique_ptr<ServerSource>> open(RespClient client, const ServerAddress& address,
                                                    Choice choice, const Clock& clock);

  std::string name() const override {
    return choice_.all_databases ? address_.server_text() : address_.text();
  }
  std::string identity() const override { return mark_.text(); }
  std::string change_since(std::string_view identity) const override {
    return mark_.change_since(ServerMark::parse(identity));
  }
  Result<double> total() override;
  Result<std::vector<CopyItem>> read(CopyCounts& counts) override;
  std::string place() const override;  // database:cursor
  bool is_in_batch() const override { return !waiting_.empty(); }
  Status go_to(std::string_view place) override;
  bool is_at_end() const override { return waiting_.empty() && at_ == databases_.size(); }

  // Those that are copied, all of the server, what other nodes of its cluster have, and its
  // libraries of functions.
  const std::vector<DatabaseKeys>& databases() const { return databases_; }
  Result<std::vector<DatabaseKeys>> all_databases() { return databases_of(client_); }
  Result<std::vector<OtherSlots>> other_slots() { return other_slots_of(client_); }
  Result<std::vector<FunctionLibrary>> libraries() { return libraries_of(client_); }

  // It is a replica that has lost its primary. An unknown answer counts as no.
  bool is_cut_off();

 private:
  // A key being read.
  struct Reading {
    CopyItem item;
    std::string cursor = "0";  // of HSCAN and the like
    bool has_more = false;
    bool is_gone = false;
    bool is_changed = false;  // its type has changed since TYPE
    std::string refusal;      // why it cannot be read; empty: it can
    Millis ttl{0};
  };

  ServerSource(RespClient client, ServerAddress address, Choice choice, const Clock& clock);
  Status probe_server();
  Status find_databases();
  Status select(int database);
  Status scan(CopyCounts& counts);
  Result<std::vector<Reading>> read_types(std::vector<std::string> keys, CopyCounts& counts);
  Status read_values(std::vector<Reading>& readings);
  Status read_rest(Reading& reading);
  Status read_member_deadlines(std::vector<Reading>& readings);
  void ask_member_deadlines(RespDialogue& dialogue, Reading& reading);
  void ask_page(RespDialogue& dialogue, Reading& reading);
  void ask_deadline(RespDialogue& dialogue, Reading& reading);
  Status take_page(Reading& reading, ReplyValue& reply);
  Status take_stream(Reading& reading, const ReplyValue& reply);
  Status take_deadline(Reading& reading, const ReplyValue& reply);

  RespClient client_;
  const ServerAddress address_;
  const Choice choice_;
  const Clock& clock_;
  ServerMark mark_;
  bool has_expiretime_ = false;                            // knows PEXPIRETIME
  std::array<bool, kCopyTypes.size()> expires_members_{};  // by type
  std::vector<DatabaseKeys> databases_;                    // to be copied
  std::size_t at_ = 0;                                     // the one that is read
  int selected_;
  int read_from_ = 0;  // the database of `waiting_`
  std::string cursor_ = "0";
  std::vector<std::string> waiting_;  // keys of the last SCAN still to be read
  std::set<std::string> changed_;     // those that changed while being read
  StreamCopier streams_;
};

}  // namespace mayfly
