// SPDX-License-Identifier: Apache-2.0
#include "commands/members/member_put.h"

#include <utility>

namespace mayfly {
namespace {

// Returns false if the choice contradicts the one before.
bool choose(Only& only, Only choice) {
  if (only != Only::any && only != choice) return false;
  only = choice;
  return true;
}

bool holds(Only only, bool is_present) {
  return only == Only::any || (only == Only::present) == is_present;
}

bool members_hold(MembersRef& members, const PutRequest& request) {
  if (request.members == Only::any) return true;
  for (std::size_t i = 0; i < request.items.size(); ++i) {
    if (!holds(request.members, members.find(request.items.name(i)).has_value())) return false;
  }
  return true;
}

// Reads the option at word `i`; as ExpiryOption::read() does.
std::size_t read_put_option(const Call& call, std::size_t i, std::size_t end, PutRequest& request) {
  if (call.is(i, "nx")) return choose(request.key, Only::absent) ? 1 : 0;
  if (call.is(i, "xx")) return choose(request.key, Only::present) ? 1 : 0;
  if (call.is(i, "fnx")) return choose(request.members, Only::absent) ? 1 : 0;
  if (call.is(i, "fxx")) return choose(request.members, Only::present) ? 1 : 0;
  return request.expiry.read(call, i, end, "keepttl");
}

}  // namespace

std::optional<PutRequest> read_put_request(Call& call, const MemberWords& words,
                                           const ReadPutOption& read_other) {
  const std::optional<std::size_t> at = list_position(call, words, 2);
  if (!at) return std::nullopt;
  PutRequest request;
  for (std::size_t i = 2; i < *at;) {
    std::size_t taken = read_put_option(call, i, *at, request);
    if (taken == 0 && read_other) taken = read_other(i, *at);
    if (taken == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
    i += taken;
  }
  const auto items = counted_words(call, *at, words.item_words, words.wrong_count);
  if (!items) return std::nullopt;
  request.items = PutItems(words, *items);
  return request;
}

std::optional<PutTarget> find_put_target(Call& call, const MemberWords& words,
                                         const PutRequest& request) {
  const std::string_view key = call.word(1);
  Slot slot = call.find_to_write(key, words.type);
  if (call.has_failed() || !holds(request.key, slot != kNoSlot)) return std::nullopt;
  const Time deadline = request.expiry.deadline(call, 0).value_or(kNever);
  if (call.has_failed()) return std::nullopt;

  if (slot == kNoSlot && request.members == Only::present) return std::nullopt;
  if (slot == kNoSlot) slot = call.make_members(words.type, key);
  MembersRef members = call.members(slot);
  if (!members_hold(members, request)) {
    call.finish(members, key);
    return std::nullopt;
  }
  return PutTarget{std::move(members), deadline, call.context().expires_at_once(deadline)};
}

void remove_items(Call& call, MembersRef& members, const PutItems& items, Time deadline) {
  MemberNames removed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (members.expire(items.name(i), deadline)) removed.push_back(items.name(i));
  }
  // Members that existed, alive or due, have been counted already.
  call.keyspace().stats().expired_members +=
      items.size() - removed.size() - members.reclaimed().size();

  const std::string_view key = call.word(1);
  const MemberWords& words = words_of(call, members);
  const bool is_gone = members.finish();
  for (const std::string_view event : {words.put, words.expire, words.expired}) {
    call.notify(words.event, event, key, items.names());
  }
  if (is_gone) call.notify(Event::generic, "del", key);
  if (removed.empty()) return;
  call.changed(key, static_cast<std::int64_t>(removed.size()));
  propagate_removal(call, words, removed);
}

void finish_put(Call& call, MembersRef& members, const PutRequest& request, Time deadline,
                std::size_t times, const MemberView& names) {
  const MemberWords& words = words_of(call, members);
  finish_write(call, members, words.put, times, names);
  if (request.expiry.form) call.notify(words.event, words.expire, call.word(1), names);
  if (request.is_plain()) return;
  propagate_put(call, words, deadline, request.keeps_deadlines(), request.items.words());
}

void propagate_put(Call& call, const MemberWords& words, Time deadline, bool keeps_deadlines,
                   Words items) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated request;
  request.reserve(6 + items.size());
  request.emplace_back(words.put_command);
  request.emplace_back(call.word(1));
  if (keeps_deadlines) request.emplace_back("KEEPTTL");
  if (deadline != kNever) {
    request.emplace_back("PXAT");
    request.push_back(in_millis(deadline));
  }
  request.emplace_back(words.list);
  request.push_back(std::to_string(items.size() / words.item_words));
  request.insert(request.end(), items.begin(), items.end());
  call.propagate_list(std::move(request));
}

bool looks_like_number(std::string_view word) {
  if (!word.empty() && word.front() == '-') word.remove_prefix(1);
  return !word.empty() && word.front() >= '0' && word.front() <= '9';
}

}  // namespace mayfly
