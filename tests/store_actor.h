// SPDX-License-Identifier: Apache-2.0
// Actor: a process that runs a function, stops at the steps that it is told, goes on, or is killed.
// For tests of a store that was built with hooks (src/store/log/test_hooks.h): its steps are
// theirs, and the calls on files (power_cut_calls.h).
//
//   Actor writer([&] { store.put("key", "value"); });
//   writer.run_to("tail");   // false: it has ended before
//   writer.kill();

#pragma once

#ifndef MAYFLY_STORE_TEST_HOOKS
#define MAYFLY_STORE_TEST_HOOKS  // it is for programs that have the hooks
#endif

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>

#include "power_cut_calls.h"
#include "store/log/test_hooks.h"

namespace mayfly::internal {

class Actor {
 public:
  // The process waits at its beginning.
  explicit Actor(const std::function<void()>& work) {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = new (memory) Shared;
    std::fflush(nullptr);
    process_ = ::fork();
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    mine() = this;
    main_thread() = ::gettid();
    on_step = on_call = [](const char* what) { mine()->step(what); };
    wait_for_go();
    work();
    std::_Exit(0);
  }
  ~Actor() {
    if (process_ != 0) kill();
    ::munmap(shared_, sizeof(Shared));
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // Goes on, and stops before the nth step of this name. False if it ends before that, or does not
  // get there within some time.
  bool run_to(const char* step, int nth = 1, int patience_ms = kPatienceMs) {
    std::snprintf(shared_->stop, sizeof shared_->stop, "%s", step);
    shared_->left = nth;
    shared_->state = kGo;
    for (int turn = 0; turn < patience_ms * 5; ++turn) {
      if (shared_->state == kStopped) return true;
      if (has_ended()) return false;
      (void)::poll(nullptr, 0, 1);
    }
    return false;
  }

  // Goes on to its end, and returns how it ended: 0, if all was well. Negative: it did not.
  int finish(int patience_ms = kPatienceMs) {
    run_to("", 1, patience_ms);
    return has_ended() ? status_ : -1;
  }

  void kill() {
    if (has_ended()) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, &status_, 0);
    process_ = 0;
  }

  // It kills itself before the nth of its next steps, in whichever thread.
  void kill_at(std::uint64_t nth) { shared_->kills_in = nth; }

  // The thread of the log does not work.
  void hold_thread() { shared_->holds_thread = true; }

 private:
  static constexpr int kPatienceMs = 20'000;
  static constexpr int kWaiting = 0;
  static constexpr int kGo = 1;
  static constexpr int kStopped = 2;

  struct Shared {
    std::atomic<int> state{kWaiting};
    std::atomic<int> left{0};
    std::atomic<bool> holds_thread{false};
    std::atomic<std::uint64_t> kills_in{0};  // 0: never
    char stop[64]{};
  };

  static Actor*& mine() {
    static Actor* actor = nullptr;
    return actor;
  }
  static pid_t& main_thread() {
    static pid_t thread = 0;
    return thread;
  }

  bool has_ended() {
    if (process_ == 0) return true;
    if (::waitpid(process_, &status_, WNOHANG) == 0) return false;
    process_ = 0;
    return true;
  }

  void wait_for_go() {
    while (shared_->state != kGo) (void)::poll(nullptr, 0, 1);
  }

  void step(const char* what) {
    if (shared_->kills_in != 0 && --shared_->kills_in == 0) ::kill(::getpid(), SIGKILL);
    if (::gettid() != main_thread()) {
      while (shared_->holds_thread && std::strcmp(what, "thread") == 0) (void)::poll(nullptr, 0, 1);
      return;
    }
    if (std::strcmp(what, shared_->stop) != 0 || --shared_->left != 0) return;
    shared_->state = kStopped;
    wait_for_go();
  }

  Shared* shared_;
  pid_t process_ = 0;
  int status_ = 0;
};

}  // namespace mayfly::internal
