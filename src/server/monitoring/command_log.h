// SPDX-License-Identifier: Apache-2.0
// Slowlog: the latest commands that took long. COMMANDLOG has three of them: the commands that
// took long, those whose requests were large, and those whose replies were.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "resp/request.h"

namespace mayfly {

enum class LogKind { slow, large_request, large_reply };
inline constexpr std::size_t kLogKinds = 3;

struct SlowEntry {
  std::int64_t id = 0;
  Time at{};
  std::int64_t micros = 0;         // or bytes, of requests and replies
  std::vector<std::string> words;  // at most 32, of at most 128 bytes each, and what is left out
  std::string client_address;
  std::string client_name;
};

class Slowlog {
 public:
  // Keeps the command; the oldest goes if there are more than `most`.
  void add(Words words, std::int64_t micros, Time at, std::string_view address,
           std::string_view name, std::size_t most);
  void reset() { entries_.clear(); }

  // Drops the oldest until there are at most so many.
  void trim(std::size_t most) {
    if (entries_.size() > most) entries_.resize(most);
  }

  const std::deque<SlowEntry>& entries() const { return entries_; }  // the newest first

 private:
  std::deque<SlowEntry> entries_;
  std::int64_t next_id_ = 0;
};

}  // namespace mayfly
