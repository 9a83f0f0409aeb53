// SPDX-License-Identifier: Apache-2.0
#include "net/timers.h"

#include <vector>

namespace mayfly {

TimerId Timers::set(Time at, std::function<void()> due) {
  const TimerId id = ++last_;
  calls_.emplace(std::pair(at, id), std::move(due));
  moments_.emplace(id, at);
  return id;
}

void Timers::cancel(TimerId id) {
  const auto found = moments_.find(id);
  if (found == moments_.end()) return;
  calls_.erase({found->second, id});
  moments_.erase(found);
}

void Timers::run_due(Time now) {
  std::vector<std::pair<Time, TimerId>> due;
  for (const auto& [key, call] : calls_) {
    if (!is_due(key.first, now)) break;
    due.push_back(key);
  }
  for (const auto& key : due) {
    const auto found = calls_.find(key);
    if (found == calls_.end()) continue;  // cancelled by one that ran before it
    const std::function<void()> call = std::move(found->second);
    calls_.erase(found);
    moments_.erase(key.second);
    call();
  }
}

}  // namespace mayfly
