// SPDX-License-Identifier: Apache-2.0
// The file `cluster-node` in the data directory: which node this is, of which cluster, and in which
// register (etcd) it has seen that cluster. The
// directory is locked while the process lives, so that no two processes are the same node.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster/register.h"
#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/disk/disk.h"

namespace mayfly {

inline constexpr std::size_t kIdDigits = 40;  // of a node and of a cluster

struct NodeFile {
  std::string node;     // 40 hexadecimal digits
  std::string cluster;  // the same; empty: it belongs to none yet

  // The register, and a version of it that was seen. id 0: not known.
  RegisterPoint reg = {};
  // It had a lower version than before: never use it, unless it is accepted again.
  bool is_register_refused = false;
  Time accepted{};  // the last accepted register; none: Time{}

  // The shard of this node and the last epoch that was seen there; none: empty.
  std::string shard = {};
  std::uint64_t epoch = 0;

  bool operator==(const NodeFile&) const = default;
};

// Makes one with a random id if there is none.
Result<NodeFile> read_node_file(Disk& disk, const std::string& directory);

// Replaces it, durably.
Status write_node_file(Disk& disk, const std::string& directory, const NodeFile& file);

}  // namespace mayfly
