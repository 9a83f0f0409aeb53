// SPDX-License-Identifier: Apache-2.0
// Session: that this process has a store open, and the write lock that all processes share.
//
// Beside the file of the store stands `path-shm`, one page that is mapped by all. A lock on its
// first byte is held by everybody as long as the store is open, so that one can find out whether
// one is alone; the kernel gives it up when a process dies. The page holds a robust mutex, which
// LMDB's own write lock follows: unlike that, ours can be tried, and waited for by a time limit. A
// process that dies holding it leaves nothing behind but the news.

#pragma once

#include <memory>
#include <string>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

class Session {
 public:
  // Joins those who have the store at `store_path` open. Waits while somebody is alone with it.
  static Result<std::unique_ptr<Session>> join(const std::string& store_path);
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

 private:
  struct Page;

  Session(int file, Page* page, std::string path);
  static bool set_lock(int file, short type, bool wait);

  const int file_;
  Page* const page_;
  const std::string path_;
  bool alone_ = false;
};

}  // namespace mayfly
