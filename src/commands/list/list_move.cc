// SPDX-License-Identifier: Apache-2.0
// LMOVE and RPOPLPUSH, and BLMOVE and BRPOPLPUSH, which wait for an element.
//
// Clients see the push, then the pop, then the `del` of a source that is empty now. The blocking
// forms are propagated as LMOVE and RPOPLPUSH.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "commands/command.h"
#include "commands/list/list_steps.h"
#include "commands/wait_time.h"

namespace mayfly {
namespace {

struct ListMove {
  ListEnd from = ListEnd::tail;
  ListEnd to = ListEnd::head;
};

// Moves an element from the list in word 1 to the list in word 2, which may be the same. Returns
// false, without a reply, if there is no source.
bool move_element(Call& call, ListMove move) {
  const std::string_view from = call.word(1);
  const std::string_view to = call.word(2);
  const Slot source_slot = call.find_to_write(from, ValueType::list);
  if (call.has_failed()) return true;
  if (source_slot == kNoSlot) return false;
  Slot target_slot = call.find_to_write(to, ValueType::list);
  if (call.has_failed()) return true;

  ListRef source = call.database().list(source_slot);
  const std::string element = source.pop(move.from);
  if (target_slot == kNoSlot) target_slot = call.make_list(to);
  ListRef target = call.database().list(target_slot);
  target.push(move.to, element);
  target.finish();
  call.key_changed(call.database().number(), to);
  call.notify(Event::list, push_event(move.to), to);
  call.reply().bulk(element);
  finish_pop(call, source, from, move.from, 1);
  return true;
}

// LEFT or RIGHT in word 3 and word 4. Nothing after an error reply.
std::optional<ListMove> read_list_move(Call& call) {
  const std::optional<ListEnd> from = read_list_end(call, 3);
  if (!from) return std::nullopt;
  const std::optional<ListEnd> to = read_list_end(call, 4);
  if (!to) return std::nullopt;
  return ListMove{*from, *to};
}

// LMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT>
void lmove(Call& call) {
  const std::optional<ListMove> move = read_list_move(call);
  if (move && !move_element(call, *move)) call.reply().null();
}

// RPOPLPUSH source destination
void rpoplpush(Call& call) {
  if (!move_element(call, {})) call.reply().null();
}

// ---- Waiting ----

// `timeout` is the word with the seconds. Returns whether an element was moved.
bool move_or_wait(Call& call, ListMove move, std::size_t timeout) {
  const std::optional<Time> until = wait_end(call, timeout);
  if (!until) return false;
  if (move_element(call, move)) return !call.has_failed();
  if (!call.wait_for({{call.word(1)}, ValueType::list, *until})) call.reply().null();
  return false;
}

// BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout
void blmove(Call& call) {
  const std::optional<ListMove> move = read_list_move(call);
  if (!move || !move_or_wait(call, *move, 5)) return;
  call.propagate_as("LMOVE", call.word(1), call.word(2), call.word(3), call.word(4));
}

// BRPOPLPUSH source destination timeout
void brpoplpush(Call& call) {
  if (!move_or_wait(call, {}, 3)) return;
  call.propagate_as("RPOPLPUSH", call.word(1), call.word(2));
}

}  // namespace

std::span<const Command> list_move_commands() {
  static constexpr std::uint64_t kMove = flag::write | flag::denyoom;
  static constexpr std::uint64_t kWait = kMove | flag::blocking;
  static constexpr KeyRange kKeys = {
      1, 1, 1, access::rw | access::access | access::remove, 0, 2, access::rw | access::insert};
  // clang-format off
  static constexpr Command kRows[] = {
      {"lmove", lmove, 5, kMove, kKeys, "list", "6.2.0",
       "source:key destination:key wherefrom:(LEFT | RIGHT) whereto:(LEFT | RIGHT)",
       "Moves an element from an end of a list to an end of another."},
      {"rpoplpush", rpoplpush, 3, kMove, kKeys, "list", "1.2.0", "source:key destination:key",
       "Moves the last element of a list to the head of another."},
      {"blmove", blmove, 6, kWait, kKeys, "list", "6.2.0",
       "source:key destination:key wherefrom:(LEFT | RIGHT) whereto:(LEFT | RIGHT) timeout:double",
       "Moves an element from a list to another. Waits until there is one."},
      {"brpoplpush", brpoplpush, 4, kWait, kKeys, "list", "2.2.0",
       "source:key destination:key timeout:double",
       "Moves the last element of a list to the head of another. Waits until there is one."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
