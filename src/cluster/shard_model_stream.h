// SPDX-License-Identifier: Apache-2.0
// For shard_model_test.cc: replication between ModelProcesses. REPLICAOF and PSYNC in a hundred
// lines: messages of a connection carry its number, so that those of an older one are ignored.

#pragma once

#include <algorithm>
#include <string>

#include "cluster/shard_model_process.h"

namespace mayfly {

// ---- At the replica ----

inline void ModelProcess::connect() {
  is_connected_ = false;
  heard_ = world_.now();
  const int connection = ++connection_;
  world_.send(node, *primary_,
              [from = memory, connection, history = history_, offset = writes.size(),
               is_all_wanted = !is_complete_](ModelProcess& to) {
                to.asked(from, connection, history, offset, is_all_wanted);
              });
}

inline void ModelProcess::continued(int connection, const std::string& history) {
  if (connection != connection_ || is_detached_ || !is_complete_) return;
  if (history != history_) former_ = {history_, writes.size()};
  history_ = history;
  is_connected_ = true;
  heard_ = world_.now();
  hold(machine.record().epoch);
}

// It must leave the set before it drops what it has.
inline void ModelProcess::must_copy(int connection) {
  if (connection != connection_ || is_detached_ || needs_full_) return;
  needs_full_ = true;
  needs_since_ = world_.now();
  machine.leave();
  changed();
}

// The primary is silent, so it is not out: it stays what it was.
inline void ModelProcess::stop_leaving() {
  if (!is_complete_) return;
  needs_full_ = false;
  machine.stay();
}

inline void ModelProcess::drop_data() {
  world_.check_drop(memory);
  is_complete_ = false;
  writes.clear();
  history_.clear();
  loaded_ = {};
  held_ = 0;
  was_named = false;
  announce();
  connect();
}

inline void ModelProcess::copied(int connection, const std::string& history, const Log& all) {
  if (connection != connection_ || is_detached_ || is_complete_) return;
  ++world_.counts().full_syncs;
  writes = all;
  history_ = history;
  former_ = {};
  hold(machine.record().epoch);
  is_complete_ = is_connected_ = true;
  needs_full_ = false;
  heard_ = world_.now();
  machine.stay();
}

inline void ModelProcess::received(int connection, std::uint64_t from, const Log& part) {
  if (connection != connection_ || is_detached_ || !is_connected_ || from > writes.size()) return;
  heard_ = world_.now();
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(from) + i;
    if (at == writes.size()) writes.push_back(part[i]);
    if (writes[at] != part[i]) {
      throw ModelViolation{"C: a stream contradicts the log of " + memory.node.substr(0, 1) +
                           " at " + std::to_string(at) + " of " + std::to_string(writes.size())};
    }
  }
  world_.send(node, *primary_, [me = memory, connection, offset = writes.size()](ModelProcess& to) {
    const auto link = to.links_.find(me);
    if (link == to.links_.end() || link->second.connection != connection) return;
    link->second.position = std::max(link->second.position, std::uint64_t{offset});
    to.machine.acknowledged(me, offset);
    to.changed();
  });
}

// ---- At the primary ----

inline void ModelProcess::asked(const NodeMemory& from, int connection, const std::string& history,
                                std::uint64_t offset, bool is_all_wanted) {
  if (!machine.is_leading()) return;
  Link& link = links_[from];
  if (connection <= link.connection) return;
  const bool is_kept = (history == history_ && offset <= writes.size()) ||
                       (history == former_.first && offset <= former_.second);
  const bool is_forgotten = world_.one_in(8) && !world_.is_quiet();  // the backlog is too short
  link = {connection, offset};
  if (is_all_wanted) {
    link.position = writes.size();
    world_.send(node, from, [connection, mine = history_, all = writes](ModelProcess& to) {
      to.copied(connection, mine, all);
    });
  } else if (is_kept && !is_forgotten) {
    world_.send(node, from, [connection, mine = history_](ModelProcess& to) {
      to.continued(connection, mine);
    });
  } else {
    links_.erase(from);
    world_.send(node, from, [connection](ModelProcess& to) { to.must_copy(connection); });
  }
}

inline void ModelProcess::stream() {
  static constexpr std::size_t kParts[] = {1, 3, 8, 8, 50, 1'000'000};
  for (const auto& [to, link] : links_) {
    const std::size_t begin = static_cast<std::size_t>(link.position);
    const std::size_t most = kParts[static_cast<std::size_t>(world_.between(0, 6))];
    const std::size_t end = std::min(writes.size(), begin + most);
    const Log part(writes.begin() + static_cast<std::ptrdiff_t>(begin),
                   writes.begin() + static_cast<std::ptrdiff_t>(end));
    world_.send(node, to, [connection = link.connection, begin, part](ModelProcess& back) {
      back.received(connection, begin, part);
    });
  }
}

}  // namespace mayfly
