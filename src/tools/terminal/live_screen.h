// SPDX-License-Identifier: Apache-2.0
// LiveScreen: the whole terminal, for a report that is drawn again and again. Restores it at the
// end.
//
//   StopSignals stop;
//   const LiveScreen screen;
//   while (!stop.asked()) {
//     screen.draw(lines());
//     if (wait_for_key(stop, true, monotonic_ns() + 1'000'000'000) == 'q') break;
//   }

#pragma once

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/terminal/terminal.h"

namespace mayfly {

class LiveScreen {
 public:
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  struct Size {
    std::size_t rows;
    std::size_t columns;
  };
  Size size() const;

  // Draws as many lines as fit.
  void draw(const std::vector<std::string>& lines) const;

 private:
  termios saved_{};
  bool has_keys_ = false;  // stdin is a terminal, too
};

// Waits for a key, a signal or the time. Returns the key, or 0.
char wait_for_key(StopSignals& stop, bool has_keys, std::int64_t until_ns);

}  // namespace mayfly
