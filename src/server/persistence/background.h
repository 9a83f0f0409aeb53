// SPDX-License-Identifier: Apache-2.0
// Background: the one child that a server may have at a time, for saving, rewriting, synchronising
// a replica or moving slots. Two would copy twice the memory and compete for the disk.
//
//   background.start(Job::save, work, [](const Status& status, const ChildProgress& at_end) {...});
//   background.poll();       // in every turn; calls the callback when the child has ended

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "mayfly/time.h"
#include "server/core/server_host.h"
#include "server/persistence/child.h"

namespace mayfly {

class Latency;

enum class Job { save, rewrite, sync, move };

class Background {
 public:
  using Ended = std::function<void(const Status&, const ChildProgress&)>;

  Background(const ServerContext& context, Latency& latency)
      : context_(context), latency_(latency) {}

  // The child keeps these descriptors open, and no others. REQUIRES: !is_busy().
  Status start(Job job, Time now, const ChildWork& work, Ended ended,
               const std::vector<int>& kept = {});

  bool is_busy() const { return child_ != nullptr; }
  bool is_doing(Job job) const { return is_busy() && job_ == job; }
  ChildProgress progress() const { return child_ ? child_->progress() : ChildProgress{}; }
  Time since() const { return since_; }  // REQUIRES: is_busy()
  int pid() const { return child_ ? child_->pid() : -1; }
  std::int64_t fork_micros() const { return fork_micros_; }  // of the last one
  std::uint64_t forks() const { return forks_; }

  // Checks whether the child has ended.
  void poll();

  // Kills the child; the callback gets an error.
  void stop();

 private:
  const ServerContext context_;
  Latency& latency_;
  std::unique_ptr<Child> child_;
  Job job_ = Job::save;
  Ended ended_;
  Time since_{};
  std::int64_t fork_micros_ = 0;
  std::uint64_t forks_ = 0;
};

}  // namespace mayfly
