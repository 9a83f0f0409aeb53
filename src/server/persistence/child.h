// SPDX-License-Identifier: Apache-2.0
// Child: work in a process of its own, on a snapshot of our memory. Saving and rewriting run there,
// so that clients are served meanwhile.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "mayfly/result.h"

namespace mayfly {

struct ChildProgress {
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  std::uint64_t copied_bytes = 0;  // pages that had to be copied since the fork
};

using OnChildProgress = std::function<void(const ChildProgress&)>;

// What the child does. It has only the descriptors it was given, and a copy of all memory. Changes
// are lost, except to files.
using ChildWork = std::function<Status(const OnChildProgress&)>;

class Child {
 public:
  virtual ~Child() = default;  // kills it if it still runs

  virtual bool is_running() = 0;
  virtual Status result() const = 0;  // REQUIRES: !is_running()
  virtual ChildProgress progress() const = 0;
  virtual void stop() = 0;  // at once; its result is an error then
  virtual int pid() const = 0;
};

// Sleeps after `keys` keys, for the directives that make saving and loading slow in tests:
// microseconds a key, or, if negative, one for so many keys.
void delay_keys(std::int64_t delay, std::uint64_t keys);

// Forks. The child keeps the descriptors `kept` only: others would keep connections alive and ports
// taken. It shares a page of memory with us, for its progress and its result.
Result<std::unique_ptr<Child>> fork_child(const ChildWork& work, std::vector<int> kept);

}  // namespace mayfly
