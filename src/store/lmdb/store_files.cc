// SPDX-License-Identifier: Apache-2.0
#include "store/lmdb/store_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <random>

#include "store/lmdb/lmdb.h"
#include "store/lmdb/tree_txn.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kAccessBits = 0666;
constexpr std::size_t kNewMapBytes = std::size_t{1} << 20;  // a new store has some pages
constexpr std::uint64_t kNewStoreBytes = std::uint64_t{64} << 10;
constexpr off_t kHeldByte = off_t{1} << 62;

FileId id_of(const struct stat& facts) { return {facts.st_dev, facts.st_ino}; }

Error cannot_make(int number, const std::string& path) {
  return system_error(number, "open the store " + path);
}

// Fills the file of that name, which only this process has.
Status fill_file(const std::string& name, const std::string& path) {
  struct Closing {
    MDB_env* env = nullptr;
    ~Closing() { ::mdb_env_close(env); }
  } closing;
  MDB_env*& env = closing.env;
  int code = ::mdb_env_create(&env);
  if (code == 0) code = ::mdb_env_set_maxdbs(env, 1);
  if (code == 0) code = ::mdb_env_set_mapsize(env, kNewMapBytes);
  if (code == 0)
    code = ::mdb_env_open(env, name.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS, kFileMode);
  Status done = code == 0 ? Status(Done{}) : lmdb_error(code, "make the store " + path);
  if (done) {
    const auto filled = fill_new_store(env);
    if (!filled) done = filled.error();
  }
  return done;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Whether the file system does not know such a thing, so that there may be another way.
bool is_unknown(int number) {
  return number == EOPNOTSUPP || number == EPERM || number == ENOSYS || number == EINVAL ||
         number == EISDIR || number == ENOENT || number == EMLINK;
}

// With no name until it is whole: nothing is left of one that was interrupted. False: the file
// system has no such files, or /proc is not there to name it.
Result<bool> make_nameless(const std::string& path) {
  const std::string folder = folder_of(path);
  const OpenFile file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kFileMode));
  if (file.number() < 0) return false;
  const std::string name = "/proc/self/fd/" + std::to_string(file.number());
  if (file_id(name) != file_id(file.number())) return false;
  const Status filled = fill_file(name, path);
  const bool linked = filled.ok() && ::linkat(AT_FDCWD, name.c_str(), AT_FDCWD, path.c_str(),
                                              AT_SYMLINK_FOLLOW) == 0;
  const int why = errno;
  if (!filled) return filled.error();
  if (linked || why == EEXIST) return true;
  if (is_unknown(why)) return false;
  return cannot_make(why, path);
}

// Under a random, unused name.
Status make_named(const std::string& path) {
  std::random_device random;
  const std::string name = path + ".new-" + std::to_string(random());
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (file < 0) return cannot_make(errno, path);
  ::close(file);
  struct Removal {
    const std::string& name;
    ~Removal() { ::unlink(name.c_str()); }
  };
  const Removal removal{name};
  Status done = fill_file(name, path);
  if (done && ::link(name.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    done = is_unknown(errno) ? Status(Done{}) : cannot_make(errno, path);
    const int empty = done ? ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode) : -1;
    if (done && empty < 0) done = cannot_make(errno, path);
    if (empty >= 0) ::close(empty);
  }
  return done;
}

struct flock held_byte(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = kHeldByte;
  lock.l_len = 1;
  return lock;
}

bool set_held(int file, short type) {
  struct flock lock = held_byte(type);
  int result = 0;
  do {
    result = ::fcntl(file, F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// The group first: its rights must not apply to another group for a moment.
void take_access(int file, const struct stat& model, mode_t adds) {
  struct stat mine {};
  if (::fstat(file, &mine) != 0) return;
  mode_t mode = (model.st_mode & kAccessBits) | adds;
  if (mine.st_uid != model.st_uid || mine.st_gid != model.st_gid) {
    const bool given = ::fchown(file, model.st_uid, model.st_gid) == 0 ||
                       ::fchown(file, static_cast<uid_t>(-1), model.st_gid) == 0;
    if (!given && mine.st_gid != model.st_gid) {
      mode = (mode & ~S_IRWXG) | ((mode & S_IRWXO) << 3 & mode);
    }
  }
  if ((mine.st_mode & ~S_IFMT) != mode) static_cast<void>(::fchmod(file, mode));
}

}  // namespace

FileId file_id(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 ? id_of(facts) : FileId();
}

FileId file_id(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? id_of(facts) : FileId();
}

bool hold_file(int file) { return set_held(file, F_RDLCK); }
void release_file(int file) { set_held(file, F_UNLCK); }

bool is_held_elsewhere(int file) {
  struct flock lock = held_byte(F_WRLCK);
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool is_held(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.number() >= 0 && is_held_elsewhere(file.number());
}

Result<FileHold> FileHold::on(const std::string& path) {
  FileHold hold(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (hold.file_ < 0) return system_error(errno, "open the store " + path);
  if (!hold_file(hold.file_)) return FileHold();
  return hold;
}

FileHold::~FileHold() {
  if (file_ < 0) return;
  release_file(file_);
  ::close(file_);
}

void FileHold::close_in_child() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

void take_access(int file, int like, mode_t adds) {
  struct stat model {};
  if (::fstat(like, &model) == 0) take_access(file, model, adds);
}

void take_access(int file, const std::string& like, mode_t adds) {
  struct stat model {};
  if (::stat(like.c_str(), &model) == 0) take_access(file, model, adds);
}

std::uint64_t file_size_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

// One that waits already is somebody else's.
NoSizeSignal::NoSizeSignal(bool is_needed) : is_on_(is_needed), before_() {
  if (!is_on_) return;
  sigset_t waiting;
  is_on_ = ::sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ) == 0;
  sigset_t size;
  sigemptyset(&size);
  sigaddset(&size, SIGXFSZ);
  if (is_on_) is_on_ = ::pthread_sigmask(SIG_BLOCK, &size, &before_) == 0;
}

NoSizeSignal::~NoSizeSignal() {
  if (!is_on_) return;
  sigset_t size;
  sigemptyset(&size);
  sigaddset(&size, SIGXFSZ);
  const int error_number = errno;
  const timespec at_once{};
  (void)::sigtimedwait(&size, nullptr, &at_once);
  (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error_number;
}

Result<MDB_dbi> fill_new_store(MDB_env* env) {
  MDB_txn* begun = nullptr;
  int code = ::mdb_txn_begin(env, nullptr, 0, &begun);
  if (code != 0) return lmdb_error(code, "make the store");
  OwnTxn txn(begun);
  MDB_dbi main = 0;
  code = ::mdb_dbi_open(txn.get(), nullptr, 0, &main);
  if (code != 0) return lmdb_error(code, "make the store");
  std::random_device random;
  const Catalog catalog = Catalog::fresh(std::uint64_t{random()} << 32 | random());
  const TreeState state{UniqueId::random(), {}, {}};
  Status made = put_row(txn.get(), main, kCatalogKey, catalog.encode());
  if (made) made = put_row(txn.get(), main, kStateKey, state.encode());
  if (!made) return made.error();
  MDB_dbi table = 0;
  code = ::mdb_dbi_open(txn.get(), table_name(1).c_str(), MDB_CREATE, &table);
  if (code == 0) code = ::mdb_txn_commit(txn.release());
  if (code != 0) return lmdb_error(code, "make the store");
  return table;
}

Status make_store_file(const std::string& path) {
  if (file_size_limit() < kNewStoreBytes) {
    return Error{Code::full, "cannot make the store " + path +
                                 ": the limit on the size of files is below 64 KiB (raise "
                                 "RLIMIT_FSIZE, which 'ulimit -f' shows)"};
  }
  const auto made = make_nameless(path);
  if (!made) return made.error();
  if (!*made) {
    if (Status named = make_named(path); !named) return named;
  }
  return sync_directory_of(path);
}

}  // namespace mayfly::internal
