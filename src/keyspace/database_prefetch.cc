// SPDX-License-Identifier: Apache-2.0
// Fetching keys and members into the processor's cache before the requests that need them run. A
// look-up in much data waits three times for memory: for a bucket, for a slot and for a node. Here
// each step is taken for all requests of a batch, so that they wait together.

#include <array>
#include <cassert>

#include "keyspace/database.h"
#include "keyspace/hasher.h"

namespace mayfly {
namespace {

// What is smaller is in the cache anyway.
constexpr std::size_t kMany = 20'000;

// A member that may be looked up, and how far it was found.
struct Probe {
  const MemberTable* table;
  std::uint64_t hash;
  Slot slot;
};

}  // namespace

void Database::prefetch_keys(std::span<const LookupHint> hints) const {
  if (stored() < kMany) return;
  std::array<std::uint64_t, kHintsMost> hashes;
  std::array<Slot, kHintsMost> slots;
  for (std::size_t i = 0; i < hints.size(); ++i) {
    hashes[i] = hash_of(hints[i].key);
    contents_->table.prefetch(hashes[i]);
  }
  for (std::size_t i = 0; i < hints.size(); ++i) {
    slots[i] = contents_->table.candidate(hashes[i]);
    if (slots[i] != kNoSlot) __builtin_prefetch(&contents_->nodes[slots[i]]);
  }
  for (std::size_t i = 0; i < hints.size(); ++i) {
    if (slots[i] != kNoSlot) __builtin_prefetch(contents_->nodes[slots[i]]);
  }
}

void Database::prefetch(std::span<const LookupHint> hints) const {
  assert(hints.size() <= kHintsMost);
  prefetch_keys(hints);
  std::array<Probe, kHintsMost * LookupHint::kMembers> probes;
  std::size_t count = 0;
  for (const LookupHint& hint : hints) {
    if (hint.members[0].empty()) continue;
    const Slot slot = stored_slot(hint.key);
    if (slot == kNoSlot || form_of(node(slot)) != ValueForm::table) continue;
    const MemberTable& table = node(slot).member_table();
    if (table.count() < kMany) continue;
    for (const std::string_view name : hint.members) {
      if (!name.empty()) probes[count++] = {&table, table.prefetch_bucket(name), kNoSlot};
    }
  }
  const std::span all = std::span(probes).first(count);
  for (Probe& probe : all) probe.slot = probe.table->prefetch_slot(probe.hash);
  for (const Probe& probe : all) {
    if (probe.slot != kNoSlot) probe.table->prefetch_node(probe.slot);
  }
}

}  // namespace mayfly
