// SPDX-License-Identifier: Apache-2.0
// Background: the one child a server may have at a time, for saving, rewriting or synchronising a
// replica. Two would copy twice the memory and fight for the disk.
//
//   background.start(Job::save, work, [](const Status& status, const ChildProgress& at_end) {...});
//   background.poll();       // in every turn; calls what was given when the child has ended

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "server/persistence/child.h"

namespace mayfly {

enum class Job { save, rewrite, sync };

// Makes children: a process, or in tests something that can be looked into.
using StartChild =
    std::function<Result<std::unique_ptr<Child>>(const ChildWork&, const std::vector<int>& kept)>;

class Background {
 public:
  using Ended = std::function<void(const Status&, const ChildProgress&)>;

  explicit Background(StartChild start) : start_(std::move(start)) {}

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

  // Looks whether it has ended.
  void poll();

  // Ends it; `ended` hears of an error.
  void stop();

 private:
  StartChild start_;
  std::unique_ptr<Child> child_;
  Job job_ = Job::save;
  Ended ended_;
  Time since_{};
  std::int64_t fork_micros_ = 0;
  std::uint64_t forks_ = 0;
};

}  // namespace mayfly
