// SPDX-License-Identifier: Apache-2.0
// How the members of etcd are, for `mayfly cluster status` and `check`.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/register.h"
#include "etcd/etcd_options.h"
#include "etcd/gateway/replies.h"
#include "mayfly/result.h"

namespace mayfly {

struct EtcdEndpointStatus {
  std::string endpoint;
  bool is_named = true;     // by the options; false: only etcd's own list of members has it
  std::size_t members = 0;  // of this etcd, by that list; 0: unknown
  std::string error;        // empty: it has answered, and the rest is known
  std::string name;         // of the member: "etcd-b"; empty if unknown
  std::string version;
  std::uint64_t member = 0;
  std::uint64_t leader = 0;  // the member that leads; 0: it knows of none
  bool is_leader = false;
  std::uint64_t database_bytes = 0;
  std::uint64_t database_bytes_in_use = 0;
  double latency_ms = 0;            // of this question
  std::vector<std::string> alarms;  // "memberID:123 alarm:NOSPACE", "etcdserver: no leader"
};

// Asks all endpoints at once, each by itself, and then the members that the options do not name,
// and waits 2 s at most for each of the two. In the order of the endpoints, then of the members.
// Fails only if nothing can be asked: for a wrong option, or without libcurl.
Result<std::vector<EtcdEndpointStatus>> etcd_status(const EtcdOptions& options);

// The members of the list of which no endpoint is one.
std::vector<EtcdEndpointStatus> unnamed_members(const std::vector<EtcdEndpointStatus>& endpoints,
                                                const std::vector<EtcdMember>& members);

// Without unnamed members that do not answer, as far as there are more endpoints than members: one
// that is named by another address, and is down.
void remove_doubles(std::vector<EtcdEndpointStatus>& endpoints, std::size_t members);

// The records that one member has by itself, without asking the others: of those that answer, the
// newest. There may be newer ones elsewhere, so this is for people only, without a majority.
Result<RegisterSnapshot> read_one_etcd_member(const EtcdOptions& options);

}  // namespace mayfly
