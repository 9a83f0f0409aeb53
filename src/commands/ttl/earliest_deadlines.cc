// SPDX-License-Identifier: Apache-2.0
#include "commands/ttl/earliest_deadlines.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mayfly {
namespace {

constexpr std::size_t kStep = 256;  // entries taken from an index at a time, or a few more
constexpr std::size_t kExaminedMost = 8'192;  // by one call, or a few more

using Entry = std::pair<Time, Slot>;

// What one index has from some moment on: all entries before `end`.
struct Part {
  std::vector<Entry> entries;
  Time end;
};

// Entries with the same deadline stay together.
template <class Visit>
Part next_part(Time from, Time to, Visit visit) {
  Part part{.entries = {}, .end = to};
  visit(from, to, [&](Slot slot, Time deadline) {
    if (part.entries.size() >= kStep && deadline != part.entries.back().first) {
      part.end = deadline;
      return false;
    }
    part.entries.emplace_back(deadline, slot);
    return true;
  });
  return part;
}

class EarliestFirst {
 public:
  EarliestFirst(Database& database, Time now) : database_(database), now_(now) {
    // The index has these under deadlines that have passed.
    database.visit_member_deadlines(Time::min(), now + Millis(1), [&](Slot slot, Time) {
      const Time deadline = first_of_members(slot);
      if (deadline != kNever) late_.emplace_back(deadline, slot);
      return true;
    });
  }

  // The keys with a deadline in [from, to), or before an earlier moment, which becomes `to`.
  std::vector<Entry> next(Time from, Time& to) {
    const Part own = next_part(from, to, [&](Time first, Time last, const auto& see) {
      database_.visit_deadlines(first, last, see);
    });
    const Part members = next_part(from, to, [&](Time first, Time last, const auto& see) {
      database_.visit_member_deadlines(first, last, see);
    });
    to = std::min(own.end, members.end);
    examined_ += own.entries.size() + members.entries.size();

    std::vector<Entry> found;
    for (const auto& [deadline, slot] : own.entries) {
      if (deadline < to && first_of_members(slot) >= deadline) found.emplace_back(deadline, slot);
    }
    for (const auto& [indexed, slot] : members.entries) {
      if (indexed < to) add(found, database_.settle_member_deadline(slot), slot, to);
    }
    for (const auto& [deadline, slot] : late_) {
      if (deadline >= from) add(found, deadline, slot, to);
    }
    std::ranges::sort(found);
    return found;
  }

  bool has_examined_enough() const { return examined_ >= kExaminedMost; }

 private:
  Time first_of_members(Slot slot) const {
    return database_.first_member_deadline(slot, now_ + Millis(1));
  }

  // Adds the key, unless its own deadline is as early.
  void add(std::vector<Entry>& found, Time deadline, Slot slot, Time to) const {
    if (deadline < to && deadline < database_.deadline(slot)) found.emplace_back(deadline, slot);
  }

  Database& database_;
  Time now_;
  std::vector<Entry> late_;
  std::size_t examined_ = 0;
};

}  // namespace

Time visit_earliest(Database& database, Time now, Time from, Time to,
                    const std::function<bool(Slot, Time)>& see) {
  EarliestFirst keys(database, now);
  while (from < to && !keys.has_examined_enough()) {
    Time end = to;
    for (const auto& [deadline, slot] : keys.next(from, end)) {
      if (!see(slot, deadline)) return end;
    }
    from = end;
  }
  return from;
}

}  // namespace mayfly
