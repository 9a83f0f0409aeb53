// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_meter.h"

#include <algorithm>
#include <span>

namespace mayfly {

void EtcdMeter::add_answer(double latency_ms) {
  const std::lock_guard lock(mutex_);
  stats_.is_connected = true;
  latencies_ms_[answers_++ % kLatencies] = latency_ms;
}

void EtcdMeter::add_failure(const std::string& error) {
  const std::lock_guard lock(mutex_);
  stats_.is_connected = false;
  stats_.error = error;
}

void EtcdMeter::set_refused(const std::string& why, bool is_for_good) {
  const std::lock_guard lock(mutex_);
  stats_.refused = why;
  stats_.is_refused_for_good = is_for_good;
}

void EtcdMeter::add_unknown() {
  const std::lock_guard lock(mutex_);
  ++stats_.unknown;
}

void EtcdMeter::add_watch_restart() {
  const std::lock_guard lock(mutex_);
  ++stats_.watch_restarts;
}

RegisterStats EtcdMeter::stats() const {
  const std::lock_guard lock(mutex_);
  RegisterStats stats = stats_;
  const std::size_t count = std::min(answers_, kLatencies);
  if (count == 0) return stats;
  std::array<double, kLatencies> sorted = latencies_ms_;
  std::ranges::sort(std::span(sorted).first(count));
  stats.latency_ms_p50 = sorted[count / 2];
  stats.latency_ms_p99 = sorted[count * 99 / 100];
  return stats;
}

}  // namespace mayfly
