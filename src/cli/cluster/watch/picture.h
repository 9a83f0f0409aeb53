// SPDX-License-Identifier: Apache-2.0
// The picture of a cluster, as `mayfly cluster status` draws it:
//
//   main   6 nodes, 3 shards, 16384 slots ok        etcd 3/3, leader etcd-b, 2.1 ms, 3.5.16
//     0           2048        4096        6144        8192        10240       12288       16383
//     |aaaaaaaaaaaaaaaaaaaaaaaaaaaaa|bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb|ccccccccccccc>>>>aaaaaaa|
//     a  10.0.0.1:6379  serving  epoch 7   5461 slots  1.9 M keys  412 MB   in sync: 10.0.0.4 ...
//     move c -> a  1024 slots  stream  71 %  212 K keys/s  about 4 s left
//     ! shard b would not survive the loss of 10.0.0.2

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cluster/moves/move_jobs.h"
#include "cli/cluster/session/cluster_session.h"
#include "cli/cluster/session/node_facts.h"
#include "cluster/plan/cluster_problems.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

struct ClusterPicture {
  std::string name;
  ClusterView view;
  std::string error;        // why etcd cannot be read: then the view is the last one that was,
  std::string source;       // or its source: "one member of etcd, perhaps not the latest"
  bool knows_lives = true;  // false: which processes live is in etcd, and not in the view
  bool is_cache = false;    // its data may be lost
  std::map<std::string, NodeFacts> facts;  // by node
  std::vector<EtcdEndpointStatus> etcd;
  std::map<std::string, MoveProgress> progress;  // by job
  std::map<std::string, MoveRates::Rate> rates;  // the same
  Time now{};
};

// Another source if etcd cannot be read, and problems to ignore.
struct PictureOptions {
  std::string node;       // HOST:PORT; empty: no other source
  bool is_cache = false;  // nodes that keep no data are fine
};

// Asks etcd and all nodes. `before` is the picture before, for what cannot be read now.
ClusterPicture take_picture(ClusterSession& session, const PictureOptions& options,
                            const ClusterPicture* before, MoveRates& rates);

std::vector<std::string> picture_lines(const ClusterPicture& picture, const Colours& colours);
std::string picture_json(const ClusterPicture& picture);

// Of a node that has answered; else null.
const NodeFacts* facts_of(const ClusterPicture& picture, const std::string& node);

// False: the records could not be read anywhere.
bool is_known(const ClusterPicture& picture);

struct EtcdCount {
  std::size_t up = 0;   // members that answer
  std::size_t all = 0;  // by etcd's own list, if there is one; else those that --etcd names
};
EtcdCount count_etcd(const ClusterPicture& picture);

// Letters by which shards are drawn: their ids if those are single ones.
std::map<std::string, char> shard_letters(const ClusterView& view);

// A character for each of `width` equal parts of the slots.
std::string slot_bar(const ClusterView& view, std::size_t width);

// What the primary of a shard does: these, "fenced", "down", ...
inline constexpr std::string_view kServing = "serving";
inline constexpr std::string_view kRefusesWrites = "refuses writes";
inline constexpr std::string_view kNoAnswer = "no answer";
inline constexpr std::string_view kLocked = "wants password";
inline constexpr std::string_view kClosed = "is closed from here";
inline constexpr std::string_view kFull = "takes no more clients";
inline constexpr std::string_view kBusy = "busy";
std::string shard_state(const ClusterPicture& picture, const ClusterShard& shard);

// Whether a primary in this state may serve its clients, though its state is unknown here.
bool may_serve(std::string_view state);

std::string short_bytes(double bytes);  // "1.2 KB"
std::string short_count(double count);  // "1.9 M"

}  // namespace mayfly
