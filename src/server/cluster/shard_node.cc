// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/shard_node.h"

#include <algorithm>
#include <utility>

#include "cluster/plan/register_trust.h"
#include "server/cluster/cluster.h"
#include "server/core/clients.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr int kPulsesWaiting = 4;     // for a node that does not answer, no more are sent
constexpr Millis kLeaveTime{2500};    // after it, a node that was to leave may take over again
constexpr Millis kRedirectTime{100};  // for clients to learn who serves now

}  // namespace

ShardNode::ShardNode(const ServerParts& parts, ClusterView& view, PeerLinks& links)
    : parts_(parts), view_(view), links_(links) {}

ShardNode::~ShardNode() = default;

Time ShardNode::steady_now() const { return parts_.host.lease_clock().now(); }

void ShardNode::set_self(NodeMemory self, Register& reg) {
  self_ = std::move(self);
  register_ = &reg;
}

std::optional<PeerAddress> ShardNode::address_of(const std::string& node) const {
  const NodeRecord* const record = view_.node(node);
  if (record == nullptr) return std::nullopt;
  return PeerAddress{record->host, record->port};
}

// ---- What the records say ----

void ShardNode::view_changed(const std::string& shard, Millis lease) {
  const ClusterShard* const found = shard.empty() ? nullptr : view_.shard(shard);
  if (machine_ && shard != shard_) {
    machine_->leave();  // it must not be needed there any more
    if (!machine_->in_record()) end();
  }
  if (machine_ && view_.shard(shard_) == nullptr) end();  // the shard has been removed
  if (!machine_ && found != nullptr) begin(shard, lease);
  if (!machine_) return;
  feed_machine();
  follow_address();
}

void ShardNode::begin(const std::string& shard, Millis lease) {
  shard_ = shard;
  ++machines_;
  machine_ = std::make_unique<ShardMachine>(
      self_, ShardTimes(lease), Millis(parts_.config.cluster_max_clock_difference), *this);
  parts_.log.notice("Cluster: this node belongs to shard {} now", shard);
}

void ShardNode::end() {
  parts_.log.notice("Cluster: this node does not belong to shard {} any more", shard_);
  detach();
  machine_ = nullptr;
  shard_.clear();
  set_held(0);
  settled_ = 0;
}

void ShardNode::feed_machine() {
  const ClusterShard* const shard = view_.shard(shard_);
  if (shard == nullptr) return;
  const Time now = steady_now();
  if (shard->version > machine_->version() && machine_->goes_back(shard->record)) {
    parts_.cluster.distrust_register(
        older_shard_text(shard_, shard->record.epoch, machine_->record().epoch));
  }
  machine_->record_seen(shard->version, shard->record, now);
  for (const std::string& node : view_.members(*shard)) {
    const auto live = view_.lives().find(node);
    if (live != view_.lives().end()) {
      machine_->live_seen(node, live->second.version, live->second.record, now);
    }
  }
  const std::vector<std::string> members = view_.members(*shard);
  for (const std::string& node : machine_->live_nodes()) {
    const bool is_of_shard =
        std::ranges::find(members, node) != members.end() || machine_->names(node);
    const bool is_alive = view_.live(node) != nullptr && is_of_shard;
    if (!is_alive) machine_->live_gone(node, view_.version(), now);
  }
}

// The primary may have got another address.
void ShardNode::follow_address() {
  if (followed_.empty()) return;
  const auto address = address_of(followed_);
  if (!address || *address == followed_address_) return;
  followed_address_ = *address;
  parts_.replication.follow(address->host, address->port);
}

void ShardNode::tick(Time now) {
  if (!machine_) return;
  if (leaves_for_sync_) {
    // It is out and has the new data, or the primary is gone and nobody has taken it out.
    const PrimaryLink* const primary = parts_.replication.primary();
    const bool is_synced = !machine_->in_record() && primary != nullptr && primary->is_up();
    const bool gives_up = machine_->in_record() && is_due(*leaves_for_sync_ + kLeaveTime, now);
    if (is_synced || gives_up) {
      leaves_for_sync_.reset();
      machine_->stay();
    }
  }
  // It has handed over, and is in the set of its successor: it leaves that, too.
  if (leaves_since_ && !left_at_ && machine_->role() == ShardRole::following) machine_->leave();
  note_held();
  machine_->tick(now);
  if (leaves_since_ && !left_at_ && !machine_->in_record()) left_at_ = now;
}

Time ShardNode::next_tick() const { return machine_ ? machine_->next_tick() : kNever; }

// ---- Messages ----

bool ShardNode::is_beyond_log(const ForShard<Pulse>& pulse) const {
  const Pulse& message = pulse.message;
  if (!machine_ || !machine_->is_leading() || pulse.shard != shard_) return false;
  return message.epoch == machine_->epoch() && message.history == history() &&
         message.offset > log_end();
}

// A memory that the record names or the register has announced, or that was known by one of both
// when it first pulsed. All others are ignored before anything is kept of them, so made-up ids cost
// two lookups each.
bool ShardNode::is_known(const NodeMemory& memory) const {
  if (machine_->has_member(memory) || machine_->record().has(memory)) return true;
  const NodeRecord* const node = view_.node(memory.node);
  const LiveRecord* const live = view_.live(memory.node);
  return node != nullptr && node->shard == shard_ && live != nullptr &&
         live->incarnation == memory.incarnation;
}

std::optional<PulseReply> ShardNode::pulsed(const ForShard<Pulse>& pulse) {
  if (!machine_ || pulse.shard != shard_) return std::nullopt;
  if (!is_known(pulse.message.from)) {
    return machine_->pulsed_by_stranger(pulse.message, steady_now());
  }
  return machine_->pulsed(pulse.message, steady_now());
}

std::optional<CanvassReply> ShardNode::canvassed(const ForShard<Canvass>& canvass) {
  if (!machine_ || canvass.shard != shard_) return std::nullopt;
  return machine_->canvassed(canvass.message, steady_now());
}

void ShardNode::send_pulse(const NodeMemory& primary, const Pulse& pulse) {
  const auto address = address_of(primary.node);
  // Messages of clients go the same way, and must not keep a pulse back.
  int& waiting = pulses_waiting_[primary.node];
  if (!address || waiting >= kPulsesWaiting) return;
  ++waiting;
  links_.send(primary.node, *address, to_request(shard_, pulse),
              [this, primary, number = machines_](const ReplyValue* reply) {
                --pulses_waiting_[primary.node];
                if (reply == nullptr || !machine_ || number != machines_) return;
                const auto answer = read_pulse_reply(*reply);
                if (answer) machine_->pulse_answered(primary, *answer, steady_now());
              });
}

void ShardNode::send_canvass(const NodeMemory& member, const Canvass& canvass) {
  const auto address = address_of(member.node);
  if (!address) return;
  links_.send(member.node, *address, to_request(shard_, canvass),
              [this, number = machines_](const ReplyValue* reply) {
                if (reply == nullptr || !machine_ || number != machines_) return;
                const auto answer = read_canvass_reply(*reply);
                if (answer) machine_->canvass_answered(*answer, steady_now());
              });
}

void ShardNode::commit(std::uint64_t version, const ShardRecord& record,
                       const std::map<std::string, std::uint64_t>& lives) {
  RegisterCommit commit;
  const std::string key = shard_key(shard_);
  commit.compares.push_back({key, version});
  for (const auto& [node, live] : lives) commit.compares.push_back({live_key(node), live});
  commit.puts.push_back({key, to_text(record)});
  const std::uint64_t number = ++commits_;
  register_->commit(std::move(commit),
                    [this, number, key, text = to_text(record)](const CommitAnswer& answer) {
                      if (answer.outcome == CommitOutcome::done) {
                        (void)view_.apply(RegisterEntry{key, text, answer.version});
                      } else if (answer.outcome == CommitOutcome::refused) {
                        (void)view_.apply(answer.current);
                      }
                      if (machine_ && number == commits_) machine_->committed(answer, steady_now());
                      parts_.cluster.records_changed();
                    });
}

// ---- Replication ----

std::string ShardNode::history() const {
  const ReplicationStream& stream = parts_.replication.stream();
  return stream.is_open() ? stream.ids().id : std::string();
}

std::uint64_t ShardNode::log_end() const { return parts_.replication.stream().log().end(); }

Time ShardNode::wall() const { return parts_.clock.now(); }

Millis ShardNode::wall_ahead() const { return parts_.host.clock_ahead(); }

void ShardNode::limit_wall(Millis most) { parts_.host.limit_clock(most); }

// Others must know that this process has data before they could lose theirs.
void ShardNode::note_held() {
  const PrimaryLink* const primary = parts_.replication.primary();
  const bool is_dropped =
      parts_.loading.is_active() || (primary != nullptr && primary->state() == LinkState::loading);
  const bool has_all = machine_->is_leading() || (primary != nullptr && primary->is_up());
  if (!is_dropped && !has_all) return;
  if (has_all) parts_.replication.stream().set_epoch(machine_->record().epoch);
  set_held(is_dropped ? 0 : machine_->record().epoch);
}

// Later, if etcd has another process for this node, or none yet.
void ShardNode::set_held(std::uint64_t held) {
  const LiveRecord* const live = view_.live(self_.node);
  if (std::exchange(held_, held) != held) is_held_announced_ = false;
  if (is_held_announced_ || live == nullptr || live->incarnation != self_.incarnation) return;
  is_held_announced_ = true;
  parts_.cluster.announce();
}

bool ShardNode::is_data_complete() const {
  if (parts_.loading.is_active()) return false;
  const PrimaryLink* const primary = parts_.replication.primary();
  if (primary == nullptr) return true;
  return primary->state() != LinkState::transfer && primary->state() != LinkState::loading;
}

void ShardNode::lead(const ShardRecord& record, Time floor) {
  settled_ = 0;
  followed_.clear();
  note_data(record);
  parts_.host.raise_clock(floor);
  parts_.now = parts_.clock.now();
  // A handover that was refused: this server has been the primary of this epoch all the time.
  record.epoch == led_epoch_ ? parts_.replication.resume() : parts_.replication.follow_nobody();
  // Nobody could go on with its log: a replica that comes begins with all of the data.
  if (is_alone()) parts_.replication.stream().close();
  led_epoch_ = record.epoch;
  parts_.replication.stream().set_epoch(record.epoch);
  parts_.cluster.became_primary(record);
}

// A shard that had primaries before, and no process of it has kept the data.
void ShardNode::note_data(const ShardRecord& record) {
  if (record.epoch == led_epoch_) return;
  // An append-only file without keys: then the shard had none. A snapshot may be an old one.
  came_back_empty_ = record.epoch > 1 && !parts_.replication.stream().is_open() &&
                     !parts_.persistence.has_loaded_log() && stored_keys(parts_.keyspace) == 0;
  if (!came_back_empty_) return;
  parts_.log.warning(
      "Cluster: shard {} came back without data: this process leads it with epoch {}, has loaded "
      "nothing, and has copied nothing from another one",
      shard_, record.epoch);
}

bool ShardNode::is_alone() const {
  return std::ranges::none_of(parts_.cluster.view().nodes(), [this](const auto& node) {
    return node.first != self_.node && node.second.record.shard == shard_;
  });
}

void ShardNode::follow(const ShardRecord& record) {
  settled_ = 0;
  // A former process of this very node: there is nobody to follow before somebody takes over.
  if (record.primary.node == self_.node) return detach();
  const auto address = address_of(record.primary.node);
  const bool follows_it =
      followed_ == record.primary.node && parts_.replication.primary() != nullptr;
  if (!address) {  // it is not known yet: follow_address() follows it when it is
    detach();
    followed_ = record.primary.node;
    followed_address_ = {};
    return;
  }
  if (follows_it && *address == followed_address_) return;
  followed_ = record.primary.node;
  followed_address_ = *address;
  parts_.replication.follow(address->host, address->port);
  parts_.cluster.became_replica();
}

void ShardNode::detach() {
  followed_.clear();
  parts_.replication.detach();
  parts_.cluster.became_replica();
}

void ShardNode::settle(std::uint64_t version) {
  detach();
  settled_ = version;
  if (held_ == 0) return;
  is_held_announced_ = true;
  parts_.cluster.announce();
}

void ShardNode::pause_writes(bool is_paused) {
  if (is_paused) {
    parts_.clients.pause(PauseReason::failover, kNever, PauseLevel::writes);
  } else {
    parts_.clients.unpause(PauseReason::failover);
  }
}

void ShardNode::announce_again() { parts_.cluster.announce(); }

void ShardNode::log(const std::string& line) { parts_.log.notice("Cluster: {}", line); }

std::string ShardNode::node_word() const { return self_.node + ":" + self_.incarnation; }

bool ShardNode::may_drop_data() {
  if (machine_ && machine_->in_record()) {
    leaves_for_sync_ = leaves_for_sync_.value_or(steady_now());
    machine_->leave();
    return false;
  }
  // What was loaded at the start is gone: others must not wait for this node to recover with it.
  parts_.cluster.forget_loaded();
  return true;
}

void ShardNode::acknowledged(const ReplicaState& replica) {
  if (!machine_ || !machine_->is_leading() || replica.node.empty() || !replica.is_online()) return;
  machine_->acknowledged({replica.node, replica.incarnation}, replica.acked);
}

bool ShardNode::is_handing_over() const { return machine_ && machine_->is_handing_over(); }

// By the timeout of now, which may have been changed since it began.
Time ShardNode::leaves_until() const {
  return *leaves_since_ + std::chrono::seconds(parts_.config.shutdown_timeout);
}

void ShardNode::leave() {
  if (leaves_since_) return;
  const Time now = steady_now();
  leaves_since_ = now;
  if (!machine_ || !machine_->in_record()) return;
  if (!machine_->is_leading()) return machine_->leave();
  for (const ShardMachine::MemberState& member : machine_->members()) {
    if (!member.is_in_record) continue;
    const Status status = machine_->hand_over(member.memory.node, leaves_until(), now);
    if (status) return;
    parts_.log.warning("Cluster: cannot hand over: {}", status.error().message);
  }
}

void ShardNode::stay() {
  if (!leaves_since_) return;
  leaves_since_.reset();
  left_at_.reset();
  if (machine_) machine_->stay();
}

bool ShardNode::has_left() const {
  const Time now = steady_now();
  if (leaves_since_ && is_due(leaves_until(), now)) return true;
  if (machine_ && machine_->is_leading()) return !machine_->is_handing_over();
  if (machine_ && machine_->in_record()) return false;
  return !left_at_ || is_due(*left_at_ + kRedirectTime, now);
}

std::size_t ShardNode::acked(std::uint64_t offset, std::size_t wanted) const {
  const std::size_t have = parts_.replication.replicas().acked(offset);
  if (!machine_ || !machine_->is_leading()) return 0;
  // A primary that has been replaced may learn too late that its replicas have a write.
  const bool is_safe = machine_->is_serving(steady_now()) && machine_->has_set() &&
                       machine_->safe_offset() >= offset;
  if (is_safe) return std::max(have, machine_->set_size());
  return wanted == 0 ? 0 : std::min(have, wanted - 1);
}

}  // namespace mayfly
