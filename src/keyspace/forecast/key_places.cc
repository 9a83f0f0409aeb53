// SPDX-License-Identifier: Apache-2.0
#include "keyspace/forecast/key_places.h"

#include <algorithm>

#include "keyspace/forecast/chunk_sample.h"
#include "keyspace/forecast/table_places.h"
#include "keyspace/value.h"

namespace mayfly {
namespace {

constexpr std::size_t kKeyChunks = 64;
constexpr std::size_t kNodesMost = 4'000;      // keys with members that are looked at
constexpr std::size_t kMembersMost = 100'000;  // of their members, in all

struct SlotEnds {
  Time key;      // the key is gone
  Time members;  // no member has a deadline any more
};

// Of a key whose members have deadlines. Of a large one the first members are looked at: the last
// deadline may be later. `looked_at`: how many members of this chunk were; their number is added.
SlotEnds ends_of_members(const KeyNode& node, Time deadline, std::size_t& looked_at) {
  constexpr std::size_t kChunkMembers = 30'000;
  const std::size_t first_members = looked_at < kChunkMembers ? 1'000 : 20;
  Time last = Time::min();
  bool is_lasting = false;
  std::size_t seen = 0;
  visit_members(node, [&](const auto& members) {
    members.each([&](const Member& member) {
      if (member.deadline == kNever) is_lasting = true;
      if (member.deadline != kNever) last = std::max(last, member.deadline);
      return ++seen < first_members;
    });
  });
  looked_at += seen;
  return {.key = is_lasting ? deadline : std::min(deadline, last),
          .members = std::min(deadline, last)};
}

struct SampledKeys {
  explicit SampledKeys(std::span<const Time> ends) : nodes(ends), keys(ends), members(ends) {}

  ChunkSample nodes;
  ChunkSample keys;     // the index of their deadlines
  ChunkSample members;  // that of members
};

struct Looked {
  std::size_t nodes = 0;  // keys with members
  std::size_t members = 0;
};

Looked look_at_keys(const Database& database, std::size_t chunk, SampledKeys& found) {
  Looked looked;
  Time last = ChunkSample::kNotInUse;
  Time last_key = ChunkSample::kNotInUse;
  Time last_member = ChunkSample::kNotInUse;
  for (std::size_t i = 0; i < kChunkSlots; ++i) {
    const auto slot = static_cast<Slot>(chunk * kChunkSlots + i);
    if (!database.is_used(slot)) continue;
    const Time deadline = database.indexed_deadline(slot);
    SlotEnds ends{.key = deadline, .members = ChunkSample::kNotInUse};
    if (database.has_member_deadlines(slot)) {
      ends = ends_of_members(database.node(slot), deadline, looked.members);
      ++looked.nodes;
    }
    last = std::max(last, ends.key);
    if (deadline != kNever) last_key = std::max(last_key, deadline);
    last_member = std::max(last_member, ends.members);
  }
  found.nodes.add(last);
  found.keys.add(last_key);
  found.members.add(last_member);
  return looked;
}

}  // namespace

std::vector<double> key_places(const Database& database, std::span<const Time> ends,
                               std::span<const DeadlineSum> keys, const MemberForecast& members) {
  SampledKeys found(ends);
  Random random(database.stored());
  Looked all;
  for (const std::size_t chunk : ChunkSample::choose(database.slot_extent(), kKeyChunks, random)) {
    const Looked looked = look_at_keys(database, chunk, found);
    all.nodes += looked.nodes;
    all.members += looked.members;
    if (all.nodes >= kNodesMost || all.members >= kMembersMost) break;
  }
  const std::size_t chunks = database.slot_extent() / kChunkSlots;
  const std::vector<double> of_nodes = found.nodes.emptied(chunks);
  const std::vector<double> of_keys = found.keys.emptied(chunks);
  const std::vector<double> of_members = found.members.emptied(chunks);
  const std::vector<std::size_t> of_sums = database.sums_freed_until(ends);
  const double share = members.keys() == 0 ? 0
                                           : static_cast<double>(database.member_deadline_count()) /
                                                 static_cast<double>(members.keys());
  std::vector<double> freed(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto due = static_cast<double>(keys[i].entries);
    const MemberForecast::Point& point = members.points()[i];
    const double gone = due + point.emptied * share;
    const double left = std::max(0.0, static_cast<double>(database.stored()) - gone);
    freed[i] = freed_of_table(database.table_bytes(), database.stored(), left) +
               of_nodes[i] * kSlabChunkBytes + (of_keys[i] + of_members[i]) * kIndexChunkBytes +
               (due + point.settled * share) * kIndexBucketBytes + static_cast<double>(of_sums[i]);
  }
  return freed;
}

}  // namespace mayfly
