// SPDX-License-Identifier: Apache-2.0
// NodeFacts: what a node says about itself.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/session/cluster_session.h"
#include "cluster/plan/cluster_problems.h"

namespace mayfly {

// A replica, as its primary sees it.
struct MemberFacts {
  bool is_in_record = false;
  std::uint64_t lag_bytes = 0;
  Millis clock_ahead{0};         // of the primary's clock
  bool has_wrong_clock = false;  // so it does not get in sync
};

// Its memory and its files, as far as an operator has to know.
struct NodeHealth {
  std::string refused_writes;      // "MISCONF ...", "OOM ...": the reply to writes; empty: none
  std::string paused;              // commands that CLIENT PAUSE delays: "write", "all", or empty
  bool evicts = false;             // at maxmemory
  std::uint64_t memory_most = 0;   // maxmemory; 0: no limit
  std::optional<bool> keeps_data;  // it has an append-only file, or saves snapshots
  bool is_log_good = true;         // the append-only file can be written
  bool is_snapshot_good = true;    // the last one could be written
  std::optional<std::uint64_t> disk_free;  // of the file system of its folder
  std::uint64_t disk_bytes = 0;
  bool came_back_empty = false;         // it leads, and began without data
  bool is_link_down = false;            // a replica that has no connection to its primary
  std::uint64_t link_down_s = 0;        // since then, in seconds
  std::string refused_reads;            // "MASTERDOWN ...": the reply to reads; empty: none
  std::uint64_t failed_rewrites = 0;    // of its append-only file, since the last that worked
  std::uint64_t unexpected_errors = 0;  // commands of its primary that failed here
};

// How much the clocks of nodes may differ, if none of them answers: the default of the directive
// cluster-max-clock-difference.
inline constexpr Millis kClockDifferenceMax{500};

struct NodeFacts {
  std::string error;  // empty: it has answered, and is a node of a cluster
  NodeAnswer answer = NodeAnswer::answers;
  NodeHealth health;

  std::string id;
  std::string incarnation;
  std::string version;  // of Mayfly
  std::string cluster_name;
  std::string cluster_id;
  std::string shard;
  std::string role;  // "leading", "following", "outside", "canvassing", "taking", "none"
  bool is_serving = false;
  std::uint64_t epoch = 0;
  std::uint64_t record_version = 0;
  bool is_register_connected = true;
  bool is_register_unusable = false;  // it is there, and is not the one that the node knows
  std::string register_error;
  std::map<std::string, MemberFacts> members;  // by node; of a primary

  std::optional<std::uint64_t> keys;
  std::optional<std::uint64_t> staged_keys;  // that have come, of slots that move to it
  std::optional<std::uint64_t> memory_bytes;
  bool hears_primary = false;          // a replica: some seconds ago at most
  std::uint64_t followed_offset = 0;   // of what it has got of a primary, in this process
  std::optional<double> loaded_share;  // it loads its files: 0 to 1
  bool is_loading = false;
  bool is_syncing = false;  // it receives all data of its primary
  std::optional<double> synced_share;
  Millis clock_ahead{0};  // of the clock here
  Millis clock_floor{0};  // by that its time is ahead of the clock of its machine
  Millis clock_difference_max = kClockDifferenceMax;
  double round_trip_ms = 0;

  bool is_up() const { return error.empty(); }
};

NodeFacts ask_facts(ClusterSession& session, const NodeAddress& node);

// Many at once, in the order of the addresses.
std::vector<NodeFacts> ask_facts(ClusterSession& session, const std::vector<NodeAddress>& nodes);

// Of all nodes of the view, by id.
std::map<std::string, NodeFacts> ask_facts(ClusterSession& session, const ClusterView& view);

// The reply of CLUSTER INFO and INFO as facts.
void read_cluster_info(NodeFacts& facts, std::string_view info);
void read_server_info(NodeFacts& facts, std::string_view info);

// One request, of which an error is one.
Result<ReplyValue> call_node(ClusterSession& session, const NodeAddress& node,
                             ClusterNodes::Request request);

// How many keys each of these slots has at that node, in the order of the slots.
Result<std::vector<std::uint64_t>> count_keys(ClusterSession& session, const NodeAddress& node,
                                              const SlotSet& slots);

// The greatest difference between two clocks.
Millis clock_spread(const std::vector<NodeFacts>& facts);

// What all the nodes that answer allow: the least of their cluster-max-clock-difference.
Millis clock_difference_max(const std::vector<NodeFacts>& facts);

}  // namespace mayfly
