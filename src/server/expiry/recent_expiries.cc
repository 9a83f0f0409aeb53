// SPDX-License-Identifier: Apache-2.0
#include "server/expiry/recent_expiries.h"

#include <algorithm>

namespace mayfly {

void RecentExpiries::add(int database, const ExpiringEntry& entry) {
  if (ring_.empty()) ring_.resize(kKept);
  RecentExpiry& one = ring_[++last_ % kKept];
  one.sequence = last_;
  one.database = database;
  one.key.assign(entry.key.substr(0, kTextMost));
  if (!entry.member) {
    one.member.reset();
  } else if (one.member) {
    one.member->assign(entry.member->substr(0, kTextMost));
  } else {
    one.member.emplace(entry.member->substr(0, kTextMost));
  }
  one.type = entry.type;
  one.deadline = entry.deadline;
  one.at = entry.at;
  one.by = entry.by;
}

std::vector<RecentExpiry> RecentExpiries::read_since(std::uint64_t sequence, std::size_t limit,
                                                     Time now) {
  watched_until_ = now + kWatchTime;
  const std::uint64_t oldest = last_ - std::min<std::uint64_t>(last_ - cleared_, kKept);
  const std::uint64_t begin =
      std::max({std::min(sequence, last_), oldest, last_ - std::min<std::uint64_t>(last_, limit)});
  std::vector<RecentExpiry> read;
  for (std::uint64_t number = begin + 1; number <= last_; ++number) {
    read.push_back(ring_[number % kKept]);
  }
  return read;
}

void RecentExpiries::clear() {
  ring_ = {};
  cleared_ = last_;
}

}  // namespace mayfly
