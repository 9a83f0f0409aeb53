// SPDX-License-Identifier: Apache-2.0
// Progress: how far a long run has come, what it does now and how long it will still take.
//
//   [██████████████▍             ]  48 %   1 M, uniform, wheel                      19 s left
//
// One line on stderr that is drawn over itself, and only if a person looks at it.

#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace mayfly {

class Progress {
 public:
  // `total` is the amount of work, in any unit. Draws nothing unless `visible`.
  Progress(std::FILE* out, bool visible, double total);

  // Wipes the line.
  ~Progress();

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Says what is done now.
  void begin(std::string_view what);

  // Some of the work is done, or will not be done.
  void add(double amount);

  double seconds() const;  // since it was made

 private:
  void draw();

  std::FILE* const out_;
  const bool is_visible_;
  const double total_;
  const std::int64_t start_ns_;
  double done_ = 0;
  std::string what_;
};

// The line itself: `done` from 0 to 1, after `seconds`.
std::string progress_line(double done, std::string_view what, double seconds);

// "12.3 K/s": how many in a second.
std::string rate_text(double per_second);

// A bar `width` characters long, drawn in eighths of a character; `share` from 0 to 1.
std::string text_bar(double share, std::size_t width);

}  // namespace mayfly
