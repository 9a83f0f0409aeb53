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

// Brings a copy to the state of the snapshot, which was taken before the copy was made: what the
// copy lacks is in its tables. The copy names no log, and is a store of its own.
Status complete_copy(MDB_env* copy, const Snapshot& snapshot) {
  auto tree = TreeTxn::begin_in_copy(copy);
  if (!tree) return tree.error();
  TreeState state = (*tree)->state();
  Window window = snapshot.window;
  if (!window.empty() && state.applied.position < window.tail()) {
    WriteCounts unused;
    window.move_to(state.applied.position, window.tail());
    if (Status written = write_to_tree(**tree, window, unused); !written) return written;
    state.applied.position = window.tail();
  }
  state.store = UniqueId::random();
  state.log = UniqueId();
  (*tree)->set_state(state);
  (*tree)->change_catalog();
  return (*tree)->commit();
}

// Opens the copy in a file, by whatever name, completes it, and syncs it.
Status finish_copy(const std::string& name, const Snapshot& snapshot, std::uint64_t map_bytes) {
  MDB_env* copy = nullptr;
  int code = ::mdb_env_create(&copy);
  if (code == 0) code = ::mdb_env_set_maxdbs(copy, kTablesMax);
  if (code == 0) code = ::mdb_env_set_mapsize(copy, map_bytes);
  if (code == 0)
    code = ::mdb_env_open(copy, name.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS, 0);
  const Status done =
      code == 0 ? complete_copy(copy, snapshot) : Status(lmdb_error(code, "complete the copy"));
  ::mdb_env_close(copy);
  return done;
}

// For file systems that have no files without a name.
Status copy_by_part(MDB_env* env, const std::string& path, const Snapshot& snapshot,
                    std::uint64_t map_bytes) {
  const std::string part = path + ".part";
  Status done = write_copy(env, part);
  if (!done) return done;
  done = finish_copy(part, snapshot, map_bytes);
  if (done) done = give_name(part, path);
  ::unlink(part.c_str());
  return done;
}

// The copy gets its name when it is whole. Until then it has none, so that nothing is left of one
// that was interrupted.
Status copy_whole(MDB_env* env, const std::string& path, const Snapshot& snapshot,
                  std::uint64_t map_bytes) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder.push_back('.');
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kCopyMode);
  if (file < 0) return copy_by_part(env, path, snapshot, map_bytes);
  const std::string name = "/proc/self/fd/" + std::to_string(file);
  Status done = fill_copy(env, file, path);
  if (done) done = finish_copy(name, snapshot, map_bytes);
  if (done) done = give_name(name, path);
  ::close(file);
  return done;
}

}  // namespace

Status Environment::copy_to(const std::string& path) {
  if (is_foreign()) return foreign_error();
  if (std::filesystem::exists(path)) return Error{Code::invalid, path + " already exists"};
  auto snapshot = begin_read();
  if (!snapshot) return snapshot.error();
  ::mdb_txn_reset((*snapshot)->txn);  // its tables are all that is needed
  const Status copied = copy_whole(env_, path, **snapshot, info().me_mapsize);
  end_read(std::move(*snapshot));
  return copied ? sync_directory_of(path) : copied;
}

Status Environment::sync() {
  if (is_foreign()) return foreign_error();
  if (!writable()) return read_only_error();
  return log_->sync();
}

// With the write lock held and no transaction open, the file is replaced while it is closed to
// LMDB.
Status Environment::compact(Time now) {
  if (is_foreign()) return foreign_error();
  if (!writable()) return read_only_error();
  log_->stop_thread();
  if (!session_->try_alone(options_.busy_timeout)) {
    log_->allow_thread();
    return Error{Code::busy,
                 "cannot compact the store: another process has it open (close it there; "
                 "backup makes a compact copy meanwhile)"};
  }
  auto snapshot = begin_write(options_.busy_timeout);
  Status done = snapshot ? log_->finish((*snapshot)->state, now) : Status(snapshot.error());
  if (snapshot) {
    discard(std::move(*snapshot));
    if (done) done = replace_file(path_ + ".compact");
    unlock_write(nullptr);
  }
  session_->let_others_in();
  log_->allow_thread();
  return done;
}

Status Environment::replace_file(const std::string& with) {
  const std::scoped_lock shut(gate_);
  closed_.store(true);
  Status done = Done{};
  if (active_.load() != 0) {
    done = Error{Code::busy,
                 "cannot compact the store: transactions or cursors are open (close them)"};
  } else {
    ::unlink(with.c_str());  // of a compaction that was killed
    done = write_copy(env_, with);
    if (done) done = exchange_file(with);
  }
  closed_.store(false);
  return done;
}

// The catalog is read, and the tables opened, by the next transaction.
Status Environment::exchange_file(const std::string& with) {
  stop_lmdb();
  log_->forget_files();
  for (auto& table : tables_) table.store(0);
  catalog_ = {};
  Status done = Done{};
  if (std::rename(with.c_str(), path_.c_str()) != 0) {
    done = system_error(errno, "put the compacted file in place");
    ::unlink(with.c_str());
  }
  if (done) done = sync_directory_of(path_);
  if (const Status started = start_lmdb(); !started) return started;
  return done;
}

}  // namespace mayfly::internal
