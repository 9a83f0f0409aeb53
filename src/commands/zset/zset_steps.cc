// SPDX-License-Identifier: Apache-2.0
#include "commands/zset/zset_steps.h"

#include <algorithm>
#include <span>
#include <utility>

#include "commands/members/member_steps.h"
#include "commands/steps.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// DEL key, and ZADD key score name ...
void propagate_result(Call& call, std::string_view key, const ScoredNames& result) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  call.propagate_as("DEL", key);
  Propagated words;
  for (const ScoredName& item : result.items()) {
    if (words.empty()) words = {"ZADD", std::string(key)};
    words.push_back(format_double(item.score));
    words.emplace_back(item.name);
    if (words.size() < 2 + 2 * kMembersAtOnce) continue;
    call.propagate_list(std::exchange(words, {}));
  }
  if (!words.empty()) call.propagate_list(std::move(words));
}

}  // namespace

void put_score(MembersRef& zset, std::string_view name, double score, Time deadline) {
  zset.put(name, ScoreBytes(score).view(), deadline);
}

void reply_members_head(Reply& reply, std::size_t count, bool with_scores) {
  reply.array(with_scores && reply.protocol() == 2 ? 2 * count : count);
}

void reply_member(Reply& reply, std::string_view name, double score, bool with_scores) {
  if (with_scores && reply.protocol() > 2) reply.array(2);
  reply.bulk(name);
  if (with_scores) reply.number(score);
}

void remove_members(Call& call, MembersRef& zset, std::string_view key, std::string_view event,
                    const std::vector<std::string>& names) {
  for (const std::string& name : names) zset.erase(name);
  finish_write(call, zset, key, event, names.size(), views_of(names));
}

void propagate_removals(Call& call, std::string_view key, const std::vector<std::string>& names) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  for (std::size_t i = 0; i < names.size(); i += kMembersAtOnce) {
    const std::span some = std::span(names).subspan(i, std::min(kMembersAtOnce, names.size() - i));
    call.propagate_list(removal_request(ValueType::zset, key, some));
  }
}

void ScoredNames::copy_all() {
  for (ScoredName& item : items_) item.name = copied(item.name);
}

void ScoredNames::sort() {
  std::ranges::sort(items_, [](const ScoredName& a, const ScoredName& b) {
    return a.score != b.score ? a.score < b.score : a.name < b.name;
  });
}

void store_result(Call& call, std::string_view key, std::string_view event,
                  const ScoredNames& result, bool is_by_value) {
  const Slot before = call.find_to_write(key);
  const std::size_t count = result.items().size();
  call.reply().integer(static_cast<std::int64_t>(count));
  if (count == 0) {
    if (before == kNoSlot) return;
    remove_key(call, before, key);
  } else {
    Slot slot = kNoSlot;
    if (before != kNoSlot) {
      call.database().erase(before);
      slot = call.database().make_members(call.context(), ValueType::zset, key);
    } else {
      slot = call.make_members(ValueType::zset, key);
    }
    MembersRef zset = call.members(slot);
    for (const ScoredName& item : result.items()) put_score(zset, item.name, item.score);
    finish_write(call, zset, key, event, 1, {});
  }
  if (is_by_value) propagate_result(call, key, result);
}

}  // namespace mayfly
