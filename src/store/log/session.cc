// SPDX-License-Identifier: Apache-2.0
#include "store/log/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <new>
#include <utility>

#include "mayfly/internal/stopwatch.h"
#include "store/lmdb/lmdb.h"
#include "store/log/try_until.h"

namespace mayfly::internal {
namespace {

constexpr std::size_t kSharedBytes = 4096;
constexpr std::uint64_t kSharedMagic = 0x6d68732d796c6661;  // "afly-shm"
constexpr std::uint32_t kSharedVersion = 2;
constexpr std::int64_t kLook = 20 * kNanosInMilli;

// The bytes of the file that are locked.
constexpr off_t kMembers = 0;
constexpr off_t kGate = 1;

// Sets or removes a lock, and tells whether that was possible at once; if not, errno says why.
bool set_lock(int file, off_t byte, short type, off_t bytes = 1) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = bytes;
  int result = 0;
  do {
    result = ::fcntl(file, F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// A child of a fork may have a copy of the descriptor, so closing it would not end the locks.
void unlock_and_close(int file) {
  set_lock(file, kMembers, F_UNLCK, 2);
  ::close(file);
}

constexpr mode_t kOwnerMode = 0600;

// Until its mode is known: no more users than the store has.
mode_t mode_of(const std::string& store_path) {
  struct stat facts {};
  return ::stat(store_path.c_str(), &facts) == 0 ? (facts.st_mode & 0666) | kOwnerMode : 0644;
}

// A file that is unlocked and closed, unless a session has taken it over.
struct JoiningFile {
  int number = -1;
  ~JoiningFile() { give_up(); }
  void give_up() {
    if (number >= 0) unlock_and_close(std::exchange(number, -1));
  }
};

enum class Entry { alone, shared, refused, replaced, failed };

Entry refusal() { return errno == EAGAIN || errno == EACCES ? Entry::refused : Entry::failed; }

// One attempt to get in. If it succeeds, the gate is held.
Entry try_to_enter(int file, const std::string& path) {
  test_step("enter");
  if (rule_on(Rule::gate) && !set_lock(file, kGate, F_WRLCK)) return refusal();
  if (file_id(file) != file_id(path) && rule_on(Rule::inode)) return Entry::replaced;
  if (set_lock(file, kMembers, F_WRLCK)) return Entry::alone;
  test_step("not alone");
  // Others may die between the two questions, so the first is asked again.
  if (set_lock(file, kMembers, F_RDLCK)) {
    test_step("member");
    return set_lock(file, kMembers, F_WRLCK) ? Entry::alone : Entry::shared;
  }
  // A process of version 1 is alone, which does not keep the gate meanwhile.
  const Entry entry = refusal();
  const int why = errno;
  set_lock(file, kGate, F_UNLCK);
  errno = why;
  return entry;
}

void make_shared_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

int lock_until(pthread_mutex_t& mutex, std::int64_t time) {
  constexpr std::int64_t kSecond = 1000 * kNanosInMilli;
  const timespec deadline{time / kSecond, time % kSecond};
  const int result = ::pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline);
#ifdef __SANITIZE_THREAD__
  if (result == 0 || result == EOWNERDEAD) {  // TSan does not see that call
    __tsan_mutex_pre_lock(&mutex, 0);
    __tsan_mutex_post_lock(&mutex, 0, 0);
  }
#endif
  return result;
}

// Unlocking a mutex wakes one waiting thread. If that one is killed before it has the mutex, and
// another thread takes it meanwhile, nobody wakes the next. So they look at intervals.
int lock_within(pthread_mutex_t& mutex, Millis timeout) {
  const std::int64_t end = monotonic_ns() + std::min(timeout, kLongestWait).count() * kNanosInMilli;
  int result = ETIMEDOUT;
  for (std::int64_t until = 0; until < end && result == ETIMEDOUT;) {
    until = std::min(end, monotonic_ns() + kLook);
    result = lock_until(mutex, until);
  }
  return result;
}

[[gnu::cold]] Error lock_error(SharedLock which, Millis timeout) {
  constexpr const char* kReasons[] = {
      "cannot write: another transaction is writing to the store",
      "cannot checkpoint the store: another checkpoint is running",
      "cannot sync the store: another sync is running",
  };
  std::string message = kReasons[static_cast<int>(which)];
  if (timeout > Millis::zero()) {
    message += ", and did not finish within " + std::to_string(timeout.count()) + " ms";
  }
  return {Code::busy, message};
}

}  // namespace

// A process of version 1 has its mutex at the head, 40 bytes, and knows of nothing else. Making it,
// it overwrites the magic number with something else; using it, it leaves that alone.
struct Session::Page {
  struct alignas(128) Lock {  // two lines: processors fetch them in pairs
    pthread_mutex_t mutex;
  };
  char of_version_1[24]{};
  std::uint64_t magic = 0;
  std::uint32_t version = kSharedVersion;
  alignas(128) SharedWords words;
  Lock locks[3];

  void make() {
    static_assert(offsetof(Page, magic) == 24 && offsetof(Page, version) == 32);
    static_assert(offsetof(Page, version) + sizeof(version) <= sizeof(pthread_mutex_t));
    static_assert(offsetof(Page, words) == 128 && sizeof(SharedWords) <= 128);
    static_assert(offsetof(Page, locks) == 256 && sizeof(Lock) == 128);
    static_assert(sizeof(Page) <= kSharedBytes);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
    for (Lock& lock : locks) make_shared_mutex(lock.mutex);
    magic = kSharedMagic;
  }
};

Session::Session(int file, Page* page, std::string path, bool alone)
    : file_(file), page_(page), words_(&page->words), path_(std::move(path)), alone_(alone) {}

Session::~Session() {
  leave();
  ::munmap(page_, kSharedBytes);
}

// Whoever is alone makes the page anew: what stands there is of processes that are gone.
Result<std::unique_ptr<Session>> Session::map(int file, const std::string& path, bool alone) {
  const NoSizeSignal quiet(alone);
  if (const int failed = alone ? ::posix_fallocate(file, 0, kSharedBytes) : 0; failed != 0) {
    return system_error(failed, "open", path);
  }
  void* const memory = ::mmap(nullptr, kSharedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return system_error(errno, "open", path);
  struct Unmap {
    void operator()(void* mapped) const { ::munmap(mapped, kSharedBytes); }
  };
  std::unique_ptr<void, Unmap> mapping(memory);
  Page* const page = alone ? new (memory) Page : static_cast<Page*>(memory);
  if (alone) page->make();
  if (page->magic != kSharedMagic || page->version != kSharedVersion) {
    const bool older = page->magic != kSharedMagic;
    if (!older) {
      return Error{Code::unsupported,
                   "cannot open the store: another version of Mayfly has the store open (use that "
                   "one, or end it first)"};
    }
    return Error{Code::busy,
                 "cannot open the store: a process of an older Mayfly has the store open (end it "
                 "first)"};
  }
  std::unique_ptr<Session> session(new Session(file, page, path, alone));
  static_cast<void>(mapping.release());
  page->words.members.fetch_add(1, std::memory_order_relaxed);
  if (!alone) set_lock(file, kGate, F_UNLCK);
  return session;
}

Result<std::unique_ptr<Session>> Session::detached() {
  JoiningFile file{::memfd_create("mayfly", MFD_CLOEXEC)};
  if (file.number < 0) return system_error(errno, "open the store");
  auto session = map(file.number, {}, true);
  if (session) file.number = -1;
  return session;
}

Result<std::unique_ptr<Session>> Session::join(const std::string& store_path, Millis busy_timeout) {
  const std::string path = store_path + "-shm";
  const Millis timeout = std::clamp(busy_timeout, kLeastWait, kLongestWait);
  Result<std::unique_ptr<Session>> joined = Error{
      Code::busy,
      "cannot open the store: another process is recovering, compacting or closing it, and did not "
      "finish within " +
          std::to_string(timeout.count()) + " ms (try again)"};
  JoiningFile file;
  try_until(timeout, [&] {
    if (file.number < 0) {
      file.number = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode_of(store_path));
    }
    const Entry entry = file.number < 0 ? Entry::failed : try_to_enter(file.number, path);
    if (entry == Entry::refused) return false;
    if (entry == Entry::failed) joined = system_error(errno, "open", path);
    if (entry == Entry::alone) take_access(file.number, store_path, kOwnerMode);
    if (entry == Entry::alone || entry == Entry::shared) {
      joined = map(file.number, path, entry == Entry::alone);
    }
    if (joined.ok()) return true;
    file.give_up();
    return joined.error().code != Code::busy;
  });
  if (joined.ok()) file.number = -1;
  return joined;
}

bool Session::has_members(const std::string& store_path) {
  const OpenFile file(::open((store_path + "-shm").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kMembers;
  lock.l_len = 1;
  return file.number() >= 0 && ::fcntl(file.number(), F_OFD_GETLK, &lock) == 0 &&
         lock.l_type == F_RDLCK;
}

bool Session::begin_to_leave(Millis timeout) {
  if (alone_) return true;
  const Millis wait = std::min(timeout, kLongestWait);
  if (!try_until(wait, [this] { return set_lock(file_, kGate, F_WRLCK); })) return false;
  alone_ = set_lock(file_, kMembers, F_WRLCK) && !store_.is_shared();
  if (alone_) {
    words_->members.store(1, std::memory_order_relaxed);  // those who died did not count down
  } else {
    set_lock(file_, kMembers, F_RDLCK);
  }
  return alone_;
}

bool Session::try_alone(Millis timeout) {
  const bool alone = begin_to_leave(timeout);
  if (!alone) set_lock(file_, kGate, F_UNLCK);
  return alone;
}

void Session::let_others_in() {
  if (!alone_) return;
  alone_ = false;
  set_lock(file_, kMembers, F_RDLCK);
  set_lock(file_, kGate, F_UNLCK);
}

void Session::leave() {
  if (mark_.is_foreign()) return close_in_child();
  if (!std::exchange(joined_, false)) return;
  words_->members.fetch_sub(1, std::memory_order_relaxed);
  hold({});  // first: who finds no other member must not find a holder
  if (alone_ && is_named()) ::unlink(path_.c_str());
  unlock_and_close(file_);
}

// The mapping, too, would keep the file open, and its locks. Other memory takes its place.
void Session::close_in_child() {
  if (!std::exchange(joined_, false)) return;
  store_.close_in_child();
  ::close(file_);
  ::mmap(page_, kSharedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
}

Status Session::lock(SharedLock which, Millis timeout, bool* owner_died) {
  test_step("lock");
  pthread_mutex_t& mutex = page_->locks[static_cast<int>(which)].mutex;
  int result = ::pthread_mutex_trylock(&mutex);
  if (result == EBUSY && timeout > Millis::zero()) result = lock_within(mutex, timeout);
  if (owner_died != nullptr) *owner_died = result == EOWNERDEAD;
  if (result == EOWNERDEAD) result = ::pthread_mutex_consistent(&mutex);
  if (result != 0) return lock_error(which, timeout);
  return Done{};
}

void Session::unlock(SharedLock which) {
  test_step("unlock");
  ::pthread_mutex_unlock(&page_->locks[static_cast<int>(which)].mutex);
}

std::atomic<std::uint32_t> ProcessMark::forks{0};

ProcessMark::ProcessMark() {
  static const bool is_registered = [] {
    const auto count = [] { forks.fetch_add(1, std::memory_order_relaxed); };
    if (::pthread_atfork(nullptr, nullptr, count) != 0) throw std::bad_alloc();
    return true;
  }();
  static_cast<void>(is_registered);
  forks_ = forks.load(std::memory_order_relaxed);
}

Error foreign_error() {
  return {Code::invalid,
          "the store was opened by the parent process, before a fork (open it again in the child)"};
}

}  // namespace mayfly::internal
