// SPDX-License-Identifier: Apache-2.0
// Records of a cluster while etcd has no majority: from one member of etcd, which may have older
// ones, or from the nodes themselves.

#pragma once

#include "cli/cluster/watch/picture.h"

namespace mayfly {

// Sets the view of the picture and where it comes from: one member of etcd, else the node that the
// options name, else the picture before. Leaves it empty if there is none.
void take_older_view(ClusterSession& session, const PictureOptions& options,
                     const ClusterPicture* before, ClusterPicture& picture);

// The records as the nodes have them: CLUSTER NODES of one, and what each says about itself.
Result<ClusterView> view_of_nodes(ClusterSession& session, const NodeAddress& node);

}  // namespace mayfly
