// SPDX-License-Identifier: Apache-2.0
// RecentExpiries: the last few expiries, for somebody who looks on.
//
//   recent.read_since(0, 100, now);             // nothing yet: but from now on they are kept
//   ...
//   for (const RecentExpiry& one : recent.read_since(last, 100, now)) last = one.sequence;
//
// Expiries are kept for some seconds after each read; then the ring is emptied and costs nothing.
// Each has a number, which grows by one; a gap means that more came than the ring holds.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/keyspace.h"
#include "mayfly/time.h"

namespace mayfly {

struct RecentExpiry {
  std::uint64_t sequence = 0;
  int database = 0;
  std::string key;  // at most kTextMost bytes of it; the same of the member
  std::optional<std::string> member;
  ValueType type{};
  Time deadline{};
  Time at{};  // when it was removed
  FoundBy by{};
};

class RecentExpiries {
 public:
  static constexpr std::size_t kKept = 512;
  static constexpr std::size_t kTextMost = 256;
  static constexpr Millis kWatchTime{10'000};  // after a read

  // Whether somebody has read them within the last seconds.
  bool is_watched(Time now) const { return !is_due(watched_until_, now); }

  void add(int database, const ExpiringEntry& entry);

  // Those behind this number, in order; the last `limit` if there are more. 0: all that are kept.
  std::vector<RecentExpiry> read_since(std::uint64_t sequence, std::size_t limit, Time now);

  // How many were added: the number of the last one.
  std::uint64_t last_sequence() const { return last_; }

  // Gives the memory back.
  void clear();

 private:
  std::vector<RecentExpiry> ring_;  // number n is at n % kKept
  std::uint64_t last_ = 0;
  std::uint64_t cleared_ = 0;  // up to here nothing is kept
  Time watched_until_ = Time::min();
};

}  // namespace mayfly
