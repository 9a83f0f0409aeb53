// SPDX-License-Identifier: Apache-2.0
// LSET, LINSERT, LREM and LTRIM.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "commands/command.h"
#include "commands/list/list_steps.h"

namespace mayfly {
namespace {

// LSET key index element
void lset(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.fail("ERR no such key");
  const std::optional<std::int64_t> number = call.integer(2);
  if (!number) return;
  ListRef list = call.database().list(slot);
  const std::optional<std::size_t> index = list_index(*number, list.size());
  if (!index) return call.fail("ERR index out of range");
  list.set(*index, call.word(3));
  list.finish();
  call.changed(key);
  call.notify(Event::list, "lset", key);
  call.reply().ok();
}

// The index of the first element that is equal to the text.
std::optional<std::size_t> find_element(const ListRef& list, std::string_view text) {
  const ListpackText wanted(text);
  const std::size_t size = list.size();
  std::size_t index = 0;
  list.each(0, size, true, [&](const ListpackValue& value) {
    if (value.equals(wanted)) return false;
    ++index;
    return true;
  });
  return index == size ? std::nullopt : std::optional(index);
}

// LINSERT key <BEFORE | AFTER> pivot element
void linsert(Call& call) {
  const bool is_after = call.is(2, "after");
  if (!is_after && !call.is(2, "before")) return call.fail_syntax();
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);
  ListRef list = call.database().list(slot);
  const std::optional<std::size_t> pivot = find_element(list, call.word(3));
  if (!pivot) return call.reply().integer(-1);
  list.insert(is_after ? *pivot + 1 : *pivot, call.word(4));
  call.reply().integer(static_cast<std::int64_t>(list.size()));
  list.finish();
  call.changed(key);
  call.notify(Event::list, "linsert", key);
}

// LREM key count element
//
// Removes at most `count` elements from the head, or, if it is negative, from the tail; all if it
// is 0.
void lrem(Call& call) {
  const std::optional<std::int64_t> count = call.integer(2);
  if (!count) return;
  if (*count == std::numeric_limits<std::int64_t>::min()) return call.fail(kSymmetricRange);
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::list);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);
  ListRef list = call.database().list(slot);
  const auto most = static_cast<std::size_t>(*count < 0 ? -*count : *count);
  const std::size_t removed = list.remove(call.word(3), most == 0 ? list.size() : most,
                                          *count < 0 ? ListEnd::tail : ListEnd::head);
  call.reply().integer(static_cast<std::int64_t>(removed));
  if (removed == 0) return;
  call.notify(Event::list, "lrem", key);
  call.finish(list, key);
  call.changed(key, static_cast<std::int64_t>(removed));
}

// LTRIM key start stop
//
// Notifies of `ltrim` even if nothing is removed.
void ltrim(Call& call) {
  const std::optional<std::int64_t> start = call.integer(2);
  if (!start) return;
  const std::optional<std::int64_t> stop = call.integer(3);
  if (!stop) return;
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_write(key, ValueType::list);
  if (call.has_failed()) return;
  call.reply().ok();
  if (slot == kNoSlot) return;
  ListRef list = call.database().list(slot);
  const ListRange kept = list_range(*start, *stop, list.size());
  call.notify(Event::list, "ltrim", key);
  if (kept.count == 0) return remove_list(call, list, key);
  const std::size_t removed = list.size() - kept.count;
  list.drop(ListEnd::tail, removed - kept.first);
  list.drop(ListEnd::head, kept.first);
  call.finish(list, key);
  if (removed > 0) call.changed(key, static_cast<std::int64_t>(removed));
}

}  // namespace

std::span<const Command> list_change_commands() {
  static constexpr std::uint64_t kAdd = flag::write | flag::denyoom;
  static constexpr KeyRange kRemove = one_key(access::rw | access::remove);
  // clang-format off
  static constexpr Command kRows[] = {
      {"lset", lset, 4, kAdd | flag::needs_key,
       one_key(access::rw | access::update), "list", "1.0.0",
       "key index:int element", "Sets an element of a list by its index."},
      {"linsert", linsert, 5, kAdd | flag::needs_key,
       one_key(access::rw | access::insert), "list", "2.2.0",
       "key where:(BEFORE | AFTER) pivot element",
       "Inserts an element before or after another one."},
      {"lrem", lrem, 4, flag::write, kRemove, "list", "1.0.0", "key count:int element",
       "Removes elements that are equal to a text."},
      {"ltrim", ltrim, 4, flag::write, kRemove, "list", "1.0.0", "key start:int stop:int",
       "Removes all elements but those of a range."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
