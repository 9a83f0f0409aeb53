// SPDX-License-Identifier: Apache-2.0
// EtcdMeter: what a register of etcd tells of itself. Written by its thread, read by its owner.

#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <string>

#include "cluster/register.h"

namespace mayfly {

class EtcdMeter {
 public:
  void add_answer(double latency_ms);
  void add_failure(const std::string& error);
  void set_refused(const std::string& why, bool is_for_good);
  void add_unknown();
  void add_watch_restart();

  RegisterStats stats() const;

 private:
  static constexpr std::size_t kLatencies = 256;  // the last ones

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  RegisterStats stats_;
  std::array<double, kLatencies> latencies_ms_{};
  std::size_t answers_ = 0;
};

}  // namespace mayfly
