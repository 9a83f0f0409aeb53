// SPDX-License-Identifier: Apache-2.0
// Which requests this node answers, and whether it may answer at all.

#include <fmt/format.h>

#include "server/cluster/cluster.h"
#include "server/core/clients.h"
#include "server/expiry/expiry_log.h"
#include "server/persistence/persistence.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// How long a replica keeps requests about all keys waiting for its primary.
constexpr Millis kForeignMost{5000};

// The request is not answered yet: see Requests::handle().
const Error kWait{Code::busy, {}};

Error refusal(std::string reply) { return {Code::denied, std::move(reply)}; }

}  // namespace

void Cluster::begin_turn() {
  if (!is_enabled_) return;
  look_at_clock(parts_.clock.now());
  moves_.begin_turn();
}

void Cluster::look_at_clock(Time wall) {
  looked_at_ = wall;
  const Time now = steady_now();
  const ShardMachine* const machine = node_.machine();
  is_serving_ =
      machine != nullptr && own_shard_ != ClusterView::kNobody && machine->is_serving(now);
  const bool is_fenced = machine != nullptr && machine->is_leading() && !is_serving_;
  if (is_fenced && fenced_since_ == Time::min()) {
    fenced_since_ = now;
    ++stats_.fenced;
    parts_.log.warning(
        "Cluster: this primary stops serving: no promise of its in-sync replicas is left");
  } else if (!is_fenced && fenced_since_ != Time::min()) {
    stats_.fenced_time += now - fenced_since_;
    fenced_since_ = Time::min();
  }
}

Status Cluster::moved(HashSlot slot, const ClusterShard& owner) {
  const NodeRecord* const node = view_.node(owner.record.primary.node);
  if (node == nullptr) return refusal("CLUSTERDOWN Hash slot not served");
  ++stats_.moved_replies;
  return refusal(fmt::format("MOVED {} {}:{}", slot, node->host, node->port));
}

// Requests for slots that are moving wait, and all that is about all keys.
Status Cluster::check_moving(const RequestSlot& slot) {
  if (slot.kind == RequestSlot::none) {
    return moves_.all_keys_wait() ? Status(kWait) : Status(Done{});
  }
  switch (moves_.when_answered(slot.slot)) {
    case SlotMoves::Answer::wait:
      return kWait;
    case SlotMoves::Answer::try_again:
      ++stats_.tryagain_errors;
      return refusal("TRYAGAIN The slot is moving, and etcd has not answered yet");
    case SlotMoves::Answer::now:
      break;
  }
  return Done{};
}

// At a replica: keys of slots that have moved away, which its primary has not removed yet, or of
// slots that have come and are not merged yet. The log of expiries stays where it is.
bool Cluster::has_foreign_keys() {
  if (moves_.has_staged_own()) return true;
  ForeignKeys& foreign = moves_.foreign();
  if (!foreign.may_have_any()) return false;
  const bool has_kept =
      foreign.contains(kExpiryLogKey) && parts_.keyspace[0].stored_slot(kExpiryLogKey) != kNoSlot;
  return foreign.count() > (has_kept ? 1U : 0U);
}

// Nobody sees such keys: requests about all keys wait for their removal, as they do at a primary.
Status Cluster::check_foreign_keys() {
  if (!has_foreign_keys()) return Done{};
  if (is_foreign_late_) {
    return refusal("TRYAGAIN Keys of slots that have moved are not all removed or merged yet");
  }
  if (!foreign_since_) foreign_since_ = steady_now();
  return kWait;
}

void Cluster::watch_foreign_keys() {
  const bool is_complete = node_.is_data_complete();
  const bool was_complete = std::exchange(was_data_complete_, is_complete);
  if (is_complete && !was_complete && !is_leading()) moves_.foreign().look_again();
  if (!foreign_since_) return;
  const bool is_late = is_due(*foreign_since_ + kForeignMost, steady_now());
  const bool is_over = is_leading() || !has_foreign_keys();
  if (is_over) foreign_since_.reset();
  const bool was_late = std::exchange(is_foreign_late_, is_late && !is_over);
  if (is_over || (is_late && !was_late)) parts_.clients.resume_waiting();
}

Status Cluster::check_request(const Client& client, std::uint64_t flags, const RequestSlot& slot,
                              Time now) {
  if (slot.kind == RequestSlot::cross) {
    ++stats_.crossslot_errors;
    return refusal("CROSSSLOT Keys in request don't hash to the same slot");
  }
  const ShardMachine* const machine = node_.machine();
  const bool is_leading = machine != nullptr && machine->is_leading();
  if (is_leading && (now < looked_at_ || now - looked_at_ > kLookAgain)) look_at_clock(now);
  const bool writes = (flags & flag::write) != 0;
  const bool sees_all = slot.kind == RequestSlot::none && (flags & flag::readonly) != 0;
  if (machine != nullptr && !is_leading && sees_all && !writes) return check_foreign_keys();
  const bool touches_data = slot.kind == RequestSlot::one || writes ||
                            (is_serving_ && moves_.is_active() && (flags & flag::readonly) != 0);
  if (!touches_data && (!is_leading || is_serving_ || (flags & flag::readonly) == 0)) return Done{};
  if (slot.kind == RequestSlot::one) {
    const std::uint16_t index = view_.owner_index(slot.slot);
    if (index == ClusterView::kNobody) return refusal("CLUSTERDOWN Hash slot not served");
    const ClusterShard& owner = view_.shards()[index];
    if (index != own_shard_) {
      if (is_leading && moves_.awaits(slot.slot)) return kWait;
      return moved(slot.slot, owner);
    }
    if (!is_leading) {
      const bool reads_here = client.options.is_readonly && !writes;
      const bool may_read =
          machine != nullptr && node_.is_data_complete() && !moves_.is_staged(slot.slot);
      if (reads_here && may_read) return Done{};
      if (owner.record.primary.node == file_.node)
        return refusal("CLUSTERDOWN The cluster is down");
      return moved(slot.slot, owner);
    }
  }
  if (is_serving_) {
    if (moves_.is_active()) {
      if (Status status = check_moving(slot); !status) return status;
    }
    if (needs_all_slots_ && !view_.uncovered().empty()) {
      return refusal("CLUSTERDOWN The cluster is down");
    }
    return Done{};
  }
  if (slot.kind == RequestSlot::none && is_outside()) return Done{};  // FLUSHALL, FUNCTION RESTORE
  if (!is_leading && slot.kind == RequestSlot::none) {
    return refusal("READONLY You can't write against a read only replica.");
  }
  // Another server may have taken over: only those who accept old data may read.
  if (!writes && shows_old_data(client)) return Done{};
  return refusal("CLUSTERDOWN The cluster is down");
}

void Cluster::check_replies() {
  if (writers_.empty() && console_writers_.empty()) return;
  look_at_clock(parts_.clock.now());
  if (!is_serving_) {
    for (const std::uint64_t id : writers_) {
      Client* const client = parts_.clients.find(id);
      if (client == nullptr || client->is_primary || client->link().closing()) continue;
      client->link().close_now("this server may not serve any more");
    }
    for (Link* const link : console_writers_) {
      link->close_now("this server may not serve any more");
    }
    held_.drop();
  }
  writers_.clear();
  console_writers_.clear();
}

void Cluster::answer_added(Link& link, std::uint64_t from, std::uint64_t log_before) {
  if (!is_enabled_) return;
  if (parts_.replication.stream().log().end() != log_before) console_writers_.push_back(&link);
  if (holds_replies_) held_.add_answer(link, from);
}

void Cluster::forget(Link& link) {
  std::erase(console_writers_, &link);
  held_.forget(link);
}

void Cluster::became_primary(const ShardRecord& record) {
  parts_.log.notice("Cluster: this node is the primary of shard {} now, epoch {}, {} slots",
                    node_.shard(), record.epoch, record.slots.count());
  if (holds_replies_) held_.begin();
  look_at_clock(parts_.clock.now());
  moves_.became_primary();
}

void Cluster::became_replica() {
  held_.drop();
  look_at_clock(parts_.clock.now());
  moves_.became_replica();
}

bool Cluster::is_outside() const {
  if (!is_announced_ || node_.machine() != nullptr) return false;
  const NodeRecord* const own = view_.node(file_.node);
  return own == nullptr || own->shard.empty();
}

// Its data is not that of its former shard any more: if it comes back, it needs all of it.
void Cluster::wrote_outside() {
  parts_.replication.stream().close();
  forget_loaded();
}

bool Cluster::is_ok() const {
  const ShardMachine* const machine = node_.machine();
  if (machine == nullptr || !view_.config()) return false;
  if (machine->is_leading() && !is_serving_) return false;
  const PrimaryLink* const primary = parts_.replication.primary();
  if (!machine->is_leading() && (primary == nullptr || primary->link() == nullptr)) return false;
  return !needs_all_slots_ || view_.uncovered().empty();
}

SlotSet Cluster::own_slots() const {
  const ShardMachine* const machine = node_.machine();
  return machine == nullptr ? SlotSet() : machine->record().slots;
}

}  // namespace mayfly
