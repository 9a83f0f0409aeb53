// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan/recovery.h"

#include <algorithm>
#include <set>

namespace mayfly {

DataEnd data_of(const LiveRecord& live) {
  const bool is_settled = live.held > 0 && live.settled > 0;
  return {std::max(live.epoch, live.held), is_settled ? live.end : live.offset};
}

RecoveryChoice choose_recovery(const ShardRecord& record, std::uint64_t version,
                               const LiveProcesses& lives) {
  std::set<std::string> named{record.primary.node};
  for (const NodeMemory& memory : record.insync) named.insert(memory.node);
  RecoveryChoice choice;
  for (const std::string& node : named) {
    const auto live = lives.find(node);
    if (live == lives.end()) return {};
    const bool is_first = choice.best.empty();
    if (is_first || data_of(live->second) > data_of(lives.at(choice.best))) choice.best = node;
  }
  const DataEnd best = data_of(lives.at(choice.best));
  std::pair<bool, DataEnd> most;
  for (const auto& [node, live] : lives) {
    const bool is_lost = best.first < record.epoch && live.held > 0;
    const bool has_more = node != choice.best && (is_lost || data_of(live) > best);
    const bool is_asked = live.held > 0 && live.settled < version;
    if (!has_more && !is_asked) continue;
    const auto rank = std::pair(has_more, data_of(live));
    if (!choice.holder.empty() && rank <= most) continue;
    most = rank;
    choice.holder = node;
    choice.is_asked = !has_more;
  }
  return choice;
}

}  // namespace mayfly
