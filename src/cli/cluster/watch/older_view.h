// SPDX-License-Identifier: Apache-2.0
// Records of a cluster while etcd has no majority: from one member of etcd, which may have older
// ones, or from the nodes themselves.

#pragma once

#include "cli/cluster/watch/picture.h"

namespace mayfly {

// Sets the view of the picture and its source: one member of etcd, else the node that the options
// name, else the picture before. Without any of them the view stays empty.
void take_older_view(ClusterSession& session, const PictureOptions& options,
                     const ClusterPicture* before, ClusterPicture& picture);

// The records as the nodes know them: CLUSTER NODES of one node, and CLUSTER INFO of each.
Result<ClusterView> view_of_nodes(ClusterSession& session, const NodeAddress& node);

}  // namespace mayfly
