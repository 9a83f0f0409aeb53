// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan/recovery.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>

namespace mayfly {
namespace {

auto loaded(const LiveRecord& live) { return std::tuple(live.epoch, live.offset); }

auto rank(const LiveRecord& live) {
  return std::tuple(std::max(live.epoch, live.held), live.offset);
}

}  // namespace

RecoveryChoice choose_recovery(const ShardRecord& record, const LiveProcesses& lives) {
  std::set<std::string> named{record.primary.node};
  for (const NodeMemory& memory : record.insync) named.insert(memory.node);
  RecoveryChoice choice;
  for (const std::string& node : named) {
    const auto live = lives.find(node);
    if (live == lives.end()) return {};
    if (choice.best.empty() || rank(live->second) > rank(lives.at(choice.best))) choice.best = node;
  }
  const LiveRecord& best = lives.at(choice.best);
  if (best.epoch >= record.epoch) return choice;
  for (const auto& [node, live] : lives) {
    if (node == choice.best || (live.held == 0 && loaded(live) <= loaded(best))) continue;
    if (choice.holder.empty() || rank(live) > rank(lives.at(choice.holder))) choice.holder = node;
  }
  return choice;
}

}  // namespace mayfly
