// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mayfly/internal/stopwatch.h"

namespace mayfly {

Progress::Progress(std::FILE* out, bool visible, double total)
    : out_(out), is_visible_(visible), total_(total), start_ns_(monotonic_ns()) {}

Progress::~Progress() {
  if (is_visible_) fmt::print(out_, "\r\x1b[K");
}

void Progress::begin(std::string_view what) {
  what_ = what;
  draw();
}

void Progress::add(double amount) {
  done_ += amount;
  draw();
}

double Progress::seconds() const { return static_cast<double>(monotonic_ns() - start_ns_) / 1e9; }

void Progress::draw() {
  if (!is_visible_) return;
  fmt::print(out_, "\r{}\x1b[K", progress_line(done_ / total_, what_, seconds()));
  std::fflush(out_);
}

std::string progress_line(double done, std::string_view what, double seconds) {
  done = std::clamp(done, 0.0, 1.0);
  std::string line = fmt::format("[{}] {:3.0f} %  {:<37}", text_bar(done, 20), done * 100, what);
  // Too early a guess would be a wild one.
  if (done > 0.02) line += fmt::format(" {:3.0f} s left", std::ceil(seconds / done - seconds));
  return line;
}

std::string rate_text(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.1f} M/s", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.1f} K/s", per_second / 1e3);
  return fmt::format("{:.0f}/s", per_second);
}

std::string text_bar(double share, std::size_t width) {
  constexpr std::array<std::string_view, 8> kPart = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double eighths = std::clamp(share, 0.0, 1.0) * static_cast<double>(width) * 8;
  const auto filled = static_cast<std::size_t>(std::lround(eighths));
  std::string bar;
  for (std::size_t i = 0; i < filled / 8; ++i) bar += "█";
  bar += kPart[filled % 8];
  const std::size_t used = filled / 8 + (filled % 8 > 0 ? 1 : 0);
  bar.append(width - used, ' ');
  return bar;
}

}  // namespace mayfly
