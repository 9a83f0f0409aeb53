// SPDX-License-Identifier: Apache-2.0
// LLEN, LRANGE, LINDEX and LPOS.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "commands/command.h"
#include "commands/list/list_steps.h"

namespace mayfly {
namespace {

constexpr std::int64_t kLongMax = std::numeric_limits<std::int64_t>::max();

// LLEN key
void llen(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);
  call.reply().integer(static_cast<std::int64_t>(call.database().list(slot).size()));
}

// LRANGE key start stop
void lrange(Call& call) {
  const std::optional<std::int64_t> start = call.integer(2);
  if (!start) return;
  const std::optional<std::int64_t> stop = call.integer(3);
  if (!stop) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().array(0);
  const ListRef list = call.database().list(slot);
  const ListRange range = list_range(*start, *stop, list.size());
  reply_elements(call.reply(), list, range.first, range.count, true);
}

// LINDEX key index
void lindex(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();
  const std::optional<std::int64_t> number = call.integer(2);
  if (!number) return;
  const ListRef list = call.database().list(slot);
  const std::optional<std::size_t> index = list_index(*number, list.size());
  if (!index) return call.reply().null();
  reply_element(call.reply(), list.at(*index));
}

// ---- LPOS ----

struct LposOptions {
  std::int64_t rank = 1;                   // of the first match that counts; negative: from behind
  std::optional<std::int64_t> count = {};  // matches to reply with, 0: all; none: one, no array
  std::int64_t most = 0;                   // elements to look at; 0: all
};

bool read_lpos_option(Call& call, std::size_t i, LposOptions& options) {
  if (i + 1 == call.count()) {
    call.fail_syntax();
  } else if (call.is(i, "rank")) {
    const std::optional<std::int64_t> rank = call.integer(i + 1);
    if (!rank) return false;
    if (*rank == 0) {
      call.fail(
          "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or "
          "use negative to start from the end of the list");
    } else if (*rank < -kLongMax) {
      call.fail(kSymmetricRange);
    }
    options.rank = *rank;
  } else if (call.is(i, "count")) {
    options.count = call.integer(i + 1, 0, kLongMax, "ERR COUNT can't be negative");
  } else if (call.is(i, "maxlen")) {
    options.most = call.integer(i + 1, 0, kLongMax, "ERR MAXLEN can't be negative").value_or(0);
  } else {
    call.fail_syntax();
  }
  return !call.has_failed();
}

// Calls `emit(index)` for each match that counts, until it returns false.
template <class Emit>
void each_match(const ListRef& list, std::string_view text, const LposOptions& options, Emit emit) {
  const ListpackText wanted(text);
  const bool is_forward = options.rank > 0;
  const std::size_t size = list.size();
  const auto most = static_cast<std::size_t>(options.most);
  std::int64_t to_skip = (is_forward ? options.rank : -options.rank) - 1;
  std::size_t index = is_forward ? 0 : size - 1;
  list.each(index, most == 0 ? size : std::min(most, size), is_forward,
            [&](const ListpackValue& value) {
              const std::size_t here = index;
              is_forward ? ++index : --index;
              if (!value.equals(wanted) || to_skip-- > 0) return true;
              return emit(static_cast<std::int64_t>(here));
            });
}

// LPOS key element [RANK rank] [COUNT matches] [MAXLEN elements]
void lpos(Call& call) {
  LposOptions options;
  for (std::size_t i = 3; i < call.count(); i += 2) {
    if (!read_lpos_option(call, i, options)) return;
  }
  const Slot slot = call.find_to_read(call.word(1), ValueType::list);
  if (call.has_failed()) return;
  Reply& reply = call.reply();
  if (slot == kNoSlot) return options.count ? reply.array(0) : reply.null();

  const ListRef list = call.database().list(slot);
  const std::size_t place = reply.defer();
  const std::int64_t most = options.count.value_or(1);
  std::int64_t found = 0;
  each_match(list, call.word(2), options, [&](std::int64_t index) {
    reply.integer(index);
    return ++found != most;
  });
  if (options.count) return reply.array_at(place, static_cast<std::size_t>(found));
  if (found == 0) reply.null();
}

}  // namespace

std::span<const Command> list_read_commands() {
  static constexpr KeyRange kRead = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"llen", llen, 2, flag::readonly | flag::fast, one_key(access::ro), "list", "1.0.0", "key",
       "Returns the number of elements of a list."},
      {"lrange", lrange, 4, flag::readonly, kRead, "list", "1.0.0", "key start:int stop:int",
       "Returns a range of elements of a list."},
      {"lindex", lindex, 3, flag::readonly, kRead, "list", "1.0.0", "key index:int",
       "Returns an element of a list by its index."},
      {"lpos", lpos, -3, flag::readonly, kRead, "list", "6.0.6",
       "key element [RANK rank:int] [COUNT num-matches:int] [MAXLEN len:int]",
       "Returns the indexes of elements that are equal to a text."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
