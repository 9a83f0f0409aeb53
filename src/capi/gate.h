// SPDX-License-Identifier: Apache-2.0
// Gate: through which every call on a handle goes, until the handle is closed.
//
//   line 0   | calls inside |   a cache line each: a call only writes to that of its thread, so
//   line 1   | calls inside |   that threads do not slow each other down
//   ...
//
// Who closes the gate sleeps until the calls that are inside have left.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "capi/thread_number.h"

namespace mayfly {

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

  // The gate may be gone as soon as the last call has left: to wake who waits needs its address
  // only.
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

}  // namespace mayfly
