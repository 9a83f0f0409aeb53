// SPDX-License-Identifier: Apache-2.0
// ChunkedList: a large list, as a sequence of chunks of some KiB.
//
// A chunk is a run of listpack entries with free room at the end at which it grows, or at both. So
// a push and a pop at either end move no bytes. An element that is larger than a chunk may be has a
// chunk of its own.
//
//   push, pop        O(1) at both ends
//   index            O(chunks), from the nearer end
//   change inside    O(chunks + bytes of a chunk)
//   memory           some 0.5 % more than the entries, if only the ends were changed
//
// A full chunk into which an element is inserted is split. Small neighbours are merged, but never
// the last two: OBJECT ENCODING tells whether there is one chunk, and Valkey merges none when it
// erases.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "keyspace/list/chunk_array.h"
#include "keyspace/list/list_limits.h"
#include "keyspace/list/packed_list.h"

namespace mayfly {

class ChunkedList {
 public:
  ChunkedList() = default;
  ~ChunkedList();
  ChunkedList(const ChunkedList&) = delete;
  ChunkedList& operator=(const ChunkedList&) = delete;

  std::unique_ptr<ChunkedList> clone() const;

  std::size_t count() const { return count_; }  // elements
  std::size_t chunks() const { return chunks_.size(); }
  std::size_t bytes() const;  // that it has allocated, itself included. O(chunks)

  // Views are valid until the next change. REQUIRES: there is such an element.
  ListpackValue at(std::size_t index) const;
  ListpackValue at_end(ListEnd end) const;

  // Calls `visit(value)`, const ListpackValue&, for at most `count` elements from `index` on,
  // forward or backward, until it returns false.
  template <class Visit>
  void each(std::size_t index, std::size_t count, bool is_forward, Visit visit) const;

  // Calls `visit(ListEntries)` for each chunk.
  template <class Visit>
  void each_chunk(Visit visit) const {
    for (const ListChunk& chunk : chunks_) visit(chunk.entries());
  }

  // Whether it has shrunk so much that it should be packed.
  bool is_small(const ListLimits& limits) const {
    return chunks() == 1 && !chunks_[0].is_large() &&
           limits.is_small(chunks_[0].listpack_bytes(), count_);
  }

  // ---- Changes; a text must not be a part of the list ----

  void push(ListEnd end, std::string_view text, const ListLimits& limits);
  void pop(ListEnd end);                      // REQUIRES: count() > 0
  void drop(ListEnd end, std::size_t count);  // pops that many. REQUIRES: count <= count()
  void set(std::size_t index, std::string_view text, const ListLimits& limits);
  // Before the element at `index`, or at the end if that is count().
  void insert(std::size_t index, std::string_view text, const ListLimits& limits);
  void erase(std::size_t index, std::size_t count, const ListLimits& limits);
  // Removes elements equal to the text: at most `most`, from that end. Returns how many.
  std::size_t remove(std::string_view text, std::size_t most, ListEnd from,
                     const ListLimits& limits);

  // Adds a chunk at the tail. REQUIRES: there are some entries, of less than 2 GiB.
  void append(ListEntries entries);

  // Frees at most about `limit` elements from the end; returns how many are left.
  std::size_t free_some(std::size_t limit);

  std::string check_invariants() const;

 private:
  struct Place {
    std::size_t chunk;
    std::size_t index;  // in the chunk
  };
  Place locate(std::size_t index) const;  // REQUIRES: index < count_
  void add_chunk(std::size_t i, const ListChunk& chunk);
  void drop_chunks(std::size_t i, std::size_t count);
  void push_at(std::size_t i, ListEnd end, const ListpackText& text, const ListLimits& limits);
  void put_chunk(std::size_t i, std::string_view text, ListEnd end, const ListLimits& limits);
  void split(std::size_t i, std::size_t index);  // REQUIRES: both parts have elements
  void insert_into(std::size_t i, std::size_t index, const ListpackText& text,
                   const ListLimits& limits);
  void erase_in(std::size_t i, std::size_t index, std::size_t count);
  // With the next one, if both together have so many bytes at most.
  bool merge(std::size_t i, std::size_t most, const ListLimits& limits);
  void merge_range(std::size_t first, std::size_t last, const ListLimits& limits);

  ChunkArray chunks_;
  std::size_t count_ = 0;
};

template <class Visit>
void ChunkedList::each(std::size_t index, std::size_t count, bool is_forward, Visit visit) const {
  if (index >= count_ || count == 0) return;
  Place place = locate(index);
  for (;;) {
    const ListEntries entries = chunks_[place.chunk].entries();
    const std::size_t there = is_forward ? entries.count - place.index : place.index + 1;
    if (!entries.each(place.index, count, is_forward, visit) || there >= count) return;
    count -= there;
    if (is_forward ? ++place.chunk == chunks_.size() : place.chunk-- == 0) return;
    place.index = is_forward ? 0 : chunks_[place.chunk].count - 1;
  }
}

}  // namespace mayfly
