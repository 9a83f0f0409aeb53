// SPDX-License-Identifier: Apache-2.0
#include "store/lmdb/process_mark.h"

#include <pthread.h>

namespace mayfly {

std::atomic<std::uint32_t> ProcessMark::forks{0};

ProcessMark::ProcessMark() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  forks_ = forks.load(std::memory_order_relaxed);
}

Error foreign_error() {
  return {Code::invalid,
          "the store was opened before a fork: it belongs to the parent process (open it again in "
          "the child)"};
}

}  // namespace mayfly
