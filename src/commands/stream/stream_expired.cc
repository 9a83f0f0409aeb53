// SPDX-License-Identifier: Apache-2.0
// XEXPIRED: what a sweep of the primary removed, and its entries in the expiry log, as one request.
// Replicas get it, and append-only files have it; clients may not send it.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "commands/members/member_steps.h"
#include "commands/members/member_words.h"
#include "commands/steps.h"
#include "commands/stream/stream_steps.h"
#include "keyspace/stream/stream_cursor.h"

namespace mayfly {
namespace {

// What an entry of the log is about.
struct LoggedExpiry {
  std::string_view key;
  std::optional<std::string_view> member;
};

// Nothing if it is no entry of an expiry log.
std::optional<LoggedExpiry> read_logged(std::span<const std::string_view> words) {
  std::optional<std::string_view> key;
  LoggedExpiry expiry;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "key") key = words[i + 1];
    if (words[i] == "member") expiry.member = words[i + 1];
  }
  if (!key) return std::nullopt;
  expiry.key = *key;
  return expiry;
}

// Removes keys, and members of one key at a time.
class LoggedRemovals {
 public:
  explicit LoggedRemovals(Call& call) : call_(call) {}

  void add(const LoggedExpiry& expiry) {
    if (expiry.key != key_ || !expiry.member) end_key();
    if (expiry.member) {
      key_ = expiry.key;
      members_.emplace_back(*expiry.member);
      return;
    }
    const Slot slot = call_.database().stored_slot(expiry.key);
    if (slot != kNoSlot) remove_key(call_, slot, expiry.key);
  }

  void end_key() {
    const std::vector<std::string> names = std::exchange(members_, {});
    if (names.empty()) return;
    const Slot slot = call_.database().stored_slot(key_);
    if (slot == kNoSlot || !has_members(call_.database().node(slot))) return;
    const MemberWords& words = words_of(call_.database().type(slot));
    MembersRef members = call_.members(slot);
    ChangedMembers removed(call_, words.event);
    for (const std::string& name : names) {
      if (members.erase(name)) removed.add(name);
    }
    if (removed.count() == 0) return call_.finish(members, key_);
    finish_write(call_, members, key_, words.removed, removed.count(), removed.names());
  }

 private:
  Call& call_;
  std::string key_;
  std::vector<std::string> members_;
};

// XEXPIRED key first-id block
void xexpired(Call& call) {
  if (call.context().policy != Policy::show) {
    return call.fail(
        "ERR XEXPIRED comes from a primary or an append-only file only (clients cannot write the "
        "expiry log)");
  }
  const std::string_view key = call.word(1);
  const std::optional<StreamId> first = read_stream_id(call, 2);
  if (!first) return;
  if (const std::string wrong = check_stream_block(*first, call.word(3)); !wrong.empty()) {
    return call.fail(fmt::format("ERR XEXPIRED has {}", wrong));
  }
  const StreamBlock block(*first, call.word(3));
  StreamBlockCursor cursor(block);
  cursor.next();
  Slot slot = call.find_to_write(key, ValueType::stream);
  if (call.has_failed()) return;
  if (slot != kNoSlot && cursor.id() <= call.database().stream(slot).last_id()) {
    return call.fail("ERR XEXPIRED has entries that the stream has already");
  }
  if (slot == kNoSlot) slot = call.make_stream(key);

  LoggedRemovals removals(call);
  StreamWords reader;
  do {
    const std::span<const std::string_view> words = reader.read(cursor);
    call.database().stream(slot).append(cursor.id(), words,
                                        call.keyspace().options().stream_limits);
    const std::optional<LoggedExpiry> expiry = read_logged(words);
    if (expiry && expiry->key != key) removals.add(*expiry);
  } while (cursor.next());
  removals.end_key();
  call.changed(key);
  call.notify(Event::stream, "xadd", key);
  call.reply().ok();
}

}  // namespace

std::span<const Command> stream_expired_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"xexpired", xexpired, 4, flag::write | flag::needs_key, one_key(access::rw | access::update),
       "stream", "1.0.0", "key first-id block",
       "Adds entries to the expiry log and removes what they are about. Sent by primaries only."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
