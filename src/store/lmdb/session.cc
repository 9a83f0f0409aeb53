// SPDX-License-Identifier: Apache-2.0
#include "store/lmdb/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <new>

#include "mayfly/internal/stopwatch.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::int64_t kLook = 20 * kNanosInMilli;

// The bytes of the file that are locked.
constexpr off_t kOpenByte = 0;  // shared by all who have the store open; exclusive: alone
constexpr off_t kJoinByte = 1;  // held while one decides whether it is alone

void make_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

int lock_until(pthread_mutex_t& mutex, const timespec& deadline) {
  const int result = ::pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline);
#ifdef __SANITIZE_THREAD__
  if (result == 0 || result == EOWNERDEAD) {  // TSan does not see that call
    __tsan_mutex_pre_lock(&mutex, 0);
    __tsan_mutex_post_lock(&mutex, 0, 0);
  }
#endif
  return result;
}

// Sets or removes a lock, and tells whether that was possible at once; if not, errno says why.
bool set_lock(int file, off_t byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int result = 0;
  do {
    result = ::fcntl(file, F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

enum class Entry { refused, shared, alone };

// One attempt. Other processes may leave, or die, at any moment, so after getting a share it checks
// again whether it is alone.
Entry try_to_enter(int file) {
  if (!set_lock(file, kJoinByte, F_WRLCK)) return Entry::refused;
  Entry entry = Entry::refused;
  if (set_lock(file, kOpenByte, F_WRLCK)) {
    entry = Entry::alone;
  } else if (set_lock(file, kOpenByte, F_RDLCK)) {
    entry = set_lock(file, kOpenByte, F_WRLCK) ? Entry::alone : Entry::shared;
  }
  const int why = errno;
  set_lock(file, kJoinByte, F_UNLCK);
  errno = why;
  return entry;
}

// Waits until it may enter. The kernel's own wait for such a lock has no time limit.
Result<Entry> enter(int file, const std::string& path, Millis timeout) {
  const std::int64_t end = monotonic_ns() + timeout.count() * kNanosInMilli;
  for (std::int64_t pause = kNanosInMilli;; pause = std::min(2 * pause, kLook)) {
    const Entry entry = try_to_enter(file);
    if (entry != Entry::refused) return entry;
    if (errno != EAGAIN && errno != EACCES) return system_error(errno, "lock", path);
    if (monotonic_ns() >= end) break;
    const timespec nap{0, pause};
    ::nanosleep(&nap, nullptr);
  }
  return Error{
      Code::busy,
      "cannot open the store: another process is recovering, compacting or closing it, and "
      "did not finish within " +
          std::to_string(timeout.count()) + " ms (try again)"};
}

}  // namespace

struct Session::Page {
  pthread_mutex_t mutex;
};

Session::Session(int file, Page* page, std::string path)
    : file_(file), page_(page), path_(std::move(path)) {}

// A child of a fork may have a copy of the descriptor, so closing it would not do.
Session::~Session() {
  set_lock(file_, kOpenByte, F_UNLCK);
  ::munmap(page_, kPageBytes);
  ::close(file_);
}

void Session::close_in_child() { ::close(file_); }

Result<std::unique_ptr<Session>> Session::join(const std::string& store_path, Millis busy_timeout) {
  std::string path = store_path;
  path += "-shm";
  std::string doing = "open ";
  doing += path;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return system_error(errno, doing);
  const auto entry = enter(file, path, std::clamp(busy_timeout, kLeastWait, kLongestWait));
  if (!entry) {
    ::close(file);
    return entry.error();
  }
  const bool alone = *entry == Entry::alone;
  if (const int failed = alone ? ::posix_fallocate(file, 0, kPageBytes) : 0; failed != 0) {
    ::close(file);
    return system_error(failed, doing);
  }
  void* const memory = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    const Error error = system_error(errno, doing);
    ::close(file);
    return error;
  }
  auto session = std::unique_ptr<Session>(new Session(file, static_cast<Page*>(memory), path));
  session->alone_ = alone;
  // Whatever stands there is of processes that are gone.
  if (alone) make_mutex((new (memory) Page)->mutex);
  return session;
}

bool Session::try_alone() {
  if (!alone_) alone_ = set_lock(file_, kOpenByte, F_WRLCK);
  return alone_;
}

void Session::let_others_in() {
  if (alone_) set_lock(file_, kOpenByte, F_RDLCK);
  alone_ = false;
}

// Unlocking the mutex wakes one waiting thread. If that one is killed before it has the mutex, and
// another thread takes it meanwhile, nobody wakes the next. So they look at intervals.
Status Session::lock(Millis timeout) {
  int result = ::pthread_mutex_trylock(&page_->mutex);
  if (result == EBUSY && timeout > Millis::zero()) {
    const std::int64_t wait = std::min(timeout, kLongestWait).count() * kNanosInMilli;
    const std::int64_t end = monotonic_ns() + wait;
    std::int64_t until = 0;
    while (until < end && (result == EBUSY || result == ETIMEDOUT)) {
      until = std::min(end, monotonic_ns() + kLook);
      const timespec deadline{until / (1000 * kNanosInMilli), until % (1000 * kNanosInMilli)};
      result = lock_until(page_->mutex, deadline);
    }
  }
  if (result == EOWNERDEAD) result = ::pthread_mutex_consistent(&page_->mutex);
  if (result == 0) return Done{};
  std::string message = "cannot write: another transaction is writing to the store";
  if (result == EDEADLK) {
    message = "cannot write: this thread already has an open write transaction on the store";
  } else if (timeout > Millis::zero()) {
    message += ", and did not finish within " + std::to_string(timeout.count()) + " ms";
  }
  return Error{Code::busy, message};
}

void Session::unlock() { ::pthread_mutex_unlock(&page_->mutex); }

std::atomic<std::uint32_t> ProcessMark::forks{0};

ProcessMark::ProcessMark() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  forks_ = forks.load(std::memory_order_relaxed);
}

Error foreign_error() {
  return {Code::invalid,
          "the store was opened by the parent process, before a fork (open it again in the child)"};
}

}  // namespace mayfly::internal
