// SPDX-License-Identifier: Apache-2.0
// LPOP, RPOP and LMPOP, and BLPOP, BRPOP and BLMPOP, which wait for an element.
//
// A pop from one of several keys is propagated as LPOP or RPOP of that key.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "commands/command.h"
#include "commands/list/list_steps.h"
#include "commands/pop_arguments.h"
#include "commands/wait_time.h"

namespace mayfly {
namespace {

constexpr bool is_head(ListEnd end) { return end == ListEnd::head; }

// Replies with the element at this end.
void reply_end(Reply& reply, const ListRef& list, ListEnd end) {
  reply_element(reply, list.at(is_head(end) ? 0 : list.size() - 1));
}

// Replies with so many elements, the nearest to this end first, and takes them away.
// REQUIRES: count <= list.size().
void take_elements(Call& call, ListRef& list, std::string_view key, ListEnd end,
                   std::size_t count) {
  reply_elements(call.reply(), list, is_head(end) ? 0 : list.size() - 1, count, is_head(end));
  if (count == list.size()) {
    call.notify(Event::list, pop_event(end), key);
    return remove_list(call, list, key);
  }
  list.drop(end, count);
  finish_pop(call, list, key, end, count);
}

// ---- One key ----

// LPOP key
void pop_element(Call& call, ListEnd end) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();
  ListRef list = call.database().list(slot);
  reply_end(call.reply(), list, end);
  list.drop(end, 1);
  finish_pop(call, list, key, end, 1);
}

// LPOP key count
void pop_counted(Call& call, ListEnd end) {
  const std::optional<std::int64_t> count =
      call.integer(2, 0, std::numeric_limits<std::int64_t>::max(),
                   "ERR value is out of range, must be positive");
  if (!count) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null_array();
  if (*count == 0) return call.reply().array(0);
  ListRef list = call.database().list(slot);
  take_elements(call, list, key, end, std::min<std::size_t>(list.size(), *count));
}

void pop_of_key(Call& call, ListEnd end) {
  if (call.count() > 3) return call.fail_arity();
  call.count() == 3 ? pop_counted(call, end) : pop_element(call, end);
}

void lpop(Call& call) { pop_of_key(call, ListEnd::head); }
void rpop(Call& call) { pop_of_key(call, ListEnd::tail); }

// ---- Several keys ----

struct ListPop {
  Words keys = {};
  ListEnd end = ListEnd::head;
  std::optional<std::size_t> count = {};  // none: [key, element], else [key, [element, ...]]
};

void pop_list(Call& call, Slot slot, std::string_view key, const ListPop& pop) {
  ListRef list = call.database().list(slot);
  call.reply().array(2);
  call.reply().bulk(key);
  if (pop.count) {
    const std::size_t count = std::min(*pop.count, list.size());
    take_elements(call, list, key, pop.end, count);
    return call.propagate_as(pop_command(pop.end), key, std::to_string(count));
  }
  reply_end(call.reply(), list, pop.end);
  list.drop(pop.end, 1);
  finish_pop(call, list, key, pop.end, 1);
  call.propagate_as(pop_command(pop.end), key);
}

// Pops from the first key that exists. Returns false, without a reply, if none does.
bool pop_first_list(Call& call, const ListPop& pop) {
  for (const std::string_view key : pop.keys) {
    const Slot slot = call.find_to_write(key, ValueType::list);
    if (call.has_failed()) return true;
    if (slot == kNoSlot) continue;
    pop_list(call, slot, key, pop);
    return true;
  }
  return false;
}

// numkeys key [key ...] <LEFT | RIGHT> [COUNT count], from word `at` on.
std::optional<ListPop> read_list_pop(Call& call, std::size_t at) {
  const std::optional<PopArguments> read = read_pop_arguments(call, at, "left", "right");
  if (!read) return std::nullopt;
  return ListPop{read->keys, read->is_from_back ? ListEnd::tail : ListEnd::head, read->count};
}

// LMPOP numkeys key [key ...] <LEFT | RIGHT> [COUNT count]
void lmpop(Call& call) {
  const std::optional<ListPop> pop = read_list_pop(call, 1);
  if (pop && !pop_first_list(call, *pop)) call.reply().null_array();
}

// ---- Waiting ----

// Pops, or waits until it is possible. `timeout` is the word with the seconds.
void pop_list_or_wait(Call& call, const ListPop& pop, std::size_t timeout) {
  const std::optional<Time> until = wait_end(call, timeout);
  if (!until || pop_first_list(call, pop)) return;
  const KeyWait wait{{pop.keys.begin(), pop.keys.end()}, ValueType::list, *until};
  if (!call.wait_for(wait)) call.reply().null_array();
}

// BLPOP key [key ...] timeout
void pop_any_or_wait(Call& call, ListEnd end) {
  const std::size_t timeout = call.count() - 1;
  pop_list_or_wait(call, {call.words().subspan(1, timeout - 1), end}, timeout);
}

void blpop(Call& call) { pop_any_or_wait(call, ListEnd::head); }
void brpop(Call& call) { pop_any_or_wait(call, ListEnd::tail); }

// BLMPOP timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]
void blmpop(Call& call) {
  const std::optional<ListPop> pop = read_list_pop(call, 2);
  if (pop) pop_list_or_wait(call, *pop, 1);
}

}  // namespace

std::span<const Command> list_pop_commands() {
  static constexpr std::uint32_t kPop = access::rw | access::access | access::remove;
  static constexpr std::uint64_t kFast = flag::write | flag::fast;
  static constexpr std::uint64_t kWait = flag::write | flag::blocking;
  // clang-format off
  static constexpr Command kRows[] = {
      {"lpop", lpop, -2, kFast, one_key(kPop), "list", "1.0.0", "key [count:int]",
       "Removes and returns the first elements of a list."},
      {"rpop", rpop, -2, kFast, one_key(kPop), "list", "1.0.0", "key [count:int]",
       "Removes and returns the last elements of a list."},
      {"lmpop", lmpop, -4, flag::write | flag::movablekeys, {2, 0, 1, kPop, 1}, "list", "7.0.0",
       "numkeys:count key... where:(LEFT | RIGHT) [COUNT count:int]",
       "Removes and returns the first or last elements of the first key that exists."},
      {"blpop", blpop, -3, kWait, {1, -2, 1, kPop}, "list", "2.0.0", "key... timeout:double",
       "Removes and returns the first element of a list. Waits until there is one."},
      {"brpop", brpop, -3, kWait, {1, -2, 1, kPop}, "list", "2.0.0", "key... timeout:double",
       "Removes and returns the last element of a list. Waits until there is one."},
      {"blmpop", blmpop, -5, kWait | flag::movablekeys, {3, 0, 1, kPop, 2}, "list", "7.0.0",
       "timeout:double numkeys:count key... where:(LEFT | RIGHT) [COUNT count:int]",
       "Removes and returns the first or last elements. Waits until there are any."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
