// SPDX-License-Identifier: Apache-2.0
// For shard_model_test.cc: the register becomes an older state of itself. It is restored from a
// snapshot, with its id or with another one, or old records are written again. Processes go on
// without it, until people stop all of them, accept it, and start them.

#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "cluster/shard_model_process.h"

namespace mayfly {

inline std::uint64_t epoch_in(const RegisterSnapshot& snapshot) {
  for (const RegisterEntry& entry : snapshot.entries) {
    if (entry.key == "shards/s") return parse_shard_record(*entry.value)->epoch;
  }
  return 0;
}

inline std::uint64_t record_version_in(const RegisterSnapshot& snapshot) {
  for (const RegisterEntry& entry : snapshot.entries) {
    if (entry.key == "shards/s") return entry.version;
  }
  return 0;
}

inline bool ModelWorld::may_use(int node, const RegisterSnapshot& snapshot) const {
  const KnownRegister& known = known_[static_cast<std::size_t>(node)];
  if (known.point.id == 0) return true;  // it has never used any
  return snapshot.id == known.point.id && snapshot.version >= known.point.version &&
         epoch_in(snapshot) >= known.epoch;
}

inline void ModelWorld::note_use(int node, const RegisterSnapshot& snapshot) {
  KnownRegister& known = known_[static_cast<std::size_t>(node)];
  known.point = {snapshot.id, std::max(snapshot.version, known.point.version)};
  known.epoch = std::max(epoch_in(snapshot), known.epoch);
}

inline void ModelWorld::begin_restore() {
  if (is_quiet()) return;
  trace("the register is saved");
  after(millis(500, 15'000), [this, saved = records_.read()] { restore(saved); });
}

inline void ModelWorld::restore(const RegisterSnapshot& snapshot) {
  ++counts_.restores;
  last_ = record();
  is_restored_ = has_lost_ = true;
  const std::uint64_t known = records_.find("shards/s")->version;
  const bool do_all_know = std::ranges::all_of(nodes_, [known](const auto* each) {
    return each->is_dead || each->machine.version() == known;
  });
  // Old records that are written again look like new ones, except to a process that knows a later
  // epoch.
  const bool is_older = epoch_in(snapshot) < last_.epoch && do_all_know;
  double kind = is_older ? random() : random() * 0.7;
  // A process that has not seen the lost record continues to use a register of the same id, as it
  // cannot recognise it. It may take over beside the primary of the lost record, which has changed
  // the set without it. The model leaves that out: the register has another id.
  const bool is_lost = record_version_in(snapshot) != known;
  if (is_lost && !do_all_know) kind = std::max(kind, 0.35);
  trace(kind < 0.35 ? "restored" : kind < 0.7 ? "restored with another id" : "old records again");
  if (kind < 0.7) {
    if (kind >= 0.35) ++records_.id;
    records_.restore(snapshot);
    // If only live records are lost, the record is the true one, and the shard continues with it:
    // commits by processes that have seen no higher version, or sent them before, count and are
    // checked as ever. If the record has changed since the snapshot, no process has the state of
    // the old one: commits on it are not checked, and actions of processes are.
    has_lost_ = is_lost;
  } else {
    // A process that starts knows no more than its file: none starts before this is accepted.
    is_put_back_ = true;
    const auto check = std::exchange(records_.before_done, {});
    for (const RegisterEntry& entry : snapshot.entries) {
      if (entry.key != "shards/s") continue;
      const std::uint64_t version = records_.find(entry.key)->version;
      records_.apply({{{entry.key, version}}, {{entry.key, entry.value}}});
    }
    records_.before_done = check;
  }
  after(millis(3000, 12'000), [this] { accept(); });
}

// `mayfly cluster accept`, between a stop and a start of all nodes: none of the processes that are
// named runs, and recovery asks all nodes. Nothing fails any more.
inline void ModelWorld::accept() {
  is_accepted_ = true;
  is_restored_ = has_lost_ = is_put_back_ = false;
  for (int node = 0; node < options_.nodes; ++node) crash(node);
  ShardRecord next = record();
  const std::string ended(16, '0');
  next.insync.clear();
  for (const ModelProcess* process : nodes_) {
    const std::string& node = process->memory.node;
    if (node != next.primary.node) next.insync.push_back({node, ended});
    if (const auto live = records_.find(live_key(node))) {
      records_.apply({{{live->key, live->version}}, {{live->key, std::nullopt}}});
    }
  }
  const std::uint64_t version = records_.find("shards/s")->version;
  records_.apply({{{"shards/s", version}}, {{"shards/s", to_text(next)}}});
  for (KnownRegister& known : known_) known = {records_.point(), next.epoch};
  served_epoch_ = 0;  // both may be lower than before: they are those of the restored record
  served_wall_ = Time{};
  quiet_ = Millis(30'000);
  end_ = now_ + quiet_;
  trace("accepted");
}

}  // namespace mayfly
