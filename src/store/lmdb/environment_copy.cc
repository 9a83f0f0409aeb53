// SPDX-License-Identifier: Apache-2.0
// Copies of the file: for a backup, and to put a smaller one in its place.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

constexpr mode_t kCopyMode = 0644;

// Writes a compact copy of the environment into a file, and syncs it. `path` is for messages.
Status fill_copy(MDB_env* env, int file, const std::string& path) {
  const std::string doing = "write " + path;
  const int code = ::mdb_env_copyfd2(env, file, MDB_CP_COMPACT);
  if (code != 0) return lmdb_error(code, doing);
  if (::fsync(file) != 0) return system_error(errno, doing);
  return Done{};
}

// The same into a new file, which is gone again if that fails.
Status write_copy(MDB_env* env, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kCopyMode);
  if (file < 0) {
    if (errno == EEXIST) return Error{Code::invalid, path + " already exists"};
    return system_error(errno, "write " + path);
  }
  const Status filled = fill_copy(env, file, path);
  ::close(file);
  if (!filled) ::unlink(path.c_str());
  return filled;
}

// Unlike a rename, a link does not replace a file that was created there meanwhile.
Status give_name(const std::string& file, const std::string& path) {
  if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return Done{};
  }
  return system_error(errno, "name the copy " + path);
}

// For file systems that have no files without a name.
Status copy_by_part(MDB_env* env, const std::string& path) {
  const std::string part = path + ".part";
  if (const Status copied = write_copy(env, part); !copied) return copied;
  const Status named = give_name(part, path);
  ::unlink(part.c_str());
  return named;
}

// The copy gets its name when it is whole. Until then it has none, so that nothing is left of one
// that was interrupted.
Status copy_whole(MDB_env* env, const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder.push_back('.');
  const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kCopyMode);
  if (file < 0) return copy_by_part(env, path);
  Status done = fill_copy(env, file, path);
  if (done) done = give_name("/proc/self/fd/" + std::to_string(file), path);
  ::close(file);
  return done;
}

}  // namespace

Status Environment::copy_to(const std::string& path) {
  if (is_foreign()) return foreign_error();
  if (std::filesystem::exists(path)) return Error{Code::invalid, path + " already exists"};
  enter();
  const Status copied = copy_whole(env_, path);
  leave();
  return copied ? sync_directory_of(path) : copied;
}

Status Environment::sync() {
  if (is_foreign()) return foreign_error();
  if (guard_ == nullptr)
    return Error{Code::denied, "cannot write to " + path_ + ": it is read-only"};
  enter();
  const Status synced = guard_->sync();
  leave();
  return synced;
}

// With the write lock held and no transaction open, the file is replaced while it is closed to
// LMDB.
Status Environment::compact() {
  if (is_foreign()) return foreign_error();
  if (!writable()) return Error{Code::denied, "cannot write to " + path_ + ": it is read-only"};
  if (const Status locked = lock_write(options_.busy_timeout); !locked) return locked;
  Status done = Done{};
  {
    const std::scoped_lock shut(gate_);
    closed_.store(true);
    if (active_.load() != 0) {
      done = Error{Code::busy,
                   "cannot compact the store: transactions or cursors are open (close them)"};
    } else if (!session_->try_alone()) {
      done = Error{Code::busy, "cannot compact the store: another process has it open"};
    } else {
      done = replace_file(path_ + ".compact");
      session_->let_others_in();
    }
    closed_.store(false);
  }
  session_->unlock();
  return done;
}

Status Environment::replace_file(const std::string& with) {
  ::unlink(with.c_str());  // of a compaction that was killed
  if (const Status synced = guard_->sync(); !synced) return synced;
  if (const Status copied = write_copy(env_, with); !copied) return copied;
  drop_pool();
  Status closed = guard_->close(true);
  guard_.reset();
  guarded_ = false;
  ::mdb_env_close(env_);
  env_ = nullptr;
  for (auto& table : tables_) table.store(0);
  {
    const std::scoped_lock lock(mutex_);
    catalog_ = {};
  }
  if (closed && std::rename(with.c_str(), path_.c_str()) != 0) {
    closed = system_error(errno, "put the compacted file in place");
  }
  if (closed) closed = sync_directory_of(path_);
  if (!closed) ::unlink(with.c_str());
  if (const Status started = start_lmdb(); !started) return started;
  // The catalog is read, and the tables opened, by the first transaction.
  return closed;
}

}  // namespace mayfly::internal
