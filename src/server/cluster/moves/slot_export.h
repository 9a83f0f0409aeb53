// SPDX-License-Identifier: Apache-2.0
// SlotExport: one attempt to move slots to another shard, by the primary that has them. MoveSource
// (cluster/move_machine.h) decides; here is what it decides about:
//
//   a connection to the primary of the target        slot_export_link.cc
//   a child that writes the keys to it, a filter that keeps what is written meanwhile, the commit

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/move_machine.h"
#include "cluster/plan/cluster_view.h"
#include "cluster/records.h"
#include "cluster/register.h"
#include "mayfly/time.h"
#include "net/transport.h"
#include "resp/reply_parser.h"
#include "server/cluster/moves/slot_filter.h"
#include "server/core/server_call.h"

namespace mayfly {

class SlotExport final : private MoveSourceHost {
 public:
  // `number` is that of no other export.
  SlotExport(const ServerParts& parts, std::string job, const MoveRecord& move,
             std::uint64_t number);
  ~SlotExport() override;
  SlotExport(const SlotExport&) = delete;
  SlotExport& operator=(const SlotExport&) = delete;

  const std::string& job() const { return job_; }
  const MoveRecord& move() const { return move_; }
  std::uint64_t number() const { return number_; }
  MoveState state() const { return machine_.is(); }
  bool is_over() const { return machine_.is_over(); }

  // Whether requests for its slots wait, and since when they do.
  bool is_paused() const { return machine_.is_paused(); }
  Time paused_since() const { return paused_since_; }  // by the steady clock

  const std::string& failure() const { return machine_.why(); }
  bool is_busy() const { return is_busy_; }  // the target takes another move: nobody's fault

  void start();
  void records_changed();
  void before_sleep();

  // ---- For people ----
  std::uint64_t keys() const { return keys_; }
  std::uint64_t remaining_bytes() const;

 private:
  class End;

  static constexpr std::size_t kReplyMost = std::size_t{1}
                                            << 20;  // a record has 8192 ranges at most

  // ---- What the machine decides ----
  void connect() override;
  void send_snapshot() override { is_snapshot_due_ = true; }  // when there is no other child
  void pause_slots() override;
  void send_last() override;
  void commit(const MoveVersions& versions) override;
  void send_yours() override;
  void disconnect() override;

  // ---- The connection ----
  void connected(Link& link, End& end);
  void received(InputBuffer& input);
  void take_reply(const ReplyValue& reply);
  void take_message(std::string_view text);
  void take_ready(const ReplyValue& reply);
  void send(const std::vector<std::string>& words);
  std::size_t output_limit() const;

  // ---- Steps ----
  void start_snapshot();
  void snapshot_ended(const Status& status, std::uint64_t keys, std::uint64_t bytes);
  void stream();
  void ping();  // if nothing was sent for a while
  void committed(const CommitAnswer& answer);
  Time steady_now() const;

  const ServerParts& parts_;
  const std::string job_;
  const MoveRecord move_;
  const std::uint64_t number_;
  MoveSource machine_;
  bool is_busy_ = false;

  Link* link_ = nullptr;
  End* end_ = nullptr;
  bool awaits_auth_ = false;
  std::uint64_t sent_ = 0;  // bytes, from BEGIN on
  std::uint64_t safe_ = 0;  // of them, as the target says
  Time last_ack_{};
  Time last_sent_{};

  bool is_snapshot_due_ = false;
  std::optional<SlotFilter> filter_;
  std::uint64_t keys_ = 0;
  Time paused_since_{};

  Versioned<ShardRecord> own_;     // as the machine knows them
  Versioned<ShardRecord> target_;  // as READY said
  RegisterCommit commit_;          // the last one
  MoveVersions committed_;         // its versions
  std::uint64_t commits_ = 0;
  ReplyParser parser_{kReplyMost};
};

}  // namespace mayfly
