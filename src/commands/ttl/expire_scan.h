// SPDX-License-Identifier: Apache-2.0
// What EXPIRESCAN, HEXPIRESCAN, SEXPIRESCAN and ZEXPIRESCAN share: pages of entries in the order of
// their deadlines.
//
//   cursor FROM moment TO moment [MATCH pattern] [COUNT count] [TYPE type]
//
// A cursor is a place in time: (deadline, block of slots) as one number. An entry that exists, with
// the same deadline, from the first page to the last is on exactly one of them. COUNT is about how
// many entries are looked at; those with the same deadline are not cut into two pages unless they
// are very many. FROM is included, TO is not. What is due is left out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "commands/scan_options.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

struct ExpireScan {
  Time from = Time::min();  // where the page begins, by the cursor or by FROM
  Slot first_slot = 0;      // of those with just this deadline
  Time to = kNever;
  ScanOptions options;
};

// Reads the cursor at word `i` and all words after it. An error reply and nothing if one is wrong.
std::optional<ExpireScan> expire_scan(Call& call, std::size_t i, ScanKind kind);

struct ExpirePage {
  struct Item {
    Slot slot;
    Time deadline;
  };
  std::vector<Item> items;   // in the order of deadlines
  std::string cursor = "0";  // of the next page
};

// Calls a function for slots with from <= deadline < to, soonest first, until it returns false.
// Returns where it ended: `to`, or an earlier moment if the next page has to go on there.
using VisitDeadlines =
    std::function<Time(Time from, Time to, const std::function<bool(Slot, Time)>& see)>;

ExpirePage expire_page(const ExpireScan& scan, const VisitDeadlines& visit);

}  // namespace mayfly
