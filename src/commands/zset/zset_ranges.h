// SPDX-License-Identifier: Apache-2.0
// Ranges of sorted sets as requests give them: by rank, by score or by name.
//
//   ZRANGE key 0 -1                     RankRange
//   ZRANGE key (1.5 +inf BYSCORE        ScoreRange
//   ZRANGE key [a (b BYLEX              NameRange
//
// Each becomes a range of ranks among the members alive.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "commands/call.h"
#include "keyspace/members/members_order.h"

namespace mayfly {

// Both ends are included. Negative ones count from the last member.
struct RankRange {
  std::int64_t start = 0;
  std::int64_t stop = -1;
};

struct ScoreBound {
  double score = 0;
  bool is_open = false;  // the bound itself is not included
};
struct ScoreRange {
  ScoreBound min;
  ScoreBound max;
};

struct NameBound {
  enum class Kind { lowest, highest, closed, open };
  Kind kind = Kind::lowest;
  std::string_view name;
};
struct NameRange {
  NameBound min;
  NameBound max;
};

using MemberRange = std::variant<RankRange, ScoreRange, NameRange>;
enum class RangeKind { rank, score, name };

// The words `min` and `max` as a range; an error reply and nothing if one is wrong.
std::optional<MemberRange> read_range(Call& call, RangeKind kind, std::size_t min, std::size_t max);

// Neighbours in the order: `count` of them, from `first` on.
struct Ranks {
  std::size_t first = 0;
  std::size_t count = 0;
};

// The order of all members that the range may hold, with the ranks that they have.
MembersOrder order_for(MembersRef& zset, const MemberRange& range);

// The members in a range. The direction matters to ranks, which count from its beginning.
Ranks ranks_in(const MembersOrder& order, const MemberRange& range, Direction direction);

// LIMIT: leaves out `offset` of them, and keeps `count` at most, in this direction. A negative
// offset leaves nothing, a negative count keeps all.
Ranks limited(Ranks ranks, Direction direction, std::int64_t offset, std::int64_t count);

void visit_ranks(const MembersOrder& order, Ranks ranks, Direction direction,
                 const MembersOrder::Visit& visit);

}  // namespace mayfly
