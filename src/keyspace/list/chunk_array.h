// SPDX-License-Identifier: Apache-2.0
// ChunkArray: the chunks of a list in order, in one allocation with free places at both ends.
//
//   push, pop        O(1) amortised, at both ends
//   insert, erase    O(chunks), a move of the nearer side
//   memory           24 bytes a chunk, and a quarter of that for growing
//
// It does not free the bytes of the chunks: the list does.

#pragma once

#include <cstddef>
#include <cstdint>

#include "keyspace/list/list_chunk.h"

namespace mayfly {

class ChunkArray {
 public:
  ChunkArray() = default;
  ~ChunkArray();
  ChunkArray(const ChunkArray&) = delete;
  ChunkArray& operator=(const ChunkArray&) = delete;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ListChunk* begin() const { return places_ + first_; }
  ListChunk* end() const { return places_ + first_ + size_; }
  ListChunk& operator[](std::size_t i) const { return places_[first_ + i]; }
  ListChunk& at_end(ListEnd end) const { return (*this)[end == ListEnd::head ? 0 : size_ - 1]; }

  // Before the chunk at `i`, or at the end.
  void insert(std::size_t i, const ListChunk& chunk);
  void erase(std::size_t i, std::size_t count);

  std::size_t allocated() const;

 private:
  void resize(std::size_t capacity, bool is_front);

  ListChunk* places_ = nullptr;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace mayfly
