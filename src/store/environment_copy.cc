// SPDX-License-Identifier: Apache-2.0
// Copies of the file: for a backup, and to put a smaller one in its place.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "store/environment.h"
#include "store/lmdb.h"

namespace mayfly {
namespace {

constexpr mode_t kFileMode = 0644;

// Writes a compact copy of the environment into a file that must not exist, and syncs it.
Status write_copy(MDB_env* env, const std::string& path) {
  std::string doing = "write ";
  doing += path;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (file < 0) {
    if (errno == EEXIST) return Error{Code::invalid, path + " exists already"};
    return system_error(errno, doing);
  }
  const int code = ::mdb_env_copyfd2(env, file, MDB_CP_COMPACT);
  const int synced = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (code == 0 && synced == 0) return Done{};
  ::unlink(path.c_str());
  return code != 0 ? lmdb_error(code, doing) : system_error(synced, doing);
}

}  // namespace

// The copy gets its name when it is whole.
Status Environment::copy_to(const std::string& path) {
  if (std::filesystem::exists(path)) return Error{Code::invalid, path + " exists already"};
  const std::string part = path + ".part";
  enter();
  const Status copied = write_copy(env_, part);
  leave();
  if (!copied) return copied;
  // Unlike a rename, a link does not replace what somebody else has put there meanwhile.
  const bool named = ::link(part.c_str(), path.c_str()) == 0;
  const int number = errno;
  ::unlink(part.c_str());
  if (!named) return system_error(number, "name the copy " + path);
  return sync_directory_of(path);
}

Status Environment::sync() {
  if (guard_ == nullptr) return Error{Code::denied, path_ + " can only be read"};
  enter();
  const Status synced = guard_->sync();
  leave();
  return synced;
}

// With the write lock held and nobody inside, the file is exchanged while the store is closed to
// LMDB.
Status Environment::compact() {
  if (!writable()) return Error{Code::denied, path_ + " can only be read"};
  if (const Status locked = session_->lock(options_.busy_timeout); !locked) return locked;
  Status done = Done{};
  {
    const std::scoped_lock shut(gate_);
    closed_.store(true);
    if (active_.load() != 0) {
      done =
          Error{Code::busy, "the store cannot be compacted while transactions or cursors are open"};
    } else if (!session_->try_alone()) {
      done = Error{Code::busy, "the store cannot be compacted while another process has it open"};
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

}  // namespace mayfly
