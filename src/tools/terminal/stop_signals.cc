// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace mayfly {

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  fd_ = Fd(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
}

StopSignals::~StopSignals() {
  // One that came and was obeyed must not end the process when it is let through.
  (void)asked();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::asked() {
  signalfd_siginfo came{};
  while (::read(fd_.get(), &came, sizeof came) == static_cast<ssize_t>(sizeof came)) {
    is_asked_ = true;
  }
  return is_asked_;
}

}  // namespace mayfly
