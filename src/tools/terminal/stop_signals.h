// SPDX-License-Identifier: Apache-2.0
// StopSignals: Ctrl-C and SIGTERM as something to look at, for work that ends in good order.
//
//   StopSignals stop;
//   while (more && !stop.asked()) do_some();
//
// From when it is made, these signals no longer end the process; make it before threads are made.
// At its end they mean again what they meant before.

#pragma once

#include <csignal>

#include "net/socket.h"

namespace mayfly {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Whether one has come since the beginning.
  bool asked();

  // Readable when one has come: to be waited for together with other things.
  int descriptor() const { return fd_.get(); }

 private:
  sigset_t before_{};
  Fd fd_;
  bool is_asked_ = false;
};

}  // namespace mayfly
