// SPDX-License-Identifier: Apache-2.0
// What is wrong with a cluster, as far as its records tell, and what to do about it. Used by
// `mayfly cluster status` and `check`.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/plan/cluster_view.h"

namespace mayfly {

// info: nobody needs to act. risk: the next failure may cost something. fault: something is not
// served, or a record is wrong.
enum class Severity { info, risk, fault };

struct ClusterProblem {
  Severity severity = Severity::fault;
  std::string what;    // "slots 0-99 belong to no shard"
  std::string advice;  // what to do; empty if nothing
};

// The worst first.
std::vector<ClusterProblem> find_problems(const ClusterView& view);

std::string_view name_of(Severity severity);

// "10.0.0.1:6379", or the beginning of the id if there is no record of the node.
std::string node_label(const ClusterView& view, std::string_view id);

}  // namespace mayfly
