// SPDX-License-Identifier: Apache-2.0
// ZADDEX: members of a sorted set added together with their deadline.
//
//   ZADDEX key [NX | XX] [FNX | FXX] [GT | LT] [CH]
//          [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL] [JITTER percent]
//          MEMBERS nummembers score member ...
//
// NX and XX are about the key, FNX and FXX about the members: all are added or none. GT and LT are
// about each member, as in ZADD: one whose score is refused is not changed, and keeps its deadline.
// Without a time the members have no deadline; with KEEPTTL those that are there keep theirs.
//
// Replies, as ZADD does, how many members are new; with CH how many were changed, by a new score or
// a new deadline. Members whose time is in the past are removed, and none is new.

#include <optional>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "commands/members/member_put.h"
#include "commands/members/member_steps.h"
#include "commands/zset/zset_steps.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

struct ZaddexOptions {
  bool only_greater = false;    // GT
  bool only_less = false;       // LT
  bool counts_changed = false;  // CH
};

// Reads the option at word `i`; returns how many words it takes, 0 if it is none.
std::size_t read_zaddex_option(const Call& call, std::size_t i, ZaddexOptions& options) {
  if (call.is(i, "gt")) {
    options.only_greater = true;
  } else if (call.is(i, "lt")) {
    options.only_less = true;
  } else if (call.is(i, "ch")) {
    options.counts_changed = true;
  } else {
    return 0;
  }
  return 1;
}

// Nothing after an error reply.
std::optional<std::vector<double>> read_scores(Call& call, const PutItems& items) {
  std::vector<double> scores;
  scores.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::optional<double> score = parse_double(items.payload(i));
    if (!score) {
      call.fail("ERR value is not a valid float");
      return std::nullopt;
    }
    scores.push_back(*score);
  }
  return scores;
}

// What was written, as words of a request.
struct WrittenItems {
  std::int64_t added = 0;
  std::vector<std::string_view> words;

  std::size_t size() const { return words.size() / kZsetWords.item_words; }
};

WrittenItems write_items(Call& call, PutTarget& target, const PutRequest& request,
                         const std::vector<double>& scores, const ZaddexOptions& options) {
  MembersRef& zset = target.members;
  WrittenItems written;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string_view name = request.items.name(i);
    const std::optional<Member> found = zset.find(name);
    Time until = target.deadlines.draw(call);
    if (found) {
      const double before = found->score();
      if (options.only_greater && scores[i] <= before) continue;
      if (options.only_less && scores[i] >= before) continue;
      if (request.keeps_deadlines()) until = found->deadline;
      if (scores[i] == before && until == found->deadline) continue;
    } else {
      ++written.added;
    }
    put_score(zset, name, scores[i], until);
    target.deadlines.keep(until);
    const Words item = request.items.item(i);
    written.words.insert(written.words.end(), item.begin(), item.end());
  }
  return written;
}

void zaddex(Call& call) {
  ZaddexOptions options;
  const std::optional<PutRequest> request = read_put_request(
      call, kZsetWords,
      [&](std::size_t i, std::size_t) { return read_zaddex_option(call, i, options); });
  if (!request) return;
  const bool has_comparison = options.only_greater || options.only_less;
  if ((options.only_greater && options.only_less) ||
      (has_comparison && request->members == Only::absent)) {
    return call.fail("ERR GT, LT, and/or FNX options at the same time are not compatible");
  }
  const std::optional<std::vector<double>> scores = read_scores(call, request->items);
  if (!scores) return;
  std::optional<PutTarget> target = find_put_target(call, kZsetWords, *request);
  if (call.has_failed()) return;
  if (!target) return call.reply().integer(0);
  if (target->is_past) {
    remove_items(call, target->members, request->items, target->deadlines.base());
    return call.reply().integer(0);
  }
  MembersRef& zset = target->members;
  const WrittenItems written = write_items(call, *target, *request, *scores, options);
  const auto changed = static_cast<std::int64_t>(written.size());
  call.reply().integer(options.counts_changed ? changed : written.added);
  if (changed == 0) return call.finish(zset, call.word(1));
  const MemberView names = PutItems(kZsetWords, written.words).names();
  finish_write(call, zset, call.word(1), kZsetWords.put, written.size(), names);
  if (request->expiry.form) call.notify(Event::zset, kZsetWords.expire, call.word(1), names);
  if (request->is_plain() && !has_comparison) return;
  propagate_put(call, kZsetWords, target->deadlines, request->keeps_deadlines(), written.words);
}

}  // namespace

std::span<const Command> zset_addex_commands() {
  static constexpr Command kRows[] = {
      {"zaddex", zaddex, -6, flag::write | flag::denyoom | flag::fast,
       one_key(access::rw | access::update), "sorted-set", kOnlyHere,
       "key [condition:(NX | XX)] [members-condition:(FNX | FXX)] [comparison:(GT | LT)] "
       "[change:(CH)] [expiration:(EX seconds:int | PX milliseconds:int | EXAT "
       "unix-time-seconds:time | PXAT unix-time-milliseconds:time | KEEPTTL)] [JITTER "
       "percent:double] MEMBERS "
       "nummembers:count (score:double member)...",
       "Adds members together with their TTL, under conditions if given."},
  };
  return kRows;
}

}  // namespace mayfly
