// SPDX-License-Identifier: Apache-2.0
// Locking directories.

#include "server/persistence/data_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace mayfly {

std::string DataDirectory::owner() const {
  const std::int64_t port = context_.host.port();
  if (port > 0) return fmt::format("process {}, port {}", getpid(), port);
  return fmt::format("process {}, socket {}", getpid(), context_.config.unixsocket);
}

Result<std::unique_ptr<DirectoryLock>> DataDirectory::lock(const std::string& directory,
                                                           std::string_view settings) {
  Result<std::unique_ptr<DirectoryLock>> lock = context_.host.disk().lock(directory, owner());
  if (lock) return lock;
  const Error& error = lock.error();
  if (error.code == Code::busy) {
    return Error{Code::busy, fmt::format("{} (stop that server, or choose another folder: {})",
                                         error.message, settings)};
  }
  context_.log.warning(
      "Cannot lock the folder '{}' against other servers: {}. Nothing can be saved there until "
      "this "
      "is fixed",
      directory, error.message);
  return std::unique_ptr<DirectoryLock>();
}

Status DataDirectory::take() {
  if (lock_) return Done{};
  Result<std::unique_ptr<DirectoryLock>> taken = lock(context_.config.dir, "--dir");
  if (!taken) return taken.error();
  lock_ = std::move(*taken);
  return Done{};
}

void DataDirectory::renew_owner() {
  if (lock_) lock_->set_owner(owner());
}

Status DataDirectory::prepare_move(const std::string& next) {
  cancel_move();
  if (next == context_.config.dir) return Done{};
  Result<std::unique_ptr<DirectoryLock>> taken = lock(next, "dir");
  if (!taken) return taken.error();
  next_lock_ = std::move(*taken);
  is_moving_ = true;
  return Done{};
}

void DataDirectory::cancel_move() {
  next_lock_.reset();
  is_moving_ = false;
}

bool DataDirectory::finish_move() {
  if (!std::exchange(is_moving_, false)) return false;
  if (lock_) former_locks_.push_back(std::move(lock_));
  lock_ = std::move(next_lock_);
  return true;
}

void DataDirectory::remove_temporary_files() {
  const Config& config = context_.config;
  const std::int64_t port = context_.host.port();
  for (const std::string& name :
       {fmt::format("temp-{}-{}", port, config.dbfilename),
        fmt::format("temp-primary-{}.rdb", port), fmt::format("sync-{}.rdb", port),
        fmt::format("temp-sync-{}.rdb", port)}) {
    (void)context_.host.disk().remove(config.dir + "/" + name);
  }
}

}  // namespace mayfly
