// SPDX-License-Identifier: Apache-2.0
// Directories that belong to one server, and files that are kept aside.

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "server/core/server.h"
#include "server/persistence/persistence.h"

namespace mayfly {

std::string unused_name(const Disk& disk, const std::string& path) {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("{}.unsupported-{}", path, number);
    if (!disk.exists(name)) return name;
  }
}

// ---- Directories ----

std::string Persistence::owner() const {
  const std::int64_t port = server_.surroundings().port();
  const std::string& socket = server_.config().unixsocket;
  if (port == 0) return fmt::format("process {}, socket {}", getpid(), socket);
  return fmt::format("process {}, port {}", getpid(), port);
}

Result<std::unique_ptr<DirectoryLock>> Persistence::lock(const std::string& directory,
                                                         std::string_view settings) {
  Result<std::unique_ptr<DirectoryLock>> lock =
      server_.surroundings().disk().lock(directory, owner());
  if (lock) return lock;
  const Error& error = lock.error();
  if (error.code == Code::busy) {
    return Error{Code::busy, fmt::format("{} (stop that server, or choose another folder: {})",
                                         error.message, settings)};
  }
  server_.log().write(
      Level::warning,
      fmt::format("The folder '{}' is not locked against other servers: {}. Until that is mended, "
                  "nothing can be saved there",
                  directory, error.message));
  return std::unique_ptr<DirectoryLock>();
}

Status Persistence::take_directory() {
  if (directory_lock_) return Done{};
  Result<std::unique_ptr<DirectoryLock>> taken = lock(server_.config().dir, "--dir");
  if (!taken) return taken.error();
  directory_lock_ = std::move(*taken);
  return Done{};
}

void Persistence::renew_owner() {
  if (directory_lock_) directory_lock_->set_owner(owner());
}

// ---- Changes of the configuration ----

void Persistence::cancel_config() {
  next_lock_.reset();
  is_moving_ = false;
  aof_.cancel_begin();
}

Status Persistence::prepare_config(const Config& next) {
  next_lock_.reset();
  const Config& config = server_.config();
  if (next.appendonly && !config.appendonly && !aof_.is_on()) {
    if (Status status = aof_.check_can_begin(AofKeeper::options_of(next)); !status) {
      return Error{status.error().code,
                   fmt::format("the append-only file cannot be begun: {}", status.error().message)};
    }
  }
  if (next.dir == config.dir) return Done{};
  Result<std::unique_ptr<DirectoryLock>> taken = lock(next.dir, "dir");
  if (!taken) {
    cancel_config();
    return taken.error();
  }
  next_lock_ = std::move(*taken);
  is_moving_ = true;
  return Done{};
}

void Persistence::directory_changed() {
  // A child that writes where we were needs the lock until it has ended.
  if (directory_lock_) former_locks_.push_back(std::move(directory_lock_));
  directory_lock_ = std::move(next_lock_);
  if (aof_.is_on()) {
    server_.log().write(Level::warning,
                        fmt::format("dir is '{}' now. The append-only file stays in '{}' until it "
                                    "is switched off and on",
                                    server_.config().dir, aof_.log()->options().directory));
  }
}

// ---- Files with keys that cannot be held ----

Status Persistence::keep_snapshot_aside() {
  const std::string path = snapshots_.path();
  if (partly_loaded_ != path) return Done{};
  Disk& disk = server_.surroundings().disk();
  if (!disk.exists(path)) return Done{};
  const std::string name = unused_name(disk, path);
  if (Status status = disk.link(path, name); !status) return status;
  if (Status status = disk.sync_directory(server_.config().dir); !status) return status;
  partly_loaded_.clear();
  server_.log().write(
      Level::notice,
      fmt::format("The file with keys that are not held here is kept as '{}'", name));
  return Done{};
}

Status Persistence::check_skipped(const std::map<std::string, std::uint64_t>& skipped,
                                  const std::string& file) {
  if (skipped.empty()) return Done{};
  std::string counts;  // "3 of type list, 1 of type set"
  for (const auto& [type, count] : skipped) {
    counts += fmt::format("{}{} of type {}", counts.empty() ? "" : ", ", count, type);
  }
  const std::string what = fmt::format("{} has keys that cannot be held here: {}", file, counts);
  if (!server_.config().drop_unsupported) {
    return Error{Code::unsupported,
                 what +
                     " (to leave them out: --drop-unsupported, or CONFIG SET drop-unsupported "
                     "yes)"};
  }
  server_.log().write(Level::warning, what + ". They are left out (drop-unsupported)");
  return Done{};
}

}  // namespace mayfly
