// SPDX-License-Identifier: Apache-2.0
// LPUSH, RPUSH, LPUSHX and RPUSHX.

#include <cstdint>
#include <span>

#include "commands/command.h"
#include "commands/list/list_steps.h"

namespace mayfly {
namespace {

// LPUSH key element [element ...]
void push_elements(Call& call, ListEnd end, bool needs_key) {
  const std::string_view key = call.word(1);
  Slot slot = call.find_to_write(key, ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot && needs_key) return call.reply().integer(0);
  if (slot == kNoSlot) slot = call.make_list(key);

  const Words elements = call.words().subspan(2);
  ListRef list = call.database().list(slot);
  list.prepare_push(elements);
  for (const std::string_view element : elements) list.push(end, element);
  call.reply().integer(static_cast<std::int64_t>(list.size()));
  call.changed(key, static_cast<std::int64_t>(elements.size()));
  call.notify(Event::list, push_event(end), key);
}

void lpush(Call& call) { push_elements(call, ListEnd::head, false); }
void rpush(Call& call) { push_elements(call, ListEnd::tail, false); }
void lpushx(Call& call) { push_elements(call, ListEnd::head, true); }
void rpushx(Call& call) { push_elements(call, ListEnd::tail, true); }

}  // namespace

std::span<const Command> list_push_commands() {
  static constexpr std::uint64_t kFlags = flag::write | flag::denyoom | flag::fast;
  static constexpr KeyRange kKey = one_key(access::rw | access::insert);
  // clang-format off
  static constexpr Command kRows[] = {
      {"lpush", lpush, -3, kFlags, kKey, "list", "1.0.0", "key element...",
       "Adds elements at the head of a list. Creates the list if it does not exist."},
      {"rpush", rpush, -3, kFlags, kKey, "list", "1.0.0", "key element...",
       "Adds elements at the tail of a list. Creates the list if it does not exist."},
      {"lpushx", lpushx, -3, kFlags | flag::needs_key, kKey, "list", "2.2.0", "key element...",
       "Adds elements at the head of a list that exists."},
      {"rpushx", rpushx, -3, kFlags | flag::needs_key, kKey, "list", "2.2.0", "key element...",
       "Adds elements at the tail of a list that exists."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
