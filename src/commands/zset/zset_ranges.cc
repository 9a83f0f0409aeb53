// SPDX-License-Identifier: Apache-2.0
#include "commands/zset/zset_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "resp/numbers.h"

namespace mayfly {
namespace {

// As strtod reads it: unlike other numbers, a bound may be empty, which is 0, begin with spaces, or
// be too large or too small for a double.
std::optional<double> read_score(std::string_view text) {
  if (const std::optional<double> score = parse_double(text)) return score;
  const std::string copy(text);
  char* end = nullptr;
  const double score = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(score)) return std::nullopt;
  return score;
}

std::optional<ScoreBound> read_score_bound(std::string_view text) {
  const bool is_open = text.starts_with('(');
  const std::optional<double> score = read_score(text.substr(is_open ? 1 : 0));
  if (!score) return std::nullopt;
  return ScoreBound{*score, is_open};
}

std::optional<NameBound> read_name_bound(std::string_view text) {
  using enum NameBound::Kind;
  if (text == "-") return NameBound{lowest, {}};
  if (text == "+") return NameBound{highest, {}};
  if (text.starts_with('[')) return NameBound{closed, text.substr(1)};
  if (text.starts_with('(')) return NameBound{open, text.substr(1)};
  return std::nullopt;
}

// How many members come before the range, or before its end.
std::size_t rank_of_min(const MembersOrder& order, const ScoreBound& min) {
  return min.is_open ? order.up_to(min.score) : order.below(min.score);
}
std::size_t rank_of_max(const MembersOrder& order, const ScoreBound& max) {
  return max.is_open ? order.below(max.score) : order.up_to(max.score);
}

std::size_t rank_of(const MembersOrder& order, const NameBound& bound, bool includes_name) {
  using enum NameBound::Kind;
  if (bound.kind == lowest) return 0;
  if (bound.kind == highest) return order.size();
  return includes_name ? order.up_to_name(bound.name) : order.below_name(bound.name);
}
std::size_t rank_of_min(const MembersOrder& order, const NameBound& min) {
  return rank_of(order, min, min.kind == NameBound::Kind::open);
}
std::size_t rank_of_max(const MembersOrder& order, const NameBound& max) {
  return rank_of(order, max, max.kind == NameBound::Kind::closed);
}

template <class Range>
Ranks ranks_between(const MembersOrder& order, const Range& range) {
  const std::size_t first = rank_of_min(order, range.min);
  const std::size_t end = rank_of_max(order, range.max);
  return first < end ? Ranks{first, end - first} : Ranks{};
}

Ranks ranks_between(const MembersOrder& order, const RankRange& range, Direction direction) {
  const auto size = static_cast<std::int64_t>(order.size());
  const std::int64_t start =
      std::max<std::int64_t>(range.start < 0 ? range.start + size : range.start, 0);
  const std::int64_t stop = std::min(range.stop < 0 ? range.stop + size : range.stop, size - 1);
  if (start > stop) return {};
  const std::int64_t first = direction == Direction::forward ? start : size - 1 - stop;
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(stop - start + 1)};
}

}  // namespace

std::optional<MemberRange> read_range(Call& call, RangeKind kind, std::size_t min,
                                      std::size_t max) {
  switch (kind) {
    case RangeKind::rank: {
      const std::optional<std::int64_t> start = call.integer(min);
      const std::optional<std::int64_t> stop = start ? call.integer(max) : std::nullopt;
      if (!stop) return std::nullopt;
      return RankRange{*start, *stop};
    }
    case RangeKind::score: {
      const std::optional<ScoreBound> low = read_score_bound(call.word(min));
      const std::optional<ScoreBound> high = read_score_bound(call.word(max));
      if (low && high) return ScoreRange{*low, *high};
      call.fail("ERR min or max is not a float");
      return std::nullopt;
    }
    case RangeKind::name: {
      const std::optional<NameBound> low = read_name_bound(call.word(min));
      const std::optional<NameBound> high = read_name_bound(call.word(max));
      if (low && high) return NameRange{*low, *high};
      call.fail("ERR min or max not valid string range item");
      return std::nullopt;
    }
  }
  return std::nullopt;
}

MembersOrder order_for(MembersRef& zset, const MemberRange& range) {
  const auto* by_score = std::get_if<ScoreRange>(&range);
  return by_score != nullptr ? zset.order(by_score->max.score) : zset.order();
}

Ranks ranks_in(const MembersOrder& order, const MemberRange& range, Direction direction) {
  if (const auto* by_score = std::get_if<ScoreRange>(&range)) {
    return ranks_between(order, *by_score);
  }
  if (const auto* by_name = std::get_if<NameRange>(&range)) return ranks_between(order, *by_name);
  return ranks_between(order, std::get<RankRange>(range), direction);
}

Ranks limited(Ranks ranks, Direction direction, std::int64_t offset, std::int64_t count) {
  if (offset < 0 || static_cast<std::uint64_t>(offset) >= ranks.count) return {};
  ranks.count -= static_cast<std::size_t>(offset);
  const std::size_t kept =
      count < 0 ? ranks.count : std::min(ranks.count, static_cast<std::size_t>(count));
  if (direction == Direction::forward) {
    ranks.first += static_cast<std::size_t>(offset);
  } else {
    ranks.first += ranks.count - kept;
  }
  ranks.count = kept;
  return ranks;
}

void visit_ranks(const MembersOrder& order, Ranks ranks, Direction direction,
                 const MembersOrder::Visit& visit) {
  if (ranks.count == 0) return;
  const bool is_forward = direction == Direction::forward;
  order.visit(is_forward ? ranks.first : ranks.first + ranks.count - 1, ranks.count, direction,
              visit);
}

}  // namespace mayfly
