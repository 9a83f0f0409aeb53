// SPDX-License-Identifier: Apache-2.0
// The parts of a handle: numbers of threads, the gate, the messages, and the clock of a C program.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mayfly/clock.h"

namespace mayfly::internal {

// Numbers that are never given twice in this process. Those of the system are reused when a thread
// has ended; with these a new thread cannot be taken for an old one that left a transaction open.
std::uint64_t new_number() noexcept;

// The number of this thread.
std::uint64_t thread_number() noexcept;

// Gate: every call on a handle passes through it, until the handle is closed.
//
//   line 0   | calls inside |   a cache line each: a call only writes to that of its thread, so
//   line 1   | calls inside |   that threads do not slow each other down
//   ...
//
// close() sleeps until the calls that are inside have left.
class Gate {
 public:
  // Runs `body()`, unless the gate is closed, and returns whether it did. `body` may throw.
  template <class Body>
  bool pass(Body body) {
    const Stay stay(lines_[thread_number() % kLines].inside);
    if (is_closed_.load()) return false;
    body();
    return true;
  }

  // Lets nobody in from now on, and returns when nobody is inside.
  void close() {
    is_closed_.store(true);
    for (Line& line : lines_) {
      for (int inside = line.inside.load(); inside != 0; inside = line.inside.load()) {
        line.inside.wait(inside);
      }
    }
  }

 private:
  static constexpr std::size_t kLines = 16;

  struct alignas(64) Line {
    std::atomic<int> inside{0};
  };

  // The gate may be destroyed as soon as the last call has left: waking needs only its address.
  struct Stay {
    explicit Stay(std::atomic<int>& of) : inside(of) { inside.fetch_add(1); }
    ~Stay() {
      inside.fetch_sub(1);
      inside.notify_all();
    }
    Stay(const Stay&) = delete;

    std::atomic<int>& inside;
  };

  std::array<Line, kLines> lines_;
  std::atomic<bool> is_closed_{false};
};

// Messages: why the last call of a thread on a handle failed, for kvstore_errmsg().
//
// A thread sees its own, so that the call and the question need no lock around them. They are kept
// with the thread, as errno is, and end with it: those of the handles that failed last.
class Messages {
 public:
  // Of this thread. Without memory the old one stays.
  void set(std::string_view text) const noexcept;

  // Of this thread; null if it has none. Valid until the thread sets another, on any handle.
  const char* get() const noexcept;

 private:
  const std::uint64_t handle_ = new_number();
};

// A clock that calls a function of the C program.
class CallbackClock final : public Clock {
 public:
  using NowMs = std::int64_t (*)(void* argument);

  // REQUIRES: `now_ms` may be called by any thread, and does not throw.
  CallbackClock(NowMs now_ms, void* argument)
      : Clock(&CallbackClock::read), now_ms_(now_ms), argument_(argument) {}

 private:
  // Nothing tells when the time of the function jumps, so a sleeper checks this often.
  static constexpr Millis kStepCheck{1000};

  static std::int64_t read(const Clock& clock) noexcept {
    const auto& self = static_cast<const CallbackClock&>(clock);
    return self.now_ms_(self.argument_);
  }
  Millis nap(Millis left) const override { return std::min(left, kStepCheck); }

  const NowMs now_ms_;
  void* const argument_;
};

}  // namespace mayfly::internal
