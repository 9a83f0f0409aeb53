// SPDX-License-Identifier: Apache-2.0
// ShardNode: this server as a node of its shard. It carries out what the ShardMachine decides
// (cluster/shard_machine.h) with the replication and the clients of the server, and brings the
// machine what comes from other nodes and from the register.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/plan/cluster_view.h"
#include "cluster/shard_machine.h"
#include "server/cluster/node/node_messages.h"
#include "server/cluster/peer_links.h"
#include "server/core/server_call.h"
#include "server/replication/cluster_role.h"

namespace mayfly {

class ShardNode final : public ShardHost, public ClusterRole {
 public:
  // `view` and `links` must outlive it.
  ShardNode(const ServerParts& parts, ClusterView& view, PeerLinks& links);
  ~ShardNode() override;

  // The process begins: it belongs to this node, and nobody knows its incarnation yet.
  void set_self(NodeMemory self, Register& reg);
  const NodeMemory& self() const { return self_; }

  // The records have changed. `shard` is the one of this node, or empty.
  void view_changed(const std::string& shard, Millis lease);

  const std::string& shard() const { return shard_; }

  // This process leads, and had no data when it began, though the shard had primaries before.
  bool came_back_empty() const { return came_back_empty_ && machine_ && machine_->is_leading(); }

  // LiveRecord::held of this process.
  std::uint64_t held() const { return held_; }

  // LiveRecord::settled of this process.
  std::uint64_t settled() const { return held_ > 0 ? settled_ : 0; }
  ShardMachine* machine() { return machine_.get(); }  // null: it belongs to no shard
  const ShardMachine* machine() const { return machine_.get(); }

  void tick(Time now);
  Time next_tick() const;  // by the steady clock

  // Whether it claims to have more of this primary's log than there is: it is forged, or broken.
  bool is_beyond_log(const ForShard<Pulse>& pulse) const;

  std::optional<PulseReply> pulsed(const ForShard<Pulse>& pulse);
  std::optional<CanvassReply> canvassed(const ForShard<Canvass>& canvass);

  // ---- ClusterRole ----
  std::string node_word() const override;
  bool may_drop_data() override;
  void acknowledged(const ReplicaState& replica) override;
  bool is_handing_over() const override;
  std::size_t in_sync() const override { return machine_ ? machine_->set_size() : 0; }
  std::size_t acked(std::uint64_t offset, std::size_t wanted) const override;
  void leave() override;
  bool has_left() const override;
  void stay() override;

  // ---- ShardHost ----
  std::string history() const override;
  std::uint64_t log_end() const override;
  Time wall() const override;
  Millis wall_ahead() const override;
  void limit_wall(Millis most) override;
  bool is_data_complete() const override;
  void commit(std::uint64_t version, const ShardRecord& record,
              const std::map<std::string, std::uint64_t>& lives) override;
  void send_pulse(const NodeMemory& primary, const Pulse& pulse) override;
  void send_canvass(const NodeMemory& member, const Canvass& canvass) override;
  void lead(const ShardRecord& record, Time floor) override;
  void follow(const ShardRecord& record) override;
  void detach() override;
  void settle(std::uint64_t version) override;
  void pause_writes(bool is_paused) override;
  void announce_again() override;
  void log(const std::string& line) override;

 private:
  Time steady_now() const;
  void begin(const std::string& shard, Millis lease);
  void end();
  void feed_machine();
  void follow_address();
  bool is_known(const NodeMemory& memory) const;
  void note_data(const ShardRecord& record);
  Time leaves_until() const;
  void note_held();
  void set_held(std::uint64_t held);
  bool is_alone() const;  // no other node belongs to the shard
  std::optional<PeerAddress> address_of(const std::string& node) const;

  const ServerParts& parts_;
  ClusterView& view_;
  PeerLinks& links_;
  Register* register_ = nullptr;
  NodeMemory self_;
  std::string shard_;
  std::unique_ptr<ShardMachine> machine_;
  std::uint64_t machines_ = 0;  // made so far: answers for an earlier one are dropped
  std::uint64_t commits_ = 0;   // sent so far: only the answer to the last counts
  std::uint64_t led_epoch_ = 0;
  std::uint64_t held_ = 0;
  bool is_held_announced_ = true;
  std::uint64_t settled_ = 0;
  bool came_back_empty_ = false;  // when it began to lead
  std::string followed_;          // the node that is followed; empty: none
  PeerAddress followed_address_;
  std::map<std::string, int> pulses_waiting_;  // by node, for their answers
  std::optional<Time> leaves_since_;           // the process ends
  std::optional<Time> left_at_;
  std::optional<Time> leaves_for_sync_;  // since when it leaves the set for a full synchronisation
};

}  // namespace mayfly
