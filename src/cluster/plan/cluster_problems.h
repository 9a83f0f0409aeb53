// SPDX-License-Identifier: Apache-2.0
// The problems of a cluster that its records show, with advice. Used by
// `mayfly cluster status` and `check`.

#pragma once

#include <map>
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
  std::string what;        // "slots 0-99 belong to no shard"
  std::string advice;      // what to do; empty if nothing
  bool is_detail = false;  // `check` shows it; `status` does not, as it has the fact elsewhere
};

// The outcome of a question to a node. A record in etcd outlives its process by some seconds.
enum class NodeAnswer {
  unknown,  // it was not asked
  answers,
  refuses,  // no process listens there
  silent,   // no answer: stopped, overloaded, or cut off from here
  hidden,   // no answer here, but another node has just heard of it
  locked,   // it wants a password, or another one
  closed,   // protected mode: it takes no connection from here
  full,     // it has as many clients as maxclients allows
  busy,     // a script or a function runs there, and it does nothing else
  broken,   // an error, or another server at its address
};
using NodeAnswers = std::map<std::string, NodeAnswer, std::less<>>;  // by id

// Facts that the records do not have.
struct ProblemContext {
  NodeAnswers answers{};     // of nodes that were asked
  Time now{};                // Time{}: it does not matter for how long something has been so
  bool has_register = true;  // false: etcd takes no changes, and no replica takes over
};

// The worst first.
std::vector<ClusterProblem> find_problems(const ClusterView& view, ProblemContext context = {});

std::string_view name_of(Severity severity);

// "10.0.0.1:6379", or the beginning of the id if there is no record of the node.
std::string node_label(const ClusterView& view, std::string_view id);

}  // namespace mayfly
