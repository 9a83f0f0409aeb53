// SPDX-License-Identifier: Apache-2.0
// The records of a cluster, and their form as text: lines of a word and a value, the first of which
// is `format 1`. A reader refuses a higher format, and skips words that it does not know.
//
//   config        one for the cluster: it exists once there is a cluster
//   nodes/ID      a node: where it is, and to which shard it belongs
//   live/ID       a process: gone soon after the process has ended
//   shards/SID    who may serve which slots
//   moves/JOB     slots that move from one shard to another
//   register      the register itself, once it was accepted after a restore
//
// docs/cluster_format.md describes every line.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/slot_set.h"
#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

// What one process of a node has in memory. A restarted node has another one: a new incarnation.
struct NodeMemory {
  std::string node;         // 40 hexadecimal digits
  std::string incarnation;  // 16 of them

  bool operator==(const NodeMemory&) const = default;
  auto operator<=>(const NodeMemory&) const = default;
};

struct ClusterRecord {
  std::string id;  // 40 hexadecimal digits
  Millis lease{2000};
  int replicas = 1;  // that each shard should have
  Time created{};
  // How many names of shards have been given out. None is given out again: a node that has missed
  // the removal of a shard would take another one for it.
  std::size_t shards = 0;

  bool operator==(const ClusterRecord&) const = default;
};

// A node that has registered itself and belongs to nobody yet is `fresh`.
enum class NodeState { fresh, in, leaving };

struct NodeRecord {
  std::string host;  // an address
  int port = 0;
  std::string hostname;  // what clients are told instead, if it is not empty
  std::string zone;
  std::string shard;  // empty: none yet
  NodeState state = NodeState::fresh;

  bool operator==(const NodeRecord&) const = default;
};

struct LiveRecord {
  std::string incarnation;
  std::string version;  // of the program
  std::string role;     // "primary", "replica", "none": for people
  // Of the data that was loaded at the start. For recovery.
  std::string history;
  std::uint64_t epoch = 0;
  std::uint64_t offset = 0;
  bool is_durable = false;  // it has an append-only file
  // The epoch of the primary whose data it has in memory: it was that primary, or has got all of
  // its data since it started. 0: it has only the data that it loaded.
  std::uint64_t held = 0;
  // All processes that this version of the shard's record names have ended: this one replicates
  // no primary since, and its data ends at this offset, until a later version. 0: it may get more.
  std::uint64_t settled = 0;
  std::uint64_t end = 0;

  bool operator==(const LiveRecord&) const = default;
};

struct ShardRecord {
  std::uint64_t epoch = 0;         // raised by every change of the primary
  NodeMemory primary;              // may serve
  std::vector<NodeMemory> insync;  // may take over; sorted
  SlotSet slots;
  Time since{};  // when this primary began

  bool has(const NodeMemory& memory) const;  // in sync
  bool operator==(const ShardRecord&) const = default;
};

enum class MoveState { waiting, snapshot, stream, pause, commit, clean, done, failed, cancelled };
inline bool is_active(MoveState state) {
  return state != MoveState::done && state != MoveState::failed && state != MoveState::cancelled;
}

struct MoveRecord {
  std::string source;  // shards
  std::string target;
  SlotSet slots;
  MoveState state = MoveState::waiting;
  std::string error;  // why it failed, or is tried again
  int attempts = 0;
  Time created{};
  Time busy_since{};  // the target has refused all attempts since then, for now; Time{}: it has not

  bool operator==(const MoveRecord&) const = default;
};

// The operator has confirmed this register as the right one, though the nodes know another one, or
// a later state of it: `mayfly cluster accept`.
struct RegisterRecord {
  std::uint64_t id = 0;       // of the register that was accepted
  std::uint64_t version = 0;  // its version then
  Time accepted{};

  bool operator==(const RegisterRecord&) const = default;
};

std::string to_text(const ClusterRecord& record);
std::string to_text(const NodeRecord& record);
std::string to_text(const LiveRecord& record);
std::string to_text(const ShardRecord& record);
std::string to_text(const MoveRecord& record);
std::string to_text(const RegisterRecord& record);

// Code::unsupported for a higher format, Code::corrupt for anything else that is wrong.
Result<ClusterRecord> parse_cluster_record(std::string_view text);
Result<NodeRecord> parse_node_record(std::string_view text);
Result<LiveRecord> parse_live_record(std::string_view text);
Result<ShardRecord> parse_shard_record(std::string_view text);
Result<MoveRecord> parse_move_record(std::string_view text);
Result<RegisterRecord> parse_register_record(std::string_view text);

std::string_view name_of(NodeState state);  // "fresh", "in", "leaving"
std::string_view name_of(MoveState state);  // "waiting", "snapshot", ...

// Keys in the register.
inline constexpr std::string_view kConfigKey = "config";
inline constexpr std::string_view kRegisterKey = "register";
inline std::string node_key(std::string_view id) { return std::string("nodes/").append(id); }
inline std::string live_key(std::string_view id) { return std::string("live/").append(id); }
inline std::string shard_key(std::string_view id) { return std::string("shards/").append(id); }
inline std::string move_key(std::string_view id) { return std::string("moves/").append(id); }

}  // namespace mayfly
