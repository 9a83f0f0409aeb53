// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_sync.h"

#include <cassert>
#include <utility>

namespace mayfly {

BackgroundSync::~BackgroundSync() {
  // A running sync is finished first; then the thread stops.
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void BackgroundSync::start(DiskFile& file, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  assert(file_ == nullptr);
  file_ = &file;
  offset_ = offset;
  changed_.notify_all();
  if (thread_.joinable()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

bool BackgroundSync::is_busy() const {
  const std::lock_guard lock(mutex_);
  return file_ != nullptr;
}

void BackgroundSync::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return file_ == nullptr; });
}

std::uint64_t BackgroundSync::synced() const {
  const std::lock_guard lock(mutex_);
  return synced_;
}

std::optional<Error> BackgroundSync::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, std::nullopt);
}

void BackgroundSync::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return file_ != nullptr; })) {
    DiskFile& file = *file_;
    lock.unlock();
    const Status status = file.sync();
    lock.lock();
    if (status) synced_ = offset_;
    error_ = status ? std::nullopt : std::optional(status.error());
    file_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace mayfly
