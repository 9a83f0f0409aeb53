// SPDX-License-Identifier: Apache-2.0
// Log: lines with a level, to a file, to standard output, or to a test.

#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "mayfly/time.h"

namespace mayfly {

enum class Level { debug, verbose, notice, warning, nothing };

// Any other name means notice.
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
    if (is_on(level)) sink_(level, text);
  }

  template <class... Args>
  void verbose(fmt::format_string<Args...> form, Args&&... args) {
    if (is_on(Level::verbose))
      write(Level::verbose, fmt::format(form, std::forward<Args>(args)...));
  }
  template <class... Args>
  void notice(fmt::format_string<Args...> form, Args&&... args) {
    if (is_on(Level::notice)) write(Level::notice, fmt::format(form, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> form, Args&&... args) {
    if (is_on(Level::warning))
      write(Level::warning, fmt::format(form, std::forward<Args>(args)...));
  }

 private:
  bool is_on(Level level) const { return level >= level_ && level_ != Level::nothing; }

  Sink sink_;
  Level level_ = Level::notice;
};

// Errors of commands that a primary or a replica sent. The error reply is not read there, and
// the data of the two servers may differ.
class PeerErrors {
 public:
  struct Entry {
    std::string_view peer;     // "primary", "replica"
    std::string_view address;  // of the peer
    std::string_view command;  // as it came
    std::string_view error;    // "WRONGTYPE ..."
  };

  // Writes to the log, at most once a second for each kind of error. The next line says how many
  // were left out.
  void add(Log& log, Time now, const Entry& entry);

 private:
  struct Kind {
    Time next = Time::min();
    std::uint64_t left_out = 0;
  };
  std::map<std::string, Kind, std::less<>> kinds_;  // by the first word of the error
};

inline void PeerErrors::add(Log& log, Time now, const Entry& entry) {
  constexpr std::chrono::seconds kLogInterval{1};
  constexpr std::size_t kErrorKindsMax = 64;
  const std::string_view code = entry.error.substr(0, entry.error.find(' '));
  if (kinds_.size() >= kErrorKindsMax && !kinds_.contains(code)) kinds_.clear();
  Kind& kind = kinds_[std::string(code)];
  if (!is_due(kind.next, now)) {
    ++kind.left_out;
    return;
  }
  const std::string more =
      kind.left_out > 0 ? fmt::format("; {} more errors of this kind before", kind.left_out) : "";
  log.warning("A command from the {} {} failed: '{:.128}': {:.256} (the data may differ now){}",
              entry.peer, entry.address, entry.command, entry.error, more);
  kind = {now + kLogInterval, 0};
}

}  // namespace mayfly
