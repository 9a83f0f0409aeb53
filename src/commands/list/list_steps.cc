// SPDX-License-Identifier: Apache-2.0
#include "commands/list/list_steps.h"

#include <algorithm>

#include "commands/steps.h"

namespace mayfly {

std::optional<ListEnd> read_list_end(Call& call, std::size_t i) {
  if (call.is(i, "left")) return ListEnd::head;
  if (call.is(i, "right")) return ListEnd::tail;
  call.fail_syntax();
  return std::nullopt;
}

std::optional<std::size_t> list_index(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index >= count || index < -count) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

ListRange list_range(std::int64_t start, std::int64_t stop, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t first = std::max<std::int64_t>(start < 0 ? start + count : start, 0);
  const std::int64_t last = std::min(stop < 0 ? stop + count : stop, count - 1);
  if (first > last) return {};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1)};
}

void reply_elements(Reply& reply, const ListRef& list, std::size_t first, std::size_t count,
                    bool is_forward) {
  reply.array(count);
  if (count == 0) return;
  list.each(first, count, is_forward, [&](const ListpackValue& value) {
    reply_element(reply, value);
    return true;
  });
}

void finish_pop(Call& call, ListRef& list, std::string_view key, ListEnd end, std::size_t count) {
  call.notify(Event::list, pop_event(end), key);
  call.finish(list, key);
  call.changed(key, static_cast<std::int64_t>(count));
}

void remove_list(Call& call, const ListRef& list, std::string_view key) {
  call.count_changes(static_cast<std::int64_t>(list.size()) - 1);  // remove_key() counts one
  remove_key(call, list.slot(), key);
}

}  // namespace mayfly
