// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/terminal.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace mayfly {
namespace {

[[noreturn]] void fail() {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category());
}

}  // namespace

bool is_terminal(int descriptor) {
  const char* const term = std::getenv("TERM");
  return isatty(descriptor) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

bool wants_colours() {
  const char* const no_color = std::getenv("NO_COLOR");
  return is_terminal(STDOUT_FILENO) && (no_color == nullptr || *no_color == '\0');
}

void write_output(std::string_view bytes) {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail();
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail();
}

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  fd_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

StopSignals::~StopSignals() {
  // A pending signal that was obeyed must not end the process when it is unblocked.
  (void)asked();
  ::close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::asked() {
  signalfd_siginfo received{};
  while (::read(fd_, &received, sizeof received) == static_cast<ssize_t>(sizeof received)) {
    is_asked_ = true;
  }
  return is_asked_;
}

}  // namespace mayfly
