// SPDX-License-Identifier: Apache-2.0
// Finding keys for a call, failing, and reporting changes.

#include "commands/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/ttl/ttl_policy.h"
#include "commands/words.h"
#include "resp/numbers.h"

namespace mayfly {

bool Call::is(std::size_t i, std::string_view option) const {
  return i < words_.size() && equals(words_[i], option);
}

std::string Call::full_name() const { return mayfly::full_name(command_); }

std::optional<std::int64_t> Call::integer(std::size_t i) {
  const std::optional<std::int64_t> number = parse_integer(words_[i]);
  if (!number) fail("ERR value is not an integer or out of range");
  return number;
}

std::optional<std::int64_t> Call::integer(std::size_t i, std::int64_t least, std::int64_t most,
                                          std::string_view error) {
  const std::optional<std::int64_t> number = parse_integer(words_[i]);
  if (number && *number >= least && *number <= most) return number;
  fail(error);
  return std::nullopt;
}

Slot Call::find_untouched(std::string_view key) {
  const Slot slot = find(key);
  host_.count_lookup(slot != kNoSlot);
  if (slot == kNoSlot) notify(Event::miss, "keymiss", key);
  return slot;
}

Slot Call::find_to_read(std::string_view key) {
  const Slot slot = find_untouched(key);
  if (slot != kNoSlot) database().touch(context_, slot);
  return slot;
}

Slot Call::find_to_write(std::string_view key) {
  const Slot slot = find(key);
  if (slot != kNoSlot) database().touch(context_, slot);
  return slot;
}

Slot Call::checked(Slot slot, ValueType type) {
  if (slot == kNoSlot || database().type(slot) == type) return slot;
  fail_wrong_type();
  return kNoSlot;
}

Slot Call::find_to_read(std::string_view key, ValueType type) {
  return checked(find_to_read(key), type);
}

Slot Call::find_to_write(std::string_view key, ValueType type) {
  return checked(find_to_write(key), type);
}

Slot Call::make_members(ValueType type, std::string_view key) {
  const Slot slot = database().make_members(context_, type, key);
  notify(Event::created, "new", key);
  return slot;
}

Slot Call::make_list(std::string_view key) {
  const Slot slot = database().make_list(context_, key);
  notify(Event::created, "new", key);
  return slot;
}

Slot Call::make_stream(std::string_view key) {
  const Slot slot = database().put_stream(context_, key, std::make_unique<Stream>());
  notify(Event::created, "new", key);
  return slot;
}

Slot Call::put_string(std::string_view key, std::string_view value) {
  const std::size_t before = database().stored();
  const Slot slot = database().put_string(context_, key, value);
  if (database().stored() > before) notify(Event::created, "new", key);
  return slot;
}

std::uint64_t Call::string_bytes_max() const {
  const bool is_checked = context_.policy == Policy::show;
  return is_checked ? kNodeBytesMax : keyspace_.options().string_bytes_max;
}

void Call::fail(std::string_view error) {
  has_failed_ = true;
  reply_.error(error);
}

void Call::fail_syntax() { fail("ERR syntax error"); }

void Call::fail_arity() {
  fail(fmt::format("ERR wrong number of arguments for '{}' command", full_name()));
}

void Call::fail_wrong_type() {
  fail("WRONGTYPE Operation against a key holding the wrong kind of value");
}

void Call::changed(std::string_view key, std::int64_t times) {
  changes_ += times;
  key_changed(database_, key);
}

void Call::key_changed(int database, std::string_view key) {
  end_lease(database, key);
  host_.key_changed(context_, database, key);
}

void Call::changed_database(int number) {
  ++changes_;
  keyspace_.leases().database_changed(number);
  host_.database_changed(context_, number);
}

void Call::notify(Event event, std::string_view name, std::string_view key) {
  host_.notify(event, name, key, database_);
}

void Call::notify(Event event, std::string_view name, std::string_view key, int database) {
  host_.notify(event, name, key, database);
}

void Call::notify(Event event, std::string_view name, std::string_view key,
                  const MemberView& members) {
  notify(event, name, key);
  if (!members.empty() && host_.wants_members(event)) {
    host_.notify_members(event, name, key, database_, members);
  }
}

void Call::finish(MembersRef& members, std::string_view key) {
  if (members.finish()) notify(Event::generic, "del", key);
}

void Call::finish(ListRef& list, std::string_view key) {
  if (list.finish()) notify(Event::generic, "del", key);
}

void Call::propagate_instead(Propagated words) {
  is_replaced_ = true;
  propagated_.clear();
  if (words.size() > 1 && wants_propagation()) propagated_.push_back(std::move(words));
}

const TtlRule* Call::rule_of(std::string_view key) const { return host_.ttl_policy()->find(key); }

void Call::propagate_deadline(int database, std::string_view key, Time deadline) {
  notify(Event::generic, "expire", key, database);
  if (!wants_propagation()) return;
  const std::string text = std::to_string(deadline.time_since_epoch().count());
  appended_.emplace_back(database, Propagated{"PEXPIREAT", std::string(key), text});
}

void Call::propagate_list(Propagated words) {
  is_replaced_ = true;
  propagated_.push_back(std::move(words));
}

}  // namespace mayfly
