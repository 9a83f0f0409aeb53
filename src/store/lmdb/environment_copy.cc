// SPDX-License-Identifier: Apache-2.0
// Copies of the file: for a backup, and to put a smaller one in its place.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string>
#include <utility>

#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"
#include "store/lmdb/store_files.h"

namespace mayfly::internal {
namespace {

constexpr mode_t kCopyMode = 0600;  // until it gets the mode of the store

// Removes a file when it is left, in whichever way, unless that was cancelled. The path must live
// as long.
class Removal {
 public:
  explicit Removal(const std::string& path) : path_(path.c_str()) {}
  ~Removal() {
    if (path_ != nullptr) ::unlink(path_);
  }
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  void cancel() { path_ = nullptr; }

 private:
  const char* path_;
};

struct CloseEnvironment {
  void operator()(MDB_env* env) const noexcept { ::mdb_env_close(env); }
};

// Writes a compact copy of the environment into a file, and syncs it. `path` is for messages.
Status fill_copy(MDB_env* env, int file, const std::string& path) {
  const std::string doing = "write " + path;
  const int code = ::mdb_env_copyfd2(env, file, MDB_CP_COMPACT);
  if (code == EAGAIN) throw std::bad_alloc();  // there was no memory for its thread
  if (code != 0) return lmdb_error(code, doing);
  if (::fsync(file) != 0) return system_error(errno, doing);
  return Done{};
}

void take_access_of(MDB_env* env, int file) {
  int store = -1;
  if (::mdb_env_get_fd(env, &store) == 0) take_access(file, store);
}

// The same into a new file, which is gone again if that fails.
Status write_copy(MDB_env* env, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kCopyMode);
  if (file < 0) {
    if (errno == EEXIST) return Error{Code::invalid, path + " already exists"};
    return system_error(errno, "write " + path);
  }
  const OpenFile open(file);
  Removal removal(path);
  Status filled = fill_copy(env, file, path);
  if (filled) take_access_of(env, file);
  if (filled) removal.cancel();
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
  const std::unique_ptr<MDB_env, CloseEnvironment> closing(copy);
  if (code == 0) code = ::mdb_env_set_maxdbs(copy, kTablesMax);
  if (code == 0) code = ::mdb_env_set_mapsize(copy, map_bytes);
  if (code == 0)
    code = ::mdb_env_open(copy, name.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS, 0);
  if (code != 0) return lmdb_error(code, "complete the copy");
  return complete_copy(copy, snapshot);
}

// For file systems that have no files without a name.
Status copy_by_part(MDB_env* env, const std::string& path, const Snapshot& snapshot,
                    std::uint64_t map_bytes) {
  const std::string part = path + ".part";
  Status done = write_copy(env, part);
  if (!done) return done;
  const Removal removal(part);
  done = finish_copy(part, snapshot, map_bytes);
  if (done) done = give_name(part, path);
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
  const OpenFile open(file);
  const std::string name = "/proc/self/fd/" + std::to_string(file);
  Status done = fill_copy(env, file, path);
  if (done) done = finish_copy(name, snapshot, map_bytes);
  if (done) take_access_of(env, file);
  if (done) done = give_name(name, path);
  return done;
}

}  // namespace

Status Environment::copy_to(const std::string& path) {
  if (is_foreign()) return foreign_error();
  if (std::filesystem::exists(path)) return Error{Code::invalid, path + " already exists"};
  auto snapshot = begin_read();
  if (!snapshot) return snapshot.error();
  ::mdb_txn_reset((*snapshot)->txn);  // its tables are all that is needed
  const MDB_envinfo size = info();
  const std::uint64_t limit = file_size_limit();
  Status copied = Error{Code::full, "cannot write " + path +
                                        ": it would be larger than the limit on the size of files "
                                        "(raise RLIMIT_FSIZE, which 'ulimit -f' shows)"};
  if ((size.me_last_pgno + 1) * page_bytes() <= limit) {
    copied = copy_whole(env_, path, **snapshot, std::min<std::uint64_t>(size.me_mapsize, limit));
  }
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
  struct WithoutThread {
    RedoLog& log;
    explicit WithoutThread(RedoLog& its_log) : log(its_log) { log.stop_thread(); }
    ~WithoutThread() { log.allow_thread(); }
  };
  struct Alone {
    Session& session;
    ~Alone() { session.let_others_in(); }  // does nothing if there are others
  };
  const WithoutThread without_thread(*log_);
  if (!session_->try_alone(options_.busy_timeout)) {
    return Error{Code::busy,
                 "cannot compact the store: another process has it open (close it there; "
                 "backup makes a compact copy meanwhile)"};
  }
  const Alone alone{*session_};
  auto turn = begin_write(options_.busy_timeout);
  if (!turn) return turn.error();
  Status done = log_->finish(turn->snapshot->state, now, turn->patience());
  turn->snapshot.reset();
  return done ? replace_file(path_ + ".compact") : done;
}

Status Environment::replace_file(const std::string& with) {
  const Shut shut(*this);
  if (active_.load() != 0) {
    return Error{Code::busy,
                 "cannot compact the store: transactions or cursors are open (close them)"};
  }
  if (Status there = check_files(true); !there) return there;
  ::unlink(with.c_str());  // of a compaction that was killed
  if (Status written = write_copy(env_, with); !written) return written;
  Removal removal(with);
  auto hold = FileHold::on(with);
  if (!hold) return hold.error();
  if (Status there = check_files(true); !there) return there;  // the copy took a while
  stop_lmdb();
  log_->forget_file();
  for (auto& table : tables_) table.store(0);
  catalog_ = {};
  const int problem = std::rename(with.c_str(), path_.c_str()) == 0 ? 0 : errno;
  if (problem == 0) removal.cancel();
  if (problem == 0) session_->hold(std::move(*hold));
  // The catalog is read, and the tables opened, by the next transaction. So is the file, if this
  // fails.
  if (Status started = start_lmdb(); !started) return started;
  if (problem != 0) return system_error(problem, "put the compacted file in place");
  return sync_directory_of(path_);
}

}  // namespace mayfly::internal
