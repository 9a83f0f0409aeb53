// SPDX-License-Identifier: Apache-2.0
#include "commands/zset/zset_combine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>

#include "keyspace/hasher.h"

namespace mayfly {
namespace {

double without_nan(double score) { return std::isnan(score) ? 0 : score; }

double aggregated(ScoreAggregate aggregate, double score, double other) {
  switch (aggregate) {
    case ScoreAggregate::sum:
      return without_nan(score + other);  // of inf and -inf
    case ScoreAggregate::min:
      return other < score ? other : score;
    case ScoreAggregate::max:
      return other > score ? other : score;
  }
  return score;
}

// Calls `visit` with the name and the score of each member alive. The name of a member of a set is
// valid only meanwhile.
template <class Visit>
void each_member(Call& call, const ZsetSource& source, Visit visit) {
  if (source.slot == kNoSlot) return;
  const MembersRef members = call.members(source.slot);
  members.each([&](const Member& member) { return visit(member.name, source.score_of(member)); });
}

// Finds the items of a list by their names.
class NameIndex {
 public:
  // There will be at most `most` items.
  NameIndex(ScoredNames& names, std::size_t most, std::uint64_t seed)
      : names_(names), seed_(seed), cells_(std::bit_ceil(2 * most + 1), 0) {}

  // The item of this name, or null; then it must be added next.
  ScoredName* find_or_place(std::string_view name) {
    const std::size_t mask = cells_.size() - 1;
    place_ = hash_bytes(name, seed_) & mask;
    for (; cells_[place_] != 0; place_ = (place_ + 1) & mask) {
      ScoredName& item = names_.items()[cells_[place_] - 1];
      if (item.name == name) return &item;
    }
    return nullptr;
  }

  void add(std::string_view name, double score) {
    names_.add(name, score);
    cells_[place_] = static_cast<std::uint32_t>(names_.items().size());
  }

 private:
  ScoredNames& names_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> cells_;  // 1 + the number of an item, or 0
  std::size_t place_ = 0;
};

void unite(Call& call, const ZsetSources& from, ScoredNames& result) {
  std::size_t most = 0;
  for (const ZsetSource& source : from.sources) most += source.size;
  NameIndex index(result, most, call.keyspace().options().seed);
  result.items().reserve(from.sources.back().size);
  for (const ZsetSource& source : from.sources) {
    each_member(call, source, [&](std::string_view name, double base) {
      const double score = without_nan(source.weight * base);
      if (ScoredName* const item = index.find_or_place(name)) {
        item->score = aggregated(from.aggregate, item->score, score);
      } else {
        index.add(source.is_set ? result.copied(name) : name, score);
      }
      return true;
    });
  }
}

// A source that members are looked up in.
struct Lookup {
  const ZsetSource& source;
  MembersRef members;
};

std::vector<Lookup> lookups_of(Call& call, const ZsetSources& from) {
  std::vector<Lookup> lookups;
  for (const ZsetSource& source : std::span(from.sources).subspan(1)) {
    if (source.slot != kNoSlot) lookups.push_back({source, call.members(source.slot)});
  }
  return lookups;
}

// Reports members that the lookups found expired.
void finish_lookups(Call& call, std::vector<Lookup>& lookups) {
  for (Lookup& lookup : lookups) call.finish(lookup.members, lookup.source.key);
}

// Calls `visit` with each common member and its score, until it returns false.
template <class Visit>
void each_common(Call& call, const ZsetSources& from, Visit visit) {
  const ZsetSource& smallest = from.sources.front();
  if (smallest.size == 0) return;
  std::vector<Lookup> lookups = lookups_of(call, from);
  each_member(call, smallest, [&](std::string_view name, double base) {
    double score = without_nan(smallest.weight * base);
    for (Lookup& lookup : lookups) {
      double other = base;
      if (lookup.source.slot != smallest.slot) {
        const std::optional<Member> found = lookup.members.find(name);
        if (!found) return true;
        other = lookup.source.score_of(*found);
      }
      score = aggregated(from.aggregate, score, other * lookup.source.weight);
    }
    return visit(name, score);
  });
  finish_lookups(call, lookups);
}

void subtract(Call& call, const ZsetSources& from, ScoredNames& result) {
  const ZsetSource& first = from.sources.front();
  std::vector<Lookup> lookups = lookups_of(call, from);
  for (const Lookup& lookup : lookups) {
    if (lookup.source.slot == first.slot) return;
  }
  each_member(call, first, [&](std::string_view name, double score) {
    for (Lookup& lookup : lookups) {
      if (lookup.members.find(name)) return true;
    }
    result.add(first.is_set ? result.copied(name) : name, score);
    return true;
  });
  finish_lookups(call, lookups);
}

// Smaller sources first, as Valkey has them: sums of floats depend on it.
void sort_by_size(std::vector<ZsetSource>& sources) {
  std::ranges::stable_sort(sources, {}, &ZsetSource::size);
}

}  // namespace

ScoredNames combine_zsets(Call& call, ZsetOperation operation, ZsetSources from) {
  if (operation != ZsetOperation::subtract) sort_by_size(from.sources);
  ScoredNames result;
  switch (operation) {
    case ZsetOperation::unite:
      unite(call, from, result);
      break;
    case ZsetOperation::intersect:
      each_common(call, from, [&](std::string_view name, double score) {
        result.add(from.sources.front().is_set ? result.copied(name) : name, score);
        return true;
      });
      break;
    case ZsetOperation::subtract:
      subtract(call, from, result);
      break;
  }
  result.sort();
  return result;
}

std::size_t count_common(Call& call, ZsetSources from, std::size_t limit) {
  sort_by_size(from.sources);
  std::size_t count = 0;
  each_common(call, from, [&](std::string_view, double) { return ++count < limit; });
  return count;
}

}  // namespace mayfly
