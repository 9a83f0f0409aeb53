// SPDX-License-Identifier: Apache-2.0
// Opening and closing. Transactions are in environment_txn.cc, copies in environment_copy.cc.

#include "store/lmdb/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "store/check/page_check.h"
#include "store/lmdb/lmdb.h"
#include "store/log/undo_recovery.h"

namespace mayfly::internal {
namespace {

constexpr unsigned kReadersMax = 4000;
constexpr std::uint64_t kMapLeast = std::uint64_t{64} << 20;  // 64 MiB
constexpr std::uint64_t kMapMost = std::uint64_t{16} << 40;   // 16 TiB
constexpr mode_t kFileMode = 0644;
constexpr mode_t kOwnerMode = 0600;
constexpr std::uint64_t kReaderBytes = 64;
constexpr std::uint64_t kLockFileBytes = 256 << 10;  // of all readers, and what LMDB adds
static_assert(kLockFileBytes >= kReaderBytes * (kReadersMax + 16));
constexpr std::uint64_t kLeastLimit = 4096;  // of -shm, and of -lock with a few readers

// As many readers as the limit on the size of files allows.
unsigned readers_most() {
  const std::uint64_t room = std::min(file_size_limit(), kLockFileBytes) / kReaderBytes;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(room, 32, kReadersMax + 16)) - 16;
}

// The size of the file system: the most that the file could ever need. What is beyond the limit on
// the size of files cannot be written.
std::uint64_t map_bytes_for(const std::string& path, std::uint64_t asked, std::uint64_t file) {
  std::uint64_t bytes = asked;
  if (bytes == 0) {
    struct statvfs disk {};
    if (::statvfs(path.c_str(), &disk) == 0) bytes = disk.f_blocks * disk.f_frsize;
    bytes = std::clamp(bytes, kMapLeast, kMapMost);
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t limit = file_size_limit();
  if (limit < bytes) return std::max(limit, file) / page * page;
  return (std::max(bytes, file) + page - 1) / page * page;
}

std::uint64_t file_bytes(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

// LMDB maps its lock file. If the disk had no room for a page of it, touching it would be a signal
// and not an error; so it gets its room before.
Status reserve_lock_file(const std::string& path) {
  const std::string lock = path + "-lock";
  const int file = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (file < 0) return system_error(errno, "open " + lock);
  take_access(file, path, kOwnerMode);
  const std::uint64_t bytes = std::min(kLockFileBytes, file_size_limit());
  const NoSizeSignal quiet(true);
  const int failed =
      bytes < kLeastLimit ? 0 : ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  ::close(file);
  if (failed != 0) return system_error(failed, "make " + lock);
  return Done{};
}

// Whether nobody can write to the file: its file system is mounted read-only.
bool is_mounted_read_only(const std::string& path) {
  struct statvfs disk {};
  return ::statvfs(path.c_str(), &disk) == 0 && (disk.f_flag & ST_RDONLY) != 0;
}

// Locks and maps of files that are elsewhere are not shared between machines.
bool is_on_network(const std::string& path) {
  struct statfs disk {};
  if (::statfs(path.c_str(), &disk) != 0) return false;
  constexpr std::array<long, 6> kNetworks = {0x6969,     0x517B, 0xFF534D42,
                                             0xFE534D42, 0x564C, 0x00C36400};
  return std::ranges::find(kNetworks, static_cast<long>(disk.f_type)) != kNetworks.end();
}

}  // namespace

Environment::Environment(std::string path, const StoreOptions& options)
    : path_(std::move(path)), options_(options), has_writer_(!options.read_only) {
  reserve_pools();
}

Result<std::unique_ptr<Environment>> Environment::open(const std::string& path,
                                                       const StoreOptions& options) {
  auto environment = std::unique_ptr<Environment>(new Environment(path, options));
  if (const Status opened = environment->open_file(); !opened) return opened.error();
  return environment;
}

Environment::~Environment() {
  if (env_ != nullptr && !is_foreign()) stop_lmdb();
}

void Environment::close_in_child() {
  if (session_ != nullptr) session_->close_in_child();
  if (log_ != nullptr) log_->close_in_child();
}

// Who can make no file beside the store reads without joining other processes, if nobody has it
// open or can write to it.
Status Environment::open_file() {
  if (is_on_network(path_)) {
    return Error{Code::unsupported, "cannot open " + path_ +
                                        ": it is on a network file system (a store needs a local "
                                        "one)"};
  }
  const std::uint64_t has = std::min(file_bytes(path_ + "-shm"), file_bytes(path_ + "-lock"));
  if (std::max(has, file_size_limit()) < kLeastLimit) {
    return Error{Code::full, "cannot open " + path_ +
                                 ": the limit on the size of files is below 4 KiB (raise "
                                 "RLIMIT_FSIZE, which 'ulimit -f' shows)"};
  }
  // A reader takes a file that is too large to be written as it takes one without permission.
  const bool fits = file_bytes(path_) <= file_size_limit();
  writable_ =
      ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) == 0 && (fits || !options_.read_only);
  if (writable_ && !fits) {
    return Error{Code::full, "cannot open " + path_ +
                                 ": it is larger than the limit on the size of files (raise "
                                 "RLIMIT_FSIZE, which 'ulimit -f' shows)"};
  }
  auto session = Session::join(path_, options_.busy_timeout);
  const bool is_denied = !session && session.error().code == Code::denied;
  const bool is_unused = is_denied && ::access((path_ + "-shm").c_str(), F_OK) != 0;
  if (options_.read_only && (is_unused || (is_denied && is_mounted_read_only(path_)))) {
    is_detached_ = true;
    session = Session::detached();
  }
  if (!session) return session.error();
  session_ = std::move(*session);
  const bool is_alone = session_->alone();
  if (const Status known = check_company(); !known) return known;
  if (is_alone) {
    if (const Status undone = undo_version_1(); !undone) return undone;
    if (const Status sound = check_before_open(path_); !sound) return sound;
  }
  if (is_alone && !is_detached_) {
    if (const Status reserved = reserve_lock_file(path_); !reserved) return reserved;
  }
  if (options_.read_only && file_bytes(path_) == 0) return empty_error();  // LMDB would fill it
  if (const Status started = start_lmdb(); !started) return started;
  log_ = std::make_unique<RedoLog>(*this, *session_, options_);
  if (const Status loaded = load(is_alone); !loaded) return loaded;
  session_->let_others_in();
  return Done{};
}

// A power cut in a store of format 1 is undone, for the last time.
Status Environment::undo_version_1() {
  if (writable() && !options_.read_only) return recover_version_1(path_);
  const auto broken = needs_version_1_recovery(path_);
  if (!broken) return broken.error();
  if (!*broken) return Done{};
  return Error{Code::denied, "cannot open " + path_ +
                                 ": it was in use when the machine stopped and must be recovered "
                                 "(open it once with write access)"};
}

unsigned Environment::flags() const {
  unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
  if (!writable_) flags |= MDB_RDONLY;
  if (is_detached_) flags |= MDB_NOLOCK;
  return flags;
}

// Of a map that another process has asked for, or the process that made the store: as much as the
// limit on the size of files allows. If the limit has been raised since the store was opened, the
// size that this process asked for.
std::uint64_t Environment::allowed_map_bytes(std::uint64_t known) const {
  const std::uint64_t limit = file_size_limit();
  const std::uint64_t file = file_bytes(path_);
  if (limit > limit_at_start_) {
    return std::max(known, map_bytes_for(path_, options_.map_bytes, file));
  }
  return std::min(known, map_bytes_for(path_, known, file));
}

// Address space is what may be short, under a limit, a sanitizer or valgrind (which calls it
// EINVAL), so it asks for less each time.
Status Environment::start_lmdb() {
  const std::uint64_t file = file_bytes(path_);
  std::uint64_t map = map_bytes_for(path_, options_.map_bytes, file);
  limit_at_start_ = file_size_limit();
  const NoSizeSignal quiet(limit_at_start_ != UINT64_MAX);  // to make -lock larger
  for (;;) {
    int code = ::mdb_env_create(&env_);
    if (code == 0) code = ::mdb_env_set_maxdbs(env_, kTablesMax);
    if (code == 0) code = ::mdb_env_set_maxreaders(env_, readers_most());
    if (code == 0) code = ::mdb_env_set_mapsize(env_, map);
    if (code == 0) code = ::mdb_env_open(env_, path_.c_str(), flags(), kFileMode);
    if (code == 0) break;
    ::mdb_env_close(env_);
    env_ = nullptr;
    const bool less = (code == ENOMEM || code == EINVAL) && options_.map_bytes == 0;
    if (!less || map / 2 < std::max(kMapLeast, file)) {
      std::string doing = "open the store ";
      doing += path_;
      return lmdb_error(code, doing);
    }
    map /= 2;
  }
  MDB_txn* txn = nullptr;
  int code = ::mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn);
  MDB_dbi main = 0;
  if (code == 0) code = ::mdb_dbi_open(txn, nullptr, 0, &main);
  if (txn != nullptr) ::mdb_txn_commit(txn);
  if (code != 0) return lmdb_error(code, "read the store");
  if (session_->store().is_on(file_id(descriptor()))) {
    note_files();
    return Done{};
  }
  ::mdb_env_close(env_);
  env_ = nullptr;
  return gone_error("open " + path_, path_);
}

// Reads the catalog, opens all tables, and takes in the log; makes the first two if the file is
// new.
Status Environment::load(bool is_alone) {
  const bool may_write = has_writer_;
  if (info().me_last_txnid == 0) {
    if (const Status made = make_store(); !made) return made;
  }
  auto snapshot = begin_read();
  if (!snapshot) return snapshot.error();
  const TreeState state = (*snapshot)->state;
  snapshot->reset();
  if (may_write) {
    if (const Status reserved = reserve_snapshots(); !reserved) return reserved;
  }
  if (!is_alone) return Done{};
  if (may_write) (void)leaves_disk(0);
  if (const Status recovered = log_->recover(state, may_write); !recovered) return recovered;
  return state.store.is_none() && may_write ? upgrade() : Status(Done{});
}

// A writer and a checkpoint have a snapshot each, and its commit another.
Status Environment::reserve_snapshots() {
  std::array<ReadTurn, 3> reserved;
  for (ReadTurn& turn : reserved) {
    auto snapshot = begin_internal_read();
    if (!snapshot) return snapshot.error();
    turn = std::move(*snapshot);
  }
  return Done{};
}

// A store of format 1 becomes one of the present format.
Status Environment::upgrade() {
  auto tree = TreeTxn::begin(*this);
  if (!tree) return tree.error();
  TreeState state = (*tree)->state();
  state.store = UniqueId::random();
  (*tree)->set_state(state);
  (*tree)->change_catalog();
  return (*tree)->commit();
}

Error Environment::empty_error() const {
  return {Code::denied,
          "cannot open " + path_ + " read-only: the file is empty (open it once for writing)"};
}

Error Environment::read_only_error() const {
  return {Code::denied, "cannot write to " + path_ + ": it is read-only"};
}

Status Environment::make_store() {
  if (!writable_ || options_.read_only) return empty_error();
  const auto table = fill_new_store(env_);
  if (!table) return table.error();
  tables_[1].store(*table, std::memory_order_release);
  return sync_directory_of(path_);
}

bool Environment::drop_pool() {
  const std::scoped_lock lock(mutex_);
  const bool had_any = !pool_.empty();
  for (const auto& snapshot : pool_) ::mdb_txn_abort(snapshot->txn);
  pool_.clear();
  return had_any;
}

// Who cannot write all of it into LMDB leaves the log: nothing is lost.
Status Environment::close(Time now) {
  if (session_ == nullptr || is_foreign()) return Done{};
  Status closed = Done{};
  bool has_memory = true;
  if (log_ != nullptr) log_->stop_thread();
  const bool may_write = has_writer_ && log_ != nullptr;
  try {
    const bool is_last =
        session_->begin_to_leave(std::max(options_.busy_timeout, Session::kLeastWait));
    if (may_write) closed = check_files(true);
    if (closed && is_last && may_write) closed = log_->close(now);
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }
  // With a log: a full disk keeps its files.
  if (!closed || !has_memory) session_->let_others_in();
  stop_lmdb();
  log_.reset();
  session_.reset();
  if (!has_memory) throw std::bad_alloc();
  return closed;
}

// After a compaction the new file could not be opened.
Status Environment::start_again() {
  const Shut shut(*this);
  if (env_ != nullptr) return Done{};
  if (active_.load() != 1) return lmdb_error(EIO, "begin to read");
  return start_lmdb();
}

void Environment::stop_lmdb() {
  drop_pool();
  for (const auto& snapshot : internal_pool_) ::mdb_txn_abort(snapshot->txn);
  internal_pool_.clear();
  ::mdb_env_close(env_);
  env_ = nullptr;
}

}  // namespace mayfly::internal
