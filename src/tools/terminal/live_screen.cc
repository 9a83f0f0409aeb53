// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/live_screen.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

void write_terminal(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

LiveScreen::LiveScreen() {
  if (tcgetattr(STDIN_FILENO, &saved_) == 0) {
    has_keys_ = true;
    termios keys = saved_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // no Ctrl-Z: it would leave our screen to the shell
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  write_terminal("\x1b[?1049h\x1b[?25l\x1b[2J");  // alternate screen, no cursor
}

LiveScreen::~LiveScreen() {
  write_terminal("\x1b[?25h\x1b[?1049l");
  if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
}

LiveScreen::Size LiveScreen::size() const {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0) return {24, 80};
  return {window.ws_row, window.ws_col};
}

void LiveScreen::draw(const std::vector<std::string>& lines) const {
  const std::size_t shown = std::min(lines.size(), size().rows);
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{}\x1b[K", i == 0 ? "" : "\r\n", lines[i]);
  }
  write_terminal(text + "\x1b[J");
}

char wait_for_key(StopSignals& stop, bool has_keys, std::int64_t until_ns) {
  const std::int64_t left_ms = (until_ns - monotonic_ns() + 999'999) / 1'000'000;
  std::array<pollfd, 2> waits = {{{stop.descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  const int ready =
      ::poll(waits.data(), has_keys ? 2 : 1, static_cast<int>(std::max<std::int64_t>(left_ms, 0)));
  char key = 0;
  if (ready > 0 && has_keys && waits[1].revents != 0) {
    if (::read(STDIN_FILENO, &key, 1) != 1) return 'q';  // the terminal was closed
  }
  return key;
}

}  // namespace mayfly
