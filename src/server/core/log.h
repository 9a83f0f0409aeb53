// SPDX-License-Identifier: Apache-2.0
// Log: lines with a level, to a file, to standard output, or to a test.

#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace mayfly {

enum class Level { debug, verbose, notice, warning, nothing };

// A name that is none of these means notice.
inline Level parse_level(std::string_view name) {
  if (name == "debug") return Level::debug;
  if (name == "verbose") return Level::verbose;
  if (name == "warning") return Level::warning;
  return name == "nothing" ? Level::nothing : Level::notice;
}

class Log {
 public:
  using Sink = std::function<void(Level, std::string_view)>;
  explicit Log(Sink sink) : sink_(std::move(sink)) {}

  Level level() const { return level_; }
  void set_level(Level level) { level_ = level; }
  void set_sink(Sink sink) { sink_ = std::move(sink); }
  void write(Level level, std::string_view text) {
    if (level >= level_ && level_ != Level::nothing) sink_(level, text);
  }

 private:
  Sink sink_;
  Level level_ = Level::notice;
};

}  // namespace mayfly
