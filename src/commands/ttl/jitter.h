// SPDX-License-Identifier: Apache-2.0
// JITTER percent: a TTL is made longer or shorter at random, evenly within that share of it, so
// that what was written together does not expire together.
//
//   SET page html EX 3600 JITTER 10          expires in 54 to 66 minutes
//
// Each key and each member of a request gets a random number of its own. It is drawn once, on the
// primary: replicas and the append-only file get the deadlines.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "commands/call.h"
#include "mayfly/time.h"

namespace mayfly {

struct Jitter {
  double percent = 0;     // 0 to 100
  bool is_given = false;  // the request has the option, maybe with 0

  // Reads the percentage at word `i`. False after an error reply.
  bool read(Call& call, std::size_t i);

  // The same if the words from `first` on are JITTER and a percentage, and no word follows. False
  // after an error reply: anything else is a wrong number of arguments.
  bool read_trailing(Call& call, std::size_t first);

  // Another time for the deadline, at least 1 ms from now. A deadline that is due or never stays.
  Time apply(Call& call, Time deadline) const;
};

// The deadlines of the members of one request: one for all, or, with jitter, one for each.
class MemberDeadlines {
 public:
  MemberDeadlines() = default;
  MemberDeadlines(Time deadline, const Jitter& jitter) : base_(deadline), jitter_(jitter) {}

  // Before jitter. Whether it is in the past decides for all members.
  Time base() const { return base_; }

  // For the next member.
  Time draw(Call& call) const { return jitter_.apply(call, base_); }

  // A member got this deadline.
  void keep(Time deadline) {
    if (jitter_.percent > 0) kept_.push_back(deadline);
  }

  // Calls `visit(deadline, first, count)` for each run of kept members that have one deadline, in
  // order. `all` is how many were kept.
  template <class Visit>
  void each_run(std::size_t all, Visit visit) const {
    if (kept_.empty()) return visit(base_, std::size_t{0}, all);
    for (std::size_t first = 0; first < kept_.size();) {
      std::size_t end = first + 1;
      while (end < kept_.size() && kept_[end] == kept_[first]) ++end;
      visit(kept_[first], first, end - first);
      first = end;
    }
  }

 private:
  Time base_ = kNever;
  Jitter jitter_;
  std::vector<Time> kept_;  // empty without jitter
};

}  // namespace mayfly
