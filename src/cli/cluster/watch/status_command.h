// SPDX-License-Identifier: Apache-2.0
// `mayfly cluster status`: the picture, once or every second.

#pragma once

#include "cli/cluster/watch/picture.h"

namespace mayfly {

struct StatusArgs {
  bool is_watching = false;
  PictureOptions picture;
};

Result<Exit> run_status(const StatusArgs& args, ClusterSession& session);

}  // namespace mayfly
