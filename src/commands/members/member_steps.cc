// SPDX-License-Identifier: Apache-2.0
#include "commands/members/member_steps.h"

#include <span>
#include <utility>

namespace mayfly {
namespace {

bool is_list_word(const Call& call, std::size_t i) {
  return call.is(i, "fields") || call.is(i, "members");
}

// `name` key [deadline] FIELDS count name ...; a deadline of kNever is left out.
void propagate_names(Call& call, const MemberWords& words, std::string_view name, Time deadline,
                     std::span<const std::string_view> names) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated request;
  request.reserve(5 + names.size());
  request.emplace_back(name);
  request.emplace_back(call.word(1));
  if (deadline != kNever) request.push_back(in_millis(deadline));
  request.emplace_back(words.list);
  request.push_back(std::to_string(names.size()));
  request.insert(request.end(), names.begin(), names.end());
  call.propagate_list(std::move(request));
}

}  // namespace

MemberNames views_of(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

std::optional<std::size_t> list_position(Call& call, const MemberWords& words, std::size_t first) {
  for (std::size_t i = first; i + 1 < call.count(); ++i) {
    if (is_list_word(call, i)) return i;
  }
  call.fail(words.wrong_count);
  return std::nullopt;
}

std::optional<Words> counted_words(Call& call, std::size_t at, std::size_t width,
                                   std::string_view error) {
  const std::optional<std::int64_t> count = call.integer(at + 1);
  if (!count) return std::nullopt;
  const Words words = call.words().subspan(at + 2);
  const auto members = static_cast<std::int64_t>(words.size() / width);
  if (*count > 0 && *count == members && words.size() % width == 0) return words;
  call.fail(error);
  return std::nullopt;
}

std::optional<Words> only_members(Call& call, std::string_view error) {
  if (is_list_word(call, 2)) return counted_words(call, 2, 1, error);
  call.fail_syntax();
  return std::nullopt;
}

const MemberWords& words_of(Call& call, const MembersRef& members) {
  return words_of(call.database().type(members.slot()));
}

void count_members(Call& call, ValueType type) {
  const Slot slot = call.find_to_read(call.word(1), type);
  if (call.has_failed()) return;
  const std::size_t size = slot == kNoSlot ? 0 : call.members(slot).size();
  call.reply().integer(static_cast<std::int64_t>(size));
}

void remove_named(Call& call, const MemberWords& words) {
  const Slot slot = call.find_to_write(call.word(1), words.type);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);

  MembersRef members = call.members(slot);
  ChangedMembers removed(call, words.event);
  for (const std::string_view name : call.words().subspan(2)) {
    if (members.erase(name)) removed.add(name);
  }
  if (removed.count() > 0) {
    finish_write(call, members, words.removed, removed.count(), removed.names());
  } else {
    call.finish(members, call.word(1));
  }
  call.reply().integer(static_cast<std::int64_t>(removed.count()));
}

void finish_write(Call& call, MembersRef& members, std::string_view event, std::size_t times,
                  const MemberView& names) {
  finish_write(call, members, call.word(1), event, times, names);
}

void finish_write(Call& call, MembersRef& members, std::string_view key, std::string_view event,
                  std::size_t times, const MemberView& names) {
  const Event event_class = words_of(call, members).event;
  const bool is_gone = members.finish();
  call.changed(key, static_cast<std::int64_t>(times));
  call.notify(event_class, event, key, names);
  if (is_gone) call.notify(Event::generic, "del", key);
}

void finish_members(Call& call, MembersRef& members, const MemberNames& names, MemberChange change,
                    const MemberDeadlines& deadlines) {
  if (names.empty()) return call.finish(members, call.word(1));
  const MemberWords& words = words_of(call, members);
  switch (change) {
    case MemberChange::set_deadline:
      finish_write(call, members, words.expire, names.size(), names);
      return deadlines.each_run(names.size(),
                                [&](Time deadline, std::size_t first, std::size_t count) {
                                  propagate_names(call, words, words.expire_command, deadline,
                                                  std::span(names).subspan(first, count));
                                });
    case MemberChange::remove_deadline:
      finish_write(call, members, words.persist, names.size(), names);
      return propagate_names(call, words, words.persist_command, kNever, names);
    case MemberChange::expire:
    case MemberChange::remove:
      const bool is_expiry = change == MemberChange::expire;
      finish_write(call, members, is_expiry ? words.expired : words.removed, names.size(), names);
      return propagate_removal(call, words, names);
  }
}

void propagate_removal(Call& call, const MemberWords& words, const MemberNames& names) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  call.propagate_list(removal_request(words.type, call.word(1), names));
}

}  // namespace mayfly
