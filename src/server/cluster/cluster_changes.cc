// SPDX-License-Identifier: Apache-2.0
// Committing changes for clients, and the transactions.

#include "server/cluster/cluster_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/plan/placement.h"
#include "server/cluster/cluster.h"
#include "server/core/clients.h"

namespace mayfly {
namespace {

constexpr Millis kLongest{10'000};
constexpr int kAttempts = 20;

Error denied(std::string reply) { return {Code::denied, std::move(reply)}; }

RegisterCommit::Compare compared(const ClusterView& view, std::string key) {
  const std::uint64_t version = view.version_of(key);
  return {std::move(key), version};
}

// Changes a record that is there.
void change(RegisterCommit& commit, const ClusterView& view, const std::string& id,
            const NodeRecord& node) {
  commit.compares.push_back(compared(view, node_key(id)));
  commit.puts.push_back({node_key(id), to_text(node)});
}

// All that gives out slots writes the config again, so that such changes come one after the other.
void serialise(RegisterCommit& commit, const ClusterView& view, const ClusterRecord& config) {
  commit.compares.push_back(compared(view, std::string(kConfigKey)));
  commit.puts.push_back({std::string(kConfigKey), to_text(config)});
}

// The outcome in etcd is not known yet when a reply is sent at once.
bool refuses_to_wait(ServerCall& call) {
  if (call.client.can_wait) return false;
  call.fail(
      "ERR this command waits for etcd and is refused in the console (use mayfly cluster, or "
      "another client)");
  return true;
}

}  // namespace

void ClusterChanges::run(ServerCall& call, Make make) {
  if (refuses_to_wait(call)) return;
  const std::uint64_t id = call.client.id();
  waiting_[id].make = std::move(make);
  parts_.blocked.add(call.client, *this, deadline_after(call.now(), kLongest));
  commit(id);
}

void ClusterChanges::wait(ServerCall& call, std::function<bool()> is_done, std::string error) {
  if (refuses_to_wait(call)) return;
  Waiting& waiting = waiting_[call.client.id()];
  waiting.is_done = std::move(is_done);
  waiting.error = std::move(error);
  parts_.blocked.add(call.client, *this, deadline_after(call.now(), kLongest));
}

void ClusterChanges::after_read(ServerCall& call, std::function<Status()> then) {
  if (refuses_to_wait(call)) return;
  const std::uint64_t id = call.client.id();
  waiting_[id] = {};
  parts_.blocked.add(call.client, *this, deadline_after(call.now(), kLongest));
  parts_.cluster.reg()->read([this, id,
                              then = std::move(then)](const Result<RegisterSnapshot>& snapshot) {
    if (!waiting_.contains(id)) return;
    if (!snapshot) {
      return end(id, denied(fmt::format("ERR etcd cannot be reached, and nothing was changed: {}",
                                        snapshot.error().message)));
    }
    const Result<bool> changed = parts_.cluster.view().replace(*snapshot);
    if (!changed) return end(id, denied("ERR " + changed.error().message));
    parts_.cluster.records_changed();
    end(id, then());
  });
}

void ClusterChanges::commit(std::uint64_t client) {
  Waiting& waiting = waiting_.at(client);
  const Result<std::optional<RegisterCommit>> made = waiting.make(parts_.cluster.view());
  waiting.is_for_later = !made && made.error().code == Code::busy;
  waiting.error = waiting.is_for_later ? made.error().message : "";
  if (waiting.is_for_later) return;
  if (!made) return end(client, made.error());
  if (!made->has_value()) return end(client, Done{});
  const RegisterCommit commit = **made;
  parts_.cluster.reg()->commit(commit, [this, client, commit](const CommitAnswer& answer) {
    answered(client, commit, answer);
  });
}

void ClusterChanges::answered(std::uint64_t client, const RegisterCommit& commit,
                              const CommitAnswer& answer) {
  ClusterView& view = parts_.cluster.view();
  if (answer.outcome == CommitOutcome::done) {
    for (const auto& [key, value] : commit.puts) {
      (void)view.apply(RegisterEntry{key, value, answer.version});
    }
  } else if (answer.outcome == CommitOutcome::refused) {
    (void)view.apply(answer.current);
  }
  parts_.cluster.records_changed();
  const auto found = waiting_.find(client);
  if (found == waiting_.end()) return;
  if (answer.outcome == CommitOutcome::done) return end(client, Done{});
  if (++found->second.attempts < kAttempts) return this->commit(client);
  end(client, denied(fmt::format("ERR etcd has not answered: {}", answer.error)));
}

void ClusterChanges::end(std::uint64_t client, Status result) {
  waiting_.at(client).result = std::move(result);
  // Replies are written from before_sleep(), not from within the request itself.
}

void ClusterChanges::before_sleep() {
  std::vector<std::uint64_t> done;
  for (auto& [id, waiting] : waiting_) {
    if (waiting.is_for_later) commit(id);
    if (waiting.is_done && !waiting.result && waiting.is_done()) waiting.result = Status(Done{});
    if (waiting.result) done.push_back(id);
  }
  for (const std::uint64_t id : done) {
    if (Client* const client = parts_.clients.find(id)) parts_.blocked.end(*client);
  }
}

void ClusterChanges::reply_at_end(Client& client, Reply& reply) {
  const Waiting& waiting = waiting_.at(client.id());
  if (!waiting.result) {
    return reply.error(waiting.error.empty() ? "ERR etcd has not answered in time" : waiting.error);
  }
  if (!*waiting.result) return reply.error(waiting.result->error().message);
  reply.ok();
}

// ---- The transactions ----

Result<std::optional<RegisterCommit>> join_node(const ClusterView& view, const std::string& id) {
  const NodeRecord* const known = view.node(id);
  if (known == nullptr) return denied("ERR Unknown node " + id);
  if (known->state == NodeState::in) return std::optional<RegisterCommit>();
  RegisterCommit commit;
  NodeRecord node = *known;
  node.state = NodeState::in;
  change(commit, view, id, node);
  return std::optional(commit);
}

Result<std::optional<RegisterCommit>> add_slots(const ClusterView& view, const SlotsFor& wanted,
                                                Time now) {
  const NodeRecord* const known = view.node(wanted.primary.node);
  if (known == nullptr) return denied("ERR this node is not registered yet");
  const ClusterShard* const led = view.led_by(wanted.primary.node);
  if (wanted.is_repetition && led != nullptr && led->record.slots.contains(wanted.slots)) {
    return std::optional<RegisterCommit>();
  }
  std::optional<HashSlot> taken;
  wanted.slots.each([&](HashSlot slot) {
    if (!taken && view.owner(slot) != nullptr) taken = slot;
  });
  if (taken) return denied(fmt::format("ERR Slot {} is already busy", *taken));
  RegisterCommit commit;
  NodeRecord node = *known;
  ClusterRecord config = view.config() ? view.config()->record : wanted.config;
  if (node.shard.empty()) {
    const std::size_t number = free_shard_number(view);
    node.shard = shard_name(number);
    config.shards = number + 1;
  }
  node.state = NodeState::in;
  const ClusterShard* const shard = view.shard(node.shard);
  ShardRecord record;
  if (shard != nullptr) {
    record = shard->record;
    if (record.primary.node != wanted.primary.node) {
      return denied("ERR this node is a replica: slots are given to primaries");
    }
  } else {
    record.epoch = 1;
    record.primary = wanted.primary;
    record.since = now;
  }
  record.slots |= wanted.slots;
  serialise(commit, view, config);
  change(commit, view, wanted.primary.node, node);
  commit.compares.push_back(compared(view, shard_key(node.shard)));
  commit.puts.push_back({shard_key(node.shard), to_text(record)});
  return std::optional(commit);
}

Result<std::optional<RegisterCommit>> join_shard(const ClusterView& view, const std::string& id,
                                                 const std::string& primary) {
  const NodeRecord* const known = view.node(id);
  const NodeRecord* const followed = view.node(primary);
  if (known == nullptr) return denied("ERR this node is not registered yet");
  if (followed == nullptr) return denied("ERR Unknown node " + primary);
  if (id == primary) return denied("ERR Can't replicate myself");
  const ClusterShard* const shard = view.shard(followed->shard);
  if (shard == nullptr || shard->record.primary.node != primary) {
    return denied("ERR I can only replicate a master, not a replica.");
  }
  if (const ClusterShard* const led = view.led_by(id)) {
    return denied(
        fmt::format("ERR To set a master the node must be empty and without assigned "
                    "slots: it leads shard {}",
                    led->id));
  }
  if (known->shard == followed->shard) return std::optional<RegisterCommit>();
  RegisterCommit commit;
  NodeRecord node = *known;
  node.shard = followed->shard;
  node.state = NodeState::in;
  change(commit, view, id, node);
  return std::optional(commit);
}

Result<std::optional<RegisterCommit>> forget_node(const ClusterView& view, const std::string& id) {
  const NodeRecord* const known = view.node(id);
  if (known == nullptr) return denied("ERR Unknown node " + id);
  const bool is_live = view.live(id) != nullptr;
  const bool is_fresh = known->state == NodeState::fresh && known->shard.empty();
  if (is_fresh && is_live) return std::optional<RegisterCommit>();
  RegisterCommit commit;
  if (const ClusterShard* const led = view.led_by(id)) {
    if (!led->record.slots.empty()) {
      return denied(
          fmt::format("ERR this node leads shard {}, which has {} slots (move them first: "
                      "mayfly cluster reshard)",
                      led->id, led->record.slots.count()));
    }
    commit.compares.push_back(compared(view, shard_key(led->id)));
    commit.puts.push_back({shard_key(led->id), std::nullopt});
  }
  NodeRecord fresh = *known;
  fresh.shard.clear();
  fresh.state = NodeState::fresh;
  commit.compares.push_back(compared(view, node_key(id)));
  // One that lives sees that it belongs to no shard: it leaves the in-sync set, and can come back.
  commit.puts.push_back({node_key(id), is_live ? std::optional(to_text(fresh)) : std::nullopt});
  return std::optional(commit);
}

}  // namespace mayfly
