// SPDX-License-Identifier: Apache-2.0
// The problems of a cluster that its nodes report: answers, writes, memory, files and disks.
// find_problems() has the problems that the records show.

#pragma once

#include <cstddef>
#include <vector>

#include "cli/cluster/watch/picture.h"

namespace mayfly {

// How much of the cluster works, as seen from here.
struct ClusterService {
  std::size_t nodes = 0;      // that belong to a shard
  std::size_t answering = 0;  // of them
  std::size_t served_slots = 0;
  std::size_t writable_slots = 0;  // of them
  std::size_t served_shards = 0;
  std::size_t writable_shards = 0;
  bool is_known = true;  // false: a primary lives that does not answer here, and may serve
};
ClusterService service_of(const ClusterPicture& picture);

NodeAnswers answers_of(const ClusterPicture& picture);

// Nodes that live for etcd and do not answer. Those that have ended are in find_problems().
std::vector<ClusterProblem> answer_problems(const ClusterPicture& picture);

// Shards whose primaries do not serve: details if find_problems() or answer_problems() has the
// reason.
std::vector<ClusterProblem> serving_problems(const ClusterPicture& picture);

// Nodes that cannot reach etcd, or that know another one, or a later state of it.
std::vector<ClusterProblem> register_problems(const ClusterPicture& picture);

// Replicas that are not in sync, have no connection, or may have other data than their primaries.
std::vector<ClusterProblem> replica_problems(const ClusterPicture& picture);

// The replicas that shall be in sync, those that leave apart; and those that are.
struct ReplicaCount {
  std::size_t all = 0;
  std::size_t in_sync = 0;
};
ReplicaCount count_replicas(const ClusterPicture& picture);

// Shards that refuse writes, or soon will.
std::vector<ClusterProblem> write_problems(const ClusterPicture& picture);

// Files that cannot be written, disks that fill up, and shards that keep no data.
std::vector<ClusterProblem> storage_problems(const ClusterPicture& picture);

// Replicas that their clocks keep out of the set.
std::vector<ClusterProblem> clock_problems(const ClusterPicture& picture);

// What check_picture() finds without details, the worst first.
std::vector<ClusterProblem> all_problems(const ClusterPicture& picture);

}  // namespace mayfly
