// SPDX-License-Identifier: Apache-2.0
// SlotColumn: one value for each slot in use, blank for all the others.
//
//   table_   [ * | * | * | * ]          live_   [ 3 | 0 | 256 | 0 ]
//              |   |   |   |
//              |   +---|---+--> the blank chunk, shared, never written
//              v       v
//            256 values each
//
// A chunk is allocated when the first of its slots is claimed and given back when the last is
// dropped (one is kept in hand), so that memory follows what is in use. Reading a slot that was
// never claimed needs no test: it finds the blank value in the blank chunk.
//
// Or the column is attached to the table of another structure, whose entries contain the values.
// Then a value is in the cache line of its entry.
//
//   claim, drop, read   O(1)
//   memory              sizeof(T) a slot claimed, and 0.1 bytes for bookkeeping, when slots are
//                       dense

#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "mayfly/slot.h"

namespace mayfly::internal {

// T must be cheap to copy; a blank one is T{}.
template <class T>
class SlotColumn {
 public:
  SlotColumn() = default;
  SlotColumn(SlotColumn&&) noexcept = default;
  SlotColumn& operator=(SlotColumn&&) noexcept = default;

  // Uses the values in a table of the owner's, from now on and until the next call: the owner calls
  // again whenever the table grows. Entries come with blank values. REQUIRES: nothing is in use, or
  // the column was attached before.
  void attach(const SlotTable& table) {
    is_attached_ = true;
    table_ = table;
  }

  // From now on every slot below `count` may be read.
  void reserve(std::size_t count) {
    if (count <= table_.extent || is_attached_) return;
    const std::size_t chunks = (count + kChunkSlots - 1) / kChunkSlots;
    chunks_.resize(chunks, blank());
    owned_.resize(chunks);
    live_.resize(chunks, 0);
    table_ = {chunks_.data(), chunks * kChunkSlots, sizeof(T)};
  }

  // How many slots may be read: those below it.
  std::size_t extent() const { return table_.extent; }

  // REQUIRES: slot < extent(), and if attached, that the entry is there.
  const T& operator[](Slot slot) const { return *place_of(slot); }

  // The value of a claimed slot, to change. REQUIRES: it was claimed and not dropped since.
  T& at(Slot slot) { return *place_of(slot); }

  // Takes a blank slot into use. REQUIRES: it is not in use.
  T& claim(Slot slot) {
    assert(slot < kSlotLimit);
    reserve(std::size_t{slot} + 1);
    if (!is_attached_ && live_[slot / kChunkSlots]++ == 0) acquire(slot / kChunkSlots);
    return at(slot);
  }

  // Makes the slot blank again. REQUIRES: it is in use.
  void drop(Slot slot) {
    at(slot) = T{};
    if (!is_attached_ && --live_[slot / kChunkSlots] == 0) release(slot / kChunkSlots);
  }

  // Fetches the slot's value into the processor's cache, ahead of its use.
  [[gnu::always_inline]] void prefetch(Slot slot) const { __builtin_prefetch(place_of(slot), 1); }

 private:
  T* place_of(Slot slot) const {
    assert(slot < table_.extent);
    std::byte* const chunk = table_.chunks[slot / kChunkSlots];
    return reinterpret_cast<T*>(chunk + slot % kChunkSlots * table_.stride);
  }

  // Shared by all columns of a type, and only ever read: claim() replaces it before a write.
  static std::byte* blank() {
    static const std::vector<T> values(kChunkSlots);
    return reinterpret_cast<std::byte*>(const_cast<T*>(values.data()));
  }

  void acquire(std::size_t chunk) {
    owned_[chunk] = spare_ ? std::move(spare_) : std::make_unique<T[]>(kChunkSlots);
    chunks_[chunk] = reinterpret_cast<std::byte*>(owned_[chunk].get());
  }

  void release(std::size_t chunk) {
    spare_ = std::move(owned_[chunk]);
    chunks_[chunk] = blank();
  }

  SlotTable table_;
  bool is_attached_ = false;

  // Of a column that is not attached.
  std::vector<std::byte*> chunks_;           // owned_[i], or the blank chunk where that is null
  std::vector<std::unique_ptr<T[]>> owned_;  // null where no slot of the chunk is in use
  std::vector<std::uint16_t> live_;          // how many slots of each chunk are in use
  std::unique_ptr<T[]> spare_;               // blank all through: each of its slots was dropped
};

}  // namespace mayfly::internal
