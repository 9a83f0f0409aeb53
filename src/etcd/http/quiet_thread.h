// SPDX-License-Identifier: Apache-2.0
// A thread that gets no signals. The program's signals go to its own threads, and a connection that
// breaks while TLS writes to it is an error there, not the end of the program (SIGPIPE).

#pragma once

#include <csignal>
#include <functional>
#include <thread>
#include <utility>

namespace mayfly {

inline std::thread start_quiet_thread(std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace mayfly
