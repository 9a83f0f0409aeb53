// SPDX-License-Identifier: Apache-2.0
// The records of a cluster in etcd, for commands.

#pragma once

#include <memory>

#include "cli/cluster/session/cluster_session.h"
#include "etcd/etcd_options.h"

namespace mayfly {

// Code::unsupported if this program was built without the client of etcd.
Result<std::unique_ptr<ClusterRecords>> open_etcd_records(const EtcdOptions& options);

// "http://a:2379,http://b:2379" as a list; the same error.
Result<std::vector<std::string>> read_etcd_endpoints(std::string_view list);

}  // namespace mayfly
