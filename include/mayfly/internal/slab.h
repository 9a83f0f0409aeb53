// SPDX-License-Identifier: Apache-2.0
// Slab: values that stay where they are and are known by dense numbers.
//
//   chunk 0            chunk 1            chunk 2
//   | 256 values |     (no memory)        | 256 values |       a bit for each value says: in use
//
// A chunk's memory is given back when its last value goes (one is kept in hand). Numbers of values
// that are gone are used again, so that numbers stay dense and can name columns (see
// slot_column.h).
//
//   emplace, erase, [ ]   O(1)
//   next                  O(chunks skipped)
//   memory                sizeof(T) a value, and 0.2 bytes, when chunks are full

#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "mayfly/internal/slot_column.h"

namespace mayfly::internal {

template <class T>
class Slab {
 public:
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() { clear(); }

  template <class... Args>
  Slot emplace(Args&&... args) {
    if (open_.empty()) add_chunk();
    const std::uint32_t at = open_.back();
    Chunk& chunk = chunks_[at];
    if (values_[at] == nullptr) values_[at] = obtain();

    const std::size_t place = chunk.first_free();
    std::construct_at(value_at(at, place), std::forward<Args>(args)...);
    chunk.used[place / 64] |= std::uint64_t{1} << place % 64;
    if (++chunk.count == kChunkSlots) open_.pop_back();
    ++size_;
    return static_cast<Slot>(at * kChunkSlots + place);
  }

  // REQUIRES: the slot is in use.
  void erase(Slot slot) {
    const auto at = static_cast<std::uint32_t>(slot / kChunkSlots);
    const std::size_t place = slot % kChunkSlots;
    Chunk& chunk = chunks_[at];
    std::destroy_at(value_at(at, place));
    chunk.used[place / 64] &= ~(std::uint64_t{1} << place % 64);
    if (chunk.count-- == kChunkSlots) open_.push_back(at);
    if (chunk.count == 0) release(std::exchange(values_[at], nullptr));
    --size_;
  }

  T& operator[](Slot slot) { return *value_at(slot / kChunkSlots, slot % kChunkSlots); }
  const T& operator[](Slot slot) const { return *value_at(slot / kChunkSlots, slot % kChunkSlots); }

  bool is_used(Slot slot) const {
    const std::size_t at = slot / kChunkSlots;
    const std::size_t place = slot % kChunkSlots;
    return at < chunks_.size() && (chunks_[at].used[place / 64] >> place % 64 & 1) != 0;
  }

  // The first slot in use from `slot` on, or kNoSlot.
  Slot next(Slot slot) const {
    for (std::size_t word = slot / 64; word < chunks_.size() * kWords; ++word) {
      std::uint64_t used = chunks_[word / kWords].used[word % kWords];
      if (word == slot / 64) used &= ~std::uint64_t{0} << slot % 64;
      if (used == 0) continue;
      return static_cast<Slot>(word * 64 + static_cast<std::size_t>(std::countr_zero(used)));
    }
    return kNoSlot;
  }

  void clear() {
    for (Slot slot = next(0); slot != kNoSlot; slot = next(slot)) erase(slot);
    release(nullptr);
    chunks_ = {};
    values_ = {};
    open_ = {};
  }

  std::size_t size() const { return size_; }

  // For columns that stand in the values. Good until the slab grows beyond extent().
  SlotTable table() const { return {values_.data(), extent(), sizeof(T)}; }

  // Every slot in use is below it.
  std::size_t extent() const { return chunks_.size() * kChunkSlots; }

 private:
  static constexpr std::size_t kWords = kChunkSlots / 64;

  struct Chunk {
    std::array<std::uint64_t, kWords> used{};
    std::uint32_t count = 0;

    std::size_t first_free() const {
      std::size_t word = 0;
      while (used[word] == ~std::uint64_t{0}) ++word;
      return word * 64 + static_cast<std::size_t>(std::countr_one(used[word]));
    }
  };

  void add_chunk() {
    open_.push_back(static_cast<std::uint32_t>(chunks_.size()));
    chunks_.emplace_back();
    values_.push_back(nullptr);
  }

  T* value_at(std::size_t chunk, std::size_t place) const {
    return reinterpret_cast<T*>(values_[chunk]) + place;
  }

  std::byte* obtain() {
    if (spare_ != nullptr) return std::exchange(spare_, nullptr);
    return reinterpret_cast<std::byte*>(std::allocator<T>().allocate(kChunkSlots));
  }

  // Keeps one chunk's memory in hand, for a slab whose only value comes and goes.
  void release(std::byte* values) {
    if (spare_ != nullptr) {
      std::allocator<T>().deallocate(reinterpret_cast<T*>(spare_), kChunkSlots);
    }
    spare_ = values;
  }

  std::vector<std::byte*> values_;  // the memory of each chunk; null if none of it is in use
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> open_;  // chunks with room, each once
  std::byte* spare_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace mayfly::internal
