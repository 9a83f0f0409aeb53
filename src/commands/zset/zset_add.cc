// SPDX-License-Identifier: Apache-2.0
// ZADD and ZINCRBY.
//
//   ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]
//
// A member that exists keeps its deadline. If members have deadlines, a request with a condition or
// an increment is propagated as its result: a replica may still hold a member that has expired
// here.

#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "commands/members/member_steps.h"
#include "commands/zset/zset_steps.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

struct ZaddOptions {
  bool only_new = false;        // NX
  bool only_existing = false;   // XX
  bool only_greater = false;    // GT
  bool only_less = false;       // LT
  bool counts_changed = false;  // CH
  bool increments = false;      // INCR, ZINCRBY
  std::size_t first = 2;        // the word with the first score

  bool depends_on_members() const {
    return only_new || only_existing || only_greater || only_less || increments;
  }
};

// Reads the option at word `i`. Returns false if it is none.
bool read_zadd_option(const Call& call, std::size_t i, ZaddOptions& options) {
  if (call.is(i, "nx")) return options.only_new = true;
  if (call.is(i, "xx")) return options.only_existing = true;
  if (call.is(i, "gt")) return options.only_greater = true;
  if (call.is(i, "lt")) return options.only_less = true;
  if (call.is(i, "ch")) return options.counts_changed = true;
  if (call.is(i, "incr")) return options.increments = true;
  return false;
}

// Nothing after an error reply.
std::optional<ZaddOptions> read_zadd(Call& call, bool increments) {
  ZaddOptions options{.increments = increments};
  while (options.first < call.count() && read_zadd_option(call, options.first, options)) {
    ++options.first;
  }
  const std::size_t words = call.count() - options.first;
  if (words == 0 || words % 2 != 0) {
    call.fail_syntax();
  } else if (options.only_new && options.only_existing) {
    call.fail("ERR XX and NX options at the same time are not compatible");
  } else if (options.only_greater + options.only_less + options.only_new > 1) {
    call.fail("ERR GT, LT, and/or NX options at the same time are not compatible");
  } else if (options.increments && words > 2) {
    call.fail("ERR INCR option supports a single increment-element pair");
  } else {
    return options;
  }
  return std::nullopt;
}

// The scores of a request. They are all read before anything is changed; a few need no memory.
class Scores {
 public:
  // Every other word from `first` on; an error reply and false if one is no number.
  bool read(Call& call, std::size_t first) {
    const std::size_t count = (call.count() - first) / 2;
    if (count > few_.size()) many_.resize(count);
    double* const scores = many_.empty() ? few_.data() : many_.data();
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<double> score = parse_double(call.word(first + 2 * i));
      if (!score) {
        call.fail("ERR value is not a valid float");
        return false;
      }
      scores[i] = *score;
    }
    return true;
  }

  double operator[](std::size_t i) const { return many_.empty() ? few_[i] : many_[i]; }

 private:
  std::array<double, 16> few_;
  std::vector<double> many_;
};

// What became of one member.
struct Outcome {
  enum class Kind { refused, same, not_a_number, updated, added };
  Kind kind = Kind::refused;
  double score = 0;  // that it has now
};

Outcome add_one(MembersRef& zset, std::string_view name, double score, const ZaddOptions& options) {
  using enum Outcome::Kind;
  const std::optional<Member> found = zset.find(name);
  if (!found) {
    if (options.only_existing) return {refused};
    put_score(zset, name, score);
    return {added, score};
  }
  if (options.only_new) return {refused};
  const double before = found->score();
  const Time deadline = found->deadline;
  if (options.increments) score += before;
  if (std::isnan(score)) return {not_a_number};
  if (options.only_greater && score <= before) return {refused};
  if (options.only_less && score >= before) return {refused};
  if (score == before) return {same, score};
  put_score(zset, name, score, deadline);
  return {updated, score};
}

void propagate_scores(Call& call, const std::vector<ScoredName>& written) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated words = {"ZADD", std::string(call.word(1))};
  words.reserve(2 + 2 * written.size());
  for (const ScoredName& item : written) {
    words.push_back(format_double(item.score));
    words.emplace_back(item.name);
  }
  call.propagate_list(std::move(words));
}

void reply_zadd(Call& call, const ZaddOptions& options, const Outcome& last, std::size_t added,
                std::size_t updated) {
  if (last.kind == Outcome::Kind::not_a_number) {
    call.fail("ERR resulting score is not a number (NaN)");
  } else if (!options.increments) {
    const std::size_t count = options.counts_changed ? added + updated : added;
    call.reply().integer(static_cast<std::int64_t>(count));
  } else if (last.kind == Outcome::Kind::refused) {
    call.reply().null();
  } else {
    call.reply().number(last.score);
  }
}

void add_members(Call& call, bool increments) {
  const std::optional<ZaddOptions> options = read_zadd(call, increments);
  if (!options) return;
  Scores scores;
  if (!scores.read(call, options->first)) return;
  const std::string_view key = call.word(1);
  Slot slot = call.find_to_write(key, ValueType::zset);
  if (call.has_failed()) return;
  if (slot == kNoSlot) {
    if (options->only_existing) return reply_zadd(call, *options, {}, 0, 0);
    slot = call.make_members(ValueType::zset, key);
  }

  MembersRef zset = call.members(slot);
  const bool is_by_value = zset.has_deadlines() && options->depends_on_members();
  std::vector<ScoredName> written;  // if it is propagated by value
  std::size_t added = 0;
  std::size_t updated = 0;
  ChangedMembers changed(call, Event::zset);
  Outcome last;
  for (std::size_t i = options->first; i < call.count(); i += 2) {
    const std::string_view name = call.word(i + 1);
    last = add_one(zset, name, scores[(i - options->first) / 2], *options);
    if (last.kind == Outcome::Kind::added) ++added;
    if (last.kind == Outcome::Kind::updated) ++updated;
    if (last.kind >= Outcome::Kind::updated) changed.add(name);
    if (is_by_value && last.kind >= Outcome::Kind::updated) written.push_back({name, last.score});
  }
  reply_zadd(call, *options, last, added, updated);
  if (added + updated == 0) return call.finish(zset, key);
  finish_write(call, zset, key, options->increments ? "zincr" : "zadd", changed.count(),
               changed.names());
  if (is_by_value) propagate_scores(call, written);
}

// ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]
void zadd(Call& call) { add_members(call, false); }

// ZINCRBY key increment member
void zincrby(Call& call) { add_members(call, true); }

}  // namespace

std::span<const Command> zset_add_commands() {
  static constexpr std::uint64_t kAdd = flag::write | flag::denyoom | flag::fast;
  // clang-format off
  static constexpr Command kRows[] = {
      {"zadd", zadd, -4, kAdd, one_key(access::rw | access::update), "sorted-set", "1.2.0",
       "key [condition:(NX | XX)] [comparison:(GT | LT)] [change:(CH)] [increment:(INCR)] "
       "(score:double member)...",
       "Adds members to a sorted set, or changes their scores. They keep their TTLs."},
      {"zincrby", zincrby, 4, kAdd, one_key(access::rw | access::access | access::update),
       "sorted-set", "1.2.0", "key increment:int member",
       "Adds a number to the score of a member. A missing member counts as 0."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
