// SPDX-License-Identifier: Apache-2.0
// Session: that this process has a store open, and the write lock that all processes share.
//
// Beside the file of the store stands `path-shm`, one page that is mapped by all. The kernel gives
// up locks on it when a process dies:
//
//   byte 0   shared: by every process that has the store open. Exclusive: by one that is alone with
//            it, to recover, compact or close it.
//   byte 1   exclusive, for a moment: by a process that decides whether it is alone. So nobody gets
//            a share of byte 0 unless another process has it that has opened the store completely.
//            If one dies that was alone, the next is alone, and recovers the store itself.
//
// The page holds a robust mutex, which LMDB's own write lock follows: unlike that, ours can be
// tried, and waited for by a time limit. A process that dies holding it leaves nothing behind but
// the news.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly::internal {

inline constexpr std::int64_t kNanosInMilli = 1'000'000;

// A year: what is longer could overflow.
inline constexpr Millis kLongestWait{365LL * 24 * 3600 * 1000};

class Session {
 public:
  // Opening and closing take a moment, for which others wait even if they have no time to.
  static constexpr Millis kLeastWait{1000};

  // Joins the processes that have the store at `store_path` open. Waits while one is alone with it,
  // for `busy_timeout` or kLeastWait, whichever is longer; then Code::busy.
  static Result<std::unique_ptr<Session>> join(const std::string& store_path, Millis busy_timeout);
  ~Session();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Whether no other process has the store open. While this one is alone, others wait in join().
  bool alone() const { return alone_; }
  bool try_alone();
  void let_others_in();

  // Code::busy after `timeout`; at once if it is zero, or if this thread has it already.
  Status lock(Millis timeout);
  void unlock();

  // In the child of a fork: closes the file, so that the locks end with the parent. Nothing else
  // may be called afterwards.
  void close_in_child();

 private:
  struct Page;

  Session(int file, Page* page, std::string path);
  const int file_;
  Page* const page_;
  const std::string path_;
  bool alone_ = false;
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
  bool is_foreign() const noexcept { return forks_ != forks.load(std::memory_order_relaxed); }

 private:
  static std::atomic<std::uint32_t> forks;  // between the first process and this one

  std::uint32_t forks_;
};

// The error of every call on a store that the parent opened.
Error foreign_error();

}  // namespace mayfly::internal
