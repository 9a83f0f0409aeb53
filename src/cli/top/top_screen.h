// SPDX-License-Identifier: Apache-2.0
// TopScreen: the whole terminal, for as long as it lives. What was on it before is there again
// afterwards, and the terminal is as it was.

#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace mayfly {

class TopScreen {
 public:
  TopScreen();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  struct Size {
    std::size_t rows;
    std::size_t columns;
  };
  Size size() const;

  // As many lines as fit; those at the end go first.
  void draw(const std::vector<std::string>& lines) const;

 private:
  termios before_{};
  bool has_keys_ = false;  // the input is a terminal, too
};

}  // namespace mayfly
