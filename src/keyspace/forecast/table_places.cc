// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/table_places.h"

#include <algorithm>

#include "keyspace/forecast/chunk_sample.h"

namespace mayfly {
namespace {

constexpr std::size_t kTableChunks = 16;  // looked at, of a table

// Of an entry in an order of which many entries were erased: its leaves are half full.
constexpr double kSparseOrderBytes = 25.4;

// What a chunk's slots say, until each moment.
struct SampledMembers {
  explicit SampledMembers(std::span<const Time> ends)
      : due(ends.size()), nodes(ends), index(ends) {}

  std::vector<std::size_t> due;  // between a moment and the one before
  std::size_t members = 0;
  ChunkSample nodes;
  ChunkSample index;
};

void look_at_members(const MemberTable& table, std::size_t chunk, std::span<const Time> ends,
                     SampledMembers& found) {
  Time last = ChunkSample::kNotInUse;
  Time last_due = ChunkSample::kNotInUse;
  for (std::size_t i = 0; i < kChunkSlots; ++i) {
    const auto slot = static_cast<Slot>(chunk * kChunkSlots + i);
    if (!table.is_used(slot)) continue;
    ++found.members;
    const Time deadline = table.deadline_at(slot);
    last = std::max(last, deadline);
    if (deadline == kNever) continue;
    last_due = std::max(last_due, deadline);
    const auto end = std::ranges::upper_bound(ends, deadline);
    if (end != ends.end()) ++found.due[static_cast<std::size_t>(end - ends.begin())];
  }
  found.nodes.add(last);
  found.index.add(last_due);
}

// Of the buckets of an index. A single one is halved when half of it is empty; of many, those that
// are due go.
double freed_of_buckets(std::size_t deadlines, double due) {
  constexpr std::size_t kOneBucket = 2'000;
  const auto all = static_cast<double>(deadlines);
  double room = all - due;
  if (deadlines <= kOneBucket && room > 0) {
    for (room = all; room > 2 * (all - due);) room /= 2;
  }
  return (all - room) * kIndexBucketBytes;
}

}  // namespace

// The table becomes sparse, and shrinks in proportion when a fifth of its slots is gone. Some
// buckets are kept in hand.
double freed_of_table(std::size_t bytes, std::size_t slots, double left) {
  if (slots == 0) return 0;
  constexpr double kInHand = 700;
  const auto now = static_cast<double>(bytes);
  const double dense = now / static_cast<double>(slots);
  const double gone = 1 - left / static_cast<double>(slots);
  const double way = std::min(1.0, gone * 5);  // from dense to sparse
  return std::max(0.0, now - left * (dense + (Table::kSparseBytes - dense) * way) - kInHand * way);
}

std::vector<TablePlaces> table_places(const MemberTable& table, std::span<const Time> ends,
                                      Random& random) {
  SampledMembers found(ends);
  const std::size_t extent = table.slot_extent();
  for (const std::size_t chunk : ChunkSample::choose(extent, kTableChunks, random)) {
    look_at_members(table, chunk, ends, found);
  }
  const std::size_t chunks = extent / kChunkSlots;
  const std::vector<double> nodes = found.nodes.emptied(chunks);
  const std::vector<double> index = found.index.emptied(chunks);
  const auto count = static_cast<double>(table.count());
  const double share = found.members == 0 ? 0 : count / static_cast<double>(found.members);
  std::vector<TablePlaces> places(ends.size());
  double due = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    due += static_cast<double>(found.due[i]);
    const double members = std::min(due * share, static_cast<double>(table.deadline_count()));
    const double left = count - members;
    const auto order = static_cast<double>(table.order_bytes());
    places[i].members = members;
    places[i].freed = freed_of_table(table.table_bytes(), table.count(), left) +
                      nodes[i] * kSlabChunkBytes + index[i] * kIndexChunkBytes +
                      freed_of_buckets(table.deadline_count(), members) +
                      std::max(0.0, order - left * kSparseOrderBytes);
    // A sample does not tell about the last ones.
    const bool may_end = members + 1 > static_cast<double>(table.deadline_count());
    places[i].has_deadlines =
        !may_end || table.count_due(ends[i] - Millis(1)) < table.deadline_count();
    places[i].is_empty = !places[i].has_deadlines && table.deadline_count() == table.count();
  }
  return places;
}

}  // namespace mayfly
