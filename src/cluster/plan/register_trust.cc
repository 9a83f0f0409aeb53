// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan/register_trust.h"

#include <algorithm>
#include <utility>

namespace mayfly {
namespace {

constexpr const char* kAdvice =
    " (if it was restored from a snapshot: stop all nodes, mayfly cluster accept, start them)";

}  // namespace

void RegisterTrust::trust(const RegisterPoint& point) {
  if (is_final_) return;
  seen_ = point;
  problem_.clear();
}

void RegisterTrust::distrust(std::string why) {
  if (is_final_) return;
  problem_ = std::move(why);
  is_final_ = true;
}

Status RegisterTrust::check(const RegisterPoint& answer, std::uint64_t floor) {
  if (is_final_) return Error{Code::io, problem_};
  if (seen_.id != 0 && answer.id != 0 && answer.id != seen_.id) {
    problem_ = other_register_text(answer, seen_);
    return Error{Code::io, problem_};
  }
  if (answer.version == 0) return Done{};
  if (seen_.id != 0 && answer.version < floor) {
    distrust(older_register_text(answer, floor));
    return Error{Code::io, problem_};
  }
  problem_.clear();
  seen_.version = std::max(seen_.version, answer.version);
  return Done{};
}

void RegisterTrust::saw(std::uint64_t version) {
  if (problem_.empty()) seen_.version = std::max(seen_.version, version);
}

std::string other_register_text(const RegisterPoint& answer, const RegisterPoint& known) {
  return "etcd is not usable: its cluster id is " + std::to_string(answer.id) +
         ", but this node belongs to the etcd with id " + std::to_string(known.id) +
         ": check cluster-etcd" + kAdvice;
}

std::string older_shard_text(const std::string& shard, std::uint64_t epoch, std::uint64_t known) {
  return "etcd is not usable: its record of shard " + shard + " has epoch " +
         std::to_string(epoch) + ", but had " + std::to_string(known) +
         " before, or names another primary for it" + kAdvice;
}

std::string older_register_text(const RegisterPoint& answer, std::uint64_t known) {
  return "etcd is not usable: it has revision " + std::to_string(answer.version) + ", but had " +
         std::to_string(known) + " before" + kAdvice;
}

}  // namespace mayfly
