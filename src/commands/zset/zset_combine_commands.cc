// SPDX-License-Identifier: Apache-2.0
// ZUNION, ZINTER, ZDIFF, ZINTERCARD and the commands that store the result.
//
//   ZUNION numkeys key [key ...] [WEIGHTS weight ...] [AGGREGATE SUM | MIN | MAX] [WITHSCORES]
//
// The sources are sets and sorted sets; a member of a set has the score 1. If members of a source
// have deadlines, the result is propagated, not the command: a replica may still hold members that
// have expired here.

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/zset/zset_combine.h"
#include "commands/zset/zset_steps.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

struct CombineRequest : ZsetSources {
  bool with_scores = false;
  std::size_t limit = std::numeric_limits<std::size_t>::max();
};

// Which options a command takes.
struct CombineForm {
  ZsetOperation operation;
  bool stores = false;
  bool counts = false;  // ZINTERCARD

  bool takes_weights() const { return operation != ZsetOperation::subtract && !counts; }
  std::size_t count_at() const { return stores ? 2 : 1; }  // the word with the number of keys
};

// ---- Reading requests ----

bool find_sources(Call& call, std::size_t first, std::size_t count, CombineRequest& request) {
  request.sources.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    ZsetSource& source = request.sources[i];
    source.key = call.word(first + i);
    source.slot = call.find_to_read(source.key);
    if (source.slot == kNoSlot) continue;
    const ValueType type = call.database().type(source.slot);
    source.is_set = type == ValueType::set;
    if (!source.is_set && type != ValueType::zset) {
      call.fail_wrong_type();
      return false;
    }
    source.size = call.members(source.slot).size();
  }
  return true;
}

bool read_weights(Call& call, std::size_t first, CombineRequest& request) {
  for (std::size_t i = 0; i < request.sources.size(); ++i) {
    const std::optional<double> weight = parse_double(call.word(first + i));
    if (!weight) {
      call.fail("ERR weight value is not a float");
      return false;
    }
    request.sources[i].weight = *weight;
  }
  return true;
}

bool read_aggregate(const Call& call, std::size_t i, CombineRequest& request) {
  if (call.is(i, "sum")) request.aggregate = ScoreAggregate::sum;
  if (call.is(i, "min")) request.aggregate = ScoreAggregate::min;
  if (call.is(i, "max")) request.aggregate = ScoreAggregate::max;
  return call.is(i, "sum") || call.is(i, "min") || call.is(i, "max");
}

bool read_limit(Call& call, std::size_t i, CombineRequest& request) {
  const std::optional<std::int64_t> limit =
      call.integer(i, 0, std::numeric_limits<std::int64_t>::max(), "ERR LIMIT can't be negative");
  if (!limit) return false;
  request.limit =
      *limit == 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(*limit);
  return true;
}

// Reads the option at word `i`, and returns how many words it takes; 0 after an error reply.
std::size_t read_combine_option(Call& call, std::size_t i, const CombineForm& form,
                                CombineRequest& request) {
  const std::size_t left = call.count() - i - 1;
  const std::size_t keys = request.sources.size();
  if (form.takes_weights() && left >= keys && call.is(i, "weights")) {
    return read_weights(call, i + 1, request) ? keys + 1 : 0;
  }
  if (form.takes_weights() && left >= 1 && call.is(i, "aggregate") &&
      read_aggregate(call, i + 1, request)) {
    return 2;
  }
  if (!form.stores && !form.counts && call.is(i, "withscores")) {
    request.with_scores = true;
    return 1;
  }
  if (form.counts && left >= 1 && call.is(i, "limit")) {
    return read_limit(call, i + 1, request) ? 2 : 0;
  }
  call.fail_syntax();
  return 0;
}

// Nothing after an error reply.
std::optional<CombineRequest> read_combine(Call& call, const CombineForm& form) {
  const std::size_t first = form.count_at() + 1;
  const std::optional<std::int64_t> count = call.integer(form.count_at());
  if (!count) return std::nullopt;
  if (*count < 1) {
    call.fail(fmt::format("ERR at least 1 input key is needed for '{}' command", call.full_name()));
    return std::nullopt;
  }
  if (static_cast<std::uint64_t>(*count) > call.count() - first) {
    call.fail_syntax();
    return std::nullopt;
  }
  CombineRequest request;
  const auto keys = static_cast<std::size_t>(*count);
  if (!find_sources(call, first, keys, request)) return std::nullopt;
  for (std::size_t i = first + keys; i < call.count();) {
    const std::size_t taken = read_combine_option(call, i, form, request);
    if (taken == 0) return std::nullopt;
    i += taken;
  }
  return request;
}

void reply_combined(Call& call, ZsetOperation operation) {
  std::optional<CombineRequest> request = read_combine(call, {.operation = operation});
  if (!request) return;
  const ScoredNames result = combine_zsets(call, operation, *request);
  Reply& reply = call.reply();
  reply_members_head(reply, result.items().size(), request->with_scores);
  for (const ScoredName& item : result.items()) {
    reply_member(reply, item.name, item.score, request->with_scores);
  }
}

void store_combined(Call& call, ZsetOperation operation, std::string_view event) {
  std::optional<CombineRequest> request =
      read_combine(call, {.operation = operation, .stores = true});
  if (!request) return;
  const std::string_view target = call.word(1);
  bool had_deadlines = false;
  bool is_source = false;
  for (const ZsetSource& source : request->sources) {
    if (source.slot == kNoSlot) continue;
    if (call.members(source.slot).has_deadlines()) had_deadlines = true;
    if (source.key == target) is_source = true;
  }
  ScoredNames result = combine_zsets(call, operation, *request);
  if (is_source) result.copy_all();
  store_result(call, target, event, result, had_deadlines);
}

void zunion(Call& call) { reply_combined(call, ZsetOperation::unite); }
void zinter(Call& call) { reply_combined(call, ZsetOperation::intersect); }
void zdiff(Call& call) { reply_combined(call, ZsetOperation::subtract); }
void zunionstore(Call& call) { store_combined(call, ZsetOperation::unite, "zunionstore"); }
void zinterstore(Call& call) { store_combined(call, ZsetOperation::intersect, "zinterstore"); }
void zdiffstore(Call& call) { store_combined(call, ZsetOperation::subtract, "zdiffstore"); }

// ZINTERCARD numkeys key [key ...] [LIMIT limit]
void zintercard(Call& call) {
  std::optional<CombineRequest> request =
      read_combine(call, {.operation = ZsetOperation::intersect, .counts = true});
  if (!request) return;
  const std::size_t count = count_common(call, *request, request->limit);
  call.reply().integer(static_cast<std::int64_t>(count));
}

}  // namespace

std::span<const Command> zset_combine_commands() {
  static constexpr std::uint64_t kRead = flag::readonly | flag::movablekeys;
  static constexpr std::uint64_t kWrite = flag::write | flag::denyoom | flag::movablekeys;
  static constexpr KeyRange kSources = {2, 0, 1, access::ro | access::access, 1};
  static constexpr KeyRange kStore = {3, 0, 1, access::ro | access::access, 2, 1};
  // clang-format off
  static constexpr Command kRows[] = {
      {"zunion", zunion, -3, kRead, kSources, "sorted-set", "6.2.0",
       "numkeys:count key... [WEIGHTS weight:int...] [AGGREGATE aggregate:(SUM | MIN | MAX)] "
       "[WITHSCORES]", "Returns the members of one or more sorted sets together."},
      {"zinter", zinter, -3, kRead, kSources, "sorted-set", "6.2.0",
       "numkeys:count key... [WEIGHTS weight:int...] [AGGREGATE aggregate:(SUM | MIN | MAX)] "
       "[WITHSCORES]", "Returns the members that are in all sorted sets."},
      {"zdiff", zdiff, -3, kRead, kSources, "sorted-set", "6.2.0",
       "numkeys:count key... [WITHSCORES]",
       "Returns the members of the first sorted set that are in none of the others."},
      {"zintercard", zintercard, -3, kRead, kSources, "sorted-set", "7.0.0",
       "numkeys:count key... [LIMIT limit:int]",
       "Counts the members that are in all sorted sets."},
      {"zunionstore", zunionstore, -4, kWrite, kStore, "sorted-set", "2.0.0",
       "destination:key numkeys:count key... [WEIGHTS weight:int...] "
       "[AGGREGATE aggregate:(SUM | MIN | MAX)]", "Stores what ZUNION returns."},
      {"zinterstore", zinterstore, -4, kWrite, kStore, "sorted-set", "2.0.0",
       "destination:key numkeys:count key... [WEIGHTS weight:int...] "
       "[AGGREGATE aggregate:(SUM | MIN | MAX)]", "Stores what ZINTER returns."},
      {"zdiffstore", zdiffstore, -4, kWrite, kStore, "sorted-set", "6.2.0",
       "destination:key numkeys:count key...", "Stores what ZDIFF returns."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
