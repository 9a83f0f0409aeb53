// SPDX-License-Identifier: Apache-2.0
#include "commands/ttl/expire_scan.h"

#include <algorithm>
#include <utility>

#include "commands/ttl/moment.h"

namespace mayfly {
namespace {

// Entries with the same deadline that are on one page at most. Then a block of slots ends it.
constexpr std::size_t kSameDeadlineMost = 10'000;
constexpr unsigned kSlotBits = 9;    // of a slot within its block
constexpr unsigned kBlockBits = 23;  // of a block: 32 in all

// The number of a cursor has 64 bits until the year 2039, and more from then on.
__extension__ typedef unsigned __int128 Number;

std::string cursor_of(Time deadline, Slot first_slot) {
  const auto ms = static_cast<std::uint64_t>(deadline.time_since_epoch().count());
  Number number = Number{ms} << kBlockBits | first_slot >> kSlotBits;
  std::string digits;
  for (; number > 0; number /= 10) digits += static_cast<char>('0' + static_cast<int>(number % 10));
  std::ranges::reverse(digits);
  return digits;
}

// Sets where the page begins. Returns false if the text is no cursor.
bool read_cursor(std::string_view text, ExpireScan& scan) {
  constexpr std::size_t kDigitsMost = 27;  // of 63 + 23 bits
  Number number = 0;
  if (text.empty() || text.size() > kDigitsMost) return false;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    number = number * 10 + static_cast<unsigned>(digit - '0');
  }
  if (number >> kBlockBits > static_cast<std::uint64_t>(kNever.time_since_epoch().count())) {
    return false;
  }
  if (number == 0) return true;
  const Time deadline(Millis(static_cast<std::int64_t>(number >> kBlockBits)));
  if (deadline < scan.from) return true;
  scan.from = deadline;
  const auto block = static_cast<Slot>(number & ((1u << kBlockBits) - 1));
  scan.first_slot = block << kSlotBits;
  return true;
}

// Makes pages out of groups of entries that have the same deadline.
class Pager {
 public:
  explicit Pager(const ExpireScan& scan) : scan_(scan) {}

  bool see(Slot slot, Time deadline) {
    if (deadline == scan_.from && slot < scan_.first_slot) return true;
    if (!group_.empty() && deadline != deadline_) {
      end_group();
      if (is_full_) {
        if (page_.cursor == "0") page_.cursor = cursor_of(deadline, 0);
        return false;
      }
    }
    deadline_ = deadline;
    group_.push_back(slot);
    return true;
  }

  ExpirePage take() {
    if (!is_full_) end_group();
    return std::move(page_);
  }

 private:
  void end_group() {
    if (group_.size() > kSameDeadlineMost) cut_group();
    for (const Slot slot : group_) page_.items.push_back({slot, deadline_});
    group_.clear();
    is_full_ = page_.items.size() >= scan_.options.count || page_.cursor != "0";
  }

  // Keeps the first slots, by their numbers, up to the end of a block.
  void cut_group() {
    std::ranges::sort(group_);
    const Slot next = ((group_[kSameDeadlineMost] >> kSlotBits) + 1) << kSlotBits;
    const auto end = std::ranges::lower_bound(group_, next);
    if (end == group_.end()) return;
    group_.erase(end, group_.end());
    page_.cursor = cursor_of(deadline_, next);
  }

  const ExpireScan& scan_;
  ExpirePage page_;
  std::vector<Slot> group_;
  Time deadline_ = Time::min();
  bool is_full_ = false;
};

}  // namespace

std::optional<ExpireScan> expire_scan(Call& call, std::size_t i, ScanKind kind) {
  ExpireScan scan;
  std::size_t next = i + 1;
  if (!call.is(next, "from") || next + 3 >= call.count() || !call.is(next + 2, "to")) {
    call.fail_syntax();
    return std::nullopt;
  }
  const std::optional<Time> from = moment_argument(call, next + 1);
  if (!from) return std::nullopt;
  const std::optional<Time> to = moment_argument(call, next + 3);
  if (!to) return std::nullopt;
  scan.from = std::max(*from, call.now() + Millis(1));  // what is due does not exist
  scan.to = *to;
  if (!read_cursor(call.word(i), scan)) {
    call.fail("ERR invalid cursor");
    return std::nullopt;
  }
  const std::optional<ScanOptions> options = scan_words(call, next + 4, kind);
  if (!options) return std::nullopt;
  scan.options = *options;
  return scan;
}

ExpirePage expire_page(const ExpireScan& scan, const VisitDeadlines& visit) {
  Pager pager(scan);
  if (scan.from >= scan.to) return pager.take();
  const Time end = visit(scan.from, scan.to,
                         [&](Slot slot, Time deadline) { return pager.see(slot, deadline); });
  ExpirePage page = pager.take();
  if (page.cursor == "0" && end < scan.to) page.cursor = cursor_of(end, 0);
  return page;
}

}  // namespace mayfly
