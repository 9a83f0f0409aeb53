// SPDX-License-Identifier: Apache-2.0
// Session: that this process has a store open; the locks and words that all such processes share.
//
// Beside the file of the store stands `path-shm`, one page that is mapped by all. It is made anew
// by whoever is alone with the store, so nothing in it has to survive. Two of its bytes are locked
// (OFD locks, which the kernel gives up when a process dies):
//
//   byte 0, members   shared: by every process that has the store open and properly joined.
//                     Exclusive: by one that is alone with it, to recover, compact or close it.
//   byte 1, gate      exclusive: by one that opens, closes or compacts. Whether one is alone is
//                     asked under the gate only. Whoever waited for the gate checks that the file
//                     is still the one of that name: the last to close removes it.
//
// These locks are lost with the file, if it is removed. So each process also holds the file
// of the store itself (see FileHold), whatever its name: a process that is alone by `-shm` is not
// alone if another process holds the store.
//
// If a process dies that was alone, the next is alone, and recovers the store itself. No flag says
// "recovered"; only a lock that a live process holds does.
//
// The page holds three robust mutexes, taken in the order write, checkpoint, sync. A process that
// dies with one leaves it free.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "store/lmdb/store_files.h"
#include "store/log/log_file.h"
#include "store/log/test_hooks.h"

namespace mayfly::internal {

inline constexpr std::int64_t kNanosInMilli = 1'000'000;

// A year: what is longer could overflow.
inline constexpr Millis kLongestWait{365LL * 24 * 3600 * 1000};

// What the processes tell each other. Each word is set with release after what it speaks of.
struct SharedWords {
  // `busy`: a writer is between "before the record" and "after the tail", or has died there.
  static constexpr std::uint32_t kIdle = 0;
  static constexpr std::uint32_t kWriting = 1;
  static constexpr std::uint32_t kNoLife = 2;  // recovered by a reader: there is no life record yet

  SharedWord<std::uint64_t> tail{0};     // the end of what is committed
  SharedWord<std::uint64_t> chain{0};    // at the tail; under the write lock
  SharedWord<std::uint64_t> durable{0};  // LMDB is on disk up to here: what lies before it in the
                                         // log may be overwritten
  SharedWord<std::uint64_t> synced{0};   // the log is on disk up to here
  SharedWord<std::uint64_t> log{0};      // UniqueId::word() of the log in force; 0: none
  SharedWord<std::uint32_t> busy{kIdle};
  SharedWord<std::uint32_t> segment{0};     // the one that is written to
  SharedWord<std::uint32_t> members{0};     // processes that have joined, about
  SharedWord<std::uint32_t> failed{0};      // a sync of the log failed: none is believed any more
  SharedWord<std::uint32_t> commits{0};     // 1: something was committed since the store was opened
  SharedWord<std::uint64_t> store_file{0};  // inode of the file of the store; 0: not known
  SharedWord<std::uint64_t> lock_file{0};   // of -lock; the same
};

// ProcessMark: remembers which process made it, so that the child of a fork() can tell that an
// object is its parent's.
//
// The child has a copy of all memory, but neither the parent's threads nor its locks. A store that
// the parent has open must not be used, and not even be closed there. Forks are counted by a
// handler (pthread_atfork): to ask the kernel for the process id in each call would cost as much as
// a look-up.
class ProcessMark {
 public:
  ProcessMark();

  // Whether this process is a child of the one that made the mark.
  bool is_foreign() const noexcept {
    return rule_on(Rule::pid) && forks_ != forks.load(std::memory_order_relaxed);
  }

 private:
  static std::atomic<std::uint32_t> forks;  // between the first process and this one

  std::uint32_t forks_;
};

enum class SharedLock { write, checkpoint, sync };

// Threads: lock(), unlock() and words() may be used by any thread, the rest by one at a time.
class Session {
 public:
  // Opening and closing take a moment, for which others wait even if they have no time to.
  static constexpr Millis kLeastWait{1000};

  // Joins the processes that have the store at `store_path` open. Waits for the gate for
  // `busy_timeout` or kLeastWait, whichever is longer; then Code::busy. Code::unsupported if the
  // processes inside are of another version. Who is alone() afterwards recovers the store, sets the
  // words, and calls let_others_in(); the gate is held until then.
  static Result<std::unique_ptr<Session>> join(const std::string& store_path, Millis busy_timeout);

  // For one who reads where no file can be made: alone, and nobody else can be.
  static Result<std::unique_ptr<Session>> detached();

  // Whether any process has joined, and is not alone: an opener that is alone may just be making
  // the store.
  static bool has_members(const std::string& store_path);

  // Leaves, if leave() was not called.
  ~Session();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Holds the file of the store, instead of the one before, until leave().
  void hold(FileHold store) { store_ = std::move(store); }
  const FileHold& store() const { return store_; }

  // Whether no other process has the store open; the others wait at the gate.
  bool alone() const { return alone_; }

  // Takes the gate, for `timeout` at most, and tries to be alone. False: the gate is given back.
  bool try_alone(Millis timeout);
  void let_others_in();

  // As try_alone(), but the gate is kept until leave() in either case: so of several that close at
  // the same time one is the last. If the gate was not to be had, leave() goes without it.
  bool begin_to_leave(Millis timeout);

  // Whether `path-shm` is still the file of that name.
  bool is_named() const { return path_.empty() || file_id(file_) == file_id(path_); }

  // Ends the membership. If alone(), `path-shm` is removed before, under the gate. In the child of
  // a fork it is close_in_child().
  void leave();

  SharedWords& words() { return *words_; }

  // Code::busy after `timeout`; at once if it is zero. The caller knows that this thread does not
  // have the lock already. `owner_died`, if not null, tells whether the last owner died with it.
  Status lock(SharedLock which, Millis timeout, bool* owner_died = nullptr);
  void unlock(SharedLock which);

  // In the child of a fork: closes the file, so that the locks end with the parent. Nothing else
  // may be called afterwards, but the destructor.
  void close_in_child();

 private:
  struct Page;

  Session(int file, Page* page, std::string path, bool alone);
  static Result<std::unique_ptr<Session>> map(int file, const std::string& path, bool alone);

  const int file_;
  Page* const page_;
  SharedWords* const words_;
  const std::string path_;
  const ProcessMark mark_;
  FileHold store_;
  bool alone_;
  bool joined_ = true;
};

// The error of every call on a store that the parent opened.
Error foreign_error();

}  // namespace mayfly::internal
