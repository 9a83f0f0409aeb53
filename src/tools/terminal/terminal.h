// SPDX-License-Identifier: Apache-2.0
// The terminal and the standard streams: whether a person watches, output that reports failures,
// and Ctrl-C.

#pragma once

#include <csignal>
#include <string_view>

namespace mayfly {

// Whether a person watches it: a terminal that is not "dumb".
bool is_terminal(int descriptor);

// Whether standard output is such a terminal and NO_COLOR is not set (see no-color.org).
bool wants_colours();

// Writes bytes to standard output, after what fmt::print wrote. Like fmt::print, these functions
// throw std::system_error on failure; Program::run (cli/program.h) reports it.
void write_output(std::string_view bytes);
void flush_output();

// Ctrl-C, SIGTERM and SIGHUP as a flag, for work that must end in good order.
//
//   StopSignals stop;
//   while (more && !stop.asked()) do_some();
//
// While it lives, these signals do not end the process. Create it before any thread.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Whether a signal arrived since it was created.
  bool asked();

  // Readable when a signal arrived: for poll().
  int descriptor() const { return fd_; }

 private:
  sigset_t before_{};
  int fd_ = -1;
  bool is_asked_ = false;
};

}  // namespace mayfly
