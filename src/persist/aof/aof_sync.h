// SPDX-License-Identifier: Apache-2.0
// BackgroundSync: a thread that syncs a file while its owner goes on writing to it.
//
//   if (!sync.is_busy()) sync.start(file, offset);
//   ...
//   if (sync.synced() >= offset) ...               // it is safe
//
// One sync at a time. The owner polls; there is no callback. The thread starts with the
// first start(): without background syncs there is no thread.
//
// Threads: one owner. After fork() the child has no such thread: it must neither use nor destroy
// its copy, but leave by _exit().

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "mayfly/result.h"
#include "persist/disk/disk.h"

namespace mayfly {

class BackgroundSync {
 public:
  BackgroundSync() = default;
  ~BackgroundSync();  // waits for the sync under way
  BackgroundSync(const BackgroundSync&) = delete;
  BackgroundSync& operator=(const BackgroundSync&) = delete;

  // Syncs `file`, after which the log is safe up to `offset`. The file must stay until wait() or
  // is_busy() tells that it is done. REQUIRES: !is_busy().
  void start(DiskFile& file, std::uint64_t offset);

  bool is_busy() const;
  void wait();  // until !is_busy()

  // The offset of the last sync that succeeded.
  std::uint64_t synced() const;

  // The error of the last sync, once; nothing if it succeeded or was reported before.
  std::optional<Error> take_error();

 private:
  void work(const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;  // of what follows, all guarded by mutex_
  DiskFile* file_ = nullptr;             // being synced; null when idle
  std::uint64_t offset_ = 0;
  std::uint64_t synced_ = 0;
  std::optional<Error> error_;

  std::jthread thread_;  // last: it uses all the others
};

}  // namespace mayfly
