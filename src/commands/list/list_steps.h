// SPDX-License-Identifier: Apache-2.0
// What the commands of lists share: ends and indexes as requests name them, replies with elements,
// and the end of a command that takes elements away.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "keyspace/list/list_ref.h"

namespace mayfly {

// ---- Ends ----

// LEFT or RIGHT in word `i`. Nothing after an error reply.
std::optional<ListEnd> read_list_end(Call& call, std::size_t i);

constexpr std::string_view push_event(ListEnd end) {
  return end == ListEnd::head ? "lpush" : "rpush";
}
constexpr std::string_view pop_event(ListEnd end) { return end == ListEnd::head ? "lpop" : "rpop"; }

// The command that pops there, as it is propagated.
constexpr std::string_view pop_command(ListEnd end) {
  return end == ListEnd::head ? "LPOP" : "RPOP";
}

// The error for a number that must have a counterpart of the other sign.
inline constexpr std::string_view kSymmetricRange =
    "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";

// ---- Indexes; negative ones count from the end ----

// Nothing if there is no such element.
std::optional<std::size_t> list_index(std::int64_t index, std::size_t size);

// The elements from `start` to `stop`, both included.
struct ListRange {
  std::size_t first = 0;
  std::size_t count = 0;
};
ListRange list_range(std::int64_t start, std::int64_t stop, std::size_t size);

// ---- Replies ----

inline void reply_element(Reply& reply, const ListpackValue& value) {
  if (value.is_number) return reply.bulk_integer(value.number);
  reply.bulk(value.text);
}

// An array of `count` elements from `first` on, forward or backward.
void reply_elements(Reply& reply, const ListRef& list, std::size_t first, std::size_t count,
                    bool is_forward);

// ---- Taking ----

// The list of the key has lost elements at this end: notifies of the pop, and removes the key, with
// a `del`, if none is left. The reference is invalid then.
void finish_pop(Call& call, ListRef& list, std::string_view key, ListEnd end, std::size_t count);

// Removes the key with all its elements, and notifies of `del`. A large list is freed later, in
// slices.
void remove_list(Call& call, const ListRef& list, std::string_view key);

}  // namespace mayfly
