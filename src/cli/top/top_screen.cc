// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace mayfly {
namespace {

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

TopScreen::TopScreen() {
  if (tcgetattr(STDIN_FILENO, &before_) == 0) {
    has_keys_ = true;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // Ctrl-Z would leave our screen to the shell
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  write_out("\x1b[?1049h\x1b[?25l\x1b[2J");  // another screen, no cursor
}

TopScreen::~TopScreen() {
  write_out("\x1b[?25h\x1b[?1049l");
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

TopScreen::Size TopScreen::size() const {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0) return {24, 80};
  return {window.ws_row, window.ws_col};
}

void TopScreen::draw(const std::vector<std::string>& lines) const {
  const std::size_t shown = std::min(lines.size(), size().rows);
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{}\x1b[K", i == 0 ? "" : "\r\n", lines[i]);
  }
  write_out(text + "\x1b[J");
}

}  // namespace mayfly
