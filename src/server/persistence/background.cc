// SPDX-License-Identifier: Apache-2.0
// One child at a time.

#include "server/persistence/background.h"

#include <cassert>
#include <utility>

#include "mayfly/internal/stopwatch.h"
#include "server/monitoring/latency.h"

namespace mayfly {
namespace {

// The same work, with a pause after each key (rdb-key-save-delay).
ChildWork slowed(const ChildWork& work, std::int64_t delay) {
  return [work, delay](const OnChildProgress& report) {
    std::uint64_t keys = 0;
    return work([&](const ChildProgress& progress) {
      report(progress);
      delay_keys(delay, progress.keys - std::exchange(keys, progress.keys));
    });
  };
}

}  // namespace

Status Background::start(Job job, Time now, const ChildWork& work, Ended ended,
                         const std::vector<int>& kept) {
  assert(!is_busy());
  const std::int64_t begin = monotonic_ns();
  const std::int64_t delay = context_.config.rdb_key_save_delay;
  Result<std::unique_ptr<Child>> child =
      context_.host.start_child(delay == 0 ? work : slowed(work, delay), kept);
  fork_micros_ = (monotonic_ns() - begin) / 1000;
  ++forks_;
  if (!child) return child.error();
  child_ = std::move(*child);
  job_ = job;
  since_ = now;
  ended_ = std::move(ended);
  latency_.add("fork", fork_micros_ / 1000, context_.config.latency_monitor_threshold, now);
  return Done{};
}

void Background::poll() {
  if (child_ == nullptr || child_->is_running()) return;
  // The callback may start the next child.
  const std::unique_ptr<Child> child = std::exchange(child_, nullptr);
  const Ended ended = std::exchange(ended_, nullptr);
  ended(child->result(), child->progress());
}

void Background::stop() {
  if (child_ == nullptr) return;
  child_->stop();
  poll();
}

}  // namespace mayfly
