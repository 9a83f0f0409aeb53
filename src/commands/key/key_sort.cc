// SPDX-License-Identifier: Apache-2.0
// SORT and SORT_RO. There are no lists, sets or sorted sets yet: a missing key sorts to nothing,
// and any other has the wrong type. Options are checked.

#include <optional>

#include "commands/call.h"
#include "commands/command.h"
#include "commands/steps.h"

namespace mayfly {
namespace {

struct SortOptions {
  std::optional<std::string_view> store;
};

// Reads the option at word `i` and returns how many words it takes; 0 if there has been an error.
std::size_t read_sort_option(Call& call, std::size_t i, SortOptions& options) {
  const std::size_t left = call.count() - i - 1;
  const bool may_store = (call.command().flags & flag::write) != 0;
  if (call.is(i, "asc") || call.is(i, "desc") || call.is(i, "alpha")) return 1;
  if ((call.is(i, "by") || call.is(i, "get")) && left >= 1) return 2;
  if (call.is(i, "limit") && left >= 2) {
    return call.integer(i + 1) && call.integer(i + 2) ? 3 : 0;
  }
  if (call.is(i, "store") && left >= 1 && may_store) {
    options.store = call.word(i + 1);
    return 2;
  }
  call.fail_syntax();
  return 0;
}

// SORT key [BY pattern] [LIMIT first count] [GET pattern ...] [ASC | DESC] [ALPHA] [STORE key]
void sort(Call& call) {
  SortOptions options;
  for (std::size_t i = 2; i < call.count();) {
    const std::size_t taken = read_sort_option(call, i, options);
    if (taken == 0) return;
    i += taken;
  }
  if (call.find_to_read(call.word(1)) != kNoSlot) return call.fail_wrong_type();
  if (!options.store) return call.reply().array(0);

  const Slot slot = call.find(*options.store);
  if (slot != kNoSlot) remove_key(call, slot, *options.store);
  call.reply().integer(0);
}

}  // namespace

std::span<const Command> key_sort_commands() {
  static constexpr std::uint32_t kFlags = flag::movablekeys | flag::dangerous;
  static constexpr KeyRange kSorted = one_key(access::ro | access::access);
  static constexpr Command kRows[] = {
      {"sort", sort, -2, flag::write | flag::denyoom | flag::store_option | kFlags, kSorted,
       "generic", "1.0.0",
       "key [BY pattern:pattern] [LIMIT offset:int count:int] [GET pattern:pattern]... "
       "[order:(ASC | DESC)] [ALPHA] [STORE destination:key]",
       "Sorts a list, a set or a sorted set, and returns or stores the result."},
      {"sort_ro", sort, -2, flag::readonly | kFlags, kSorted, "generic", "7.0.0",
       "key [BY pattern:pattern] [LIMIT offset:int count:int] [GET pattern:pattern]... "
       "[order:(ASC | DESC)] [ALPHA]",
       "Sorts a list, a set or a sorted set, and returns the result."},
  };
  return kRows;
}

}  // namespace mayfly
