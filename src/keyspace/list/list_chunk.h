// SPDX-License-Identifier: Apache-2.0
// ListChunk: some elements of a large list, one behind the other in one allocation.
//
//   | free room | entry | entry ... | free room |
//
// A chunk that grows at one end has its room there, and one that grows at both ends has room at
// both. An element that is larger than a chunk may be has a chunk without room, which does not keep
// its size: the entry knows it, and may have some bytes more than 32 bits can count.
//
// A chunk does not free its bytes by itself: it is a plain struct, and its list owns it.

#pragma once

#include <cstddef>
#include <cstdint>

#include "keyspace/list/list_limits.h"
#include "keyspace/list/packed_list.h"

namespace mayfly {

struct ListChunk {
  char* bytes = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t capacity = 0;  // 0: one large element
  std::uint32_t count = 0;     // elements

  // A chunk without elements, with room for some; it will grow at that end first.
  static ListChunk with_room(std::size_t bytes, ListEnd end);
  static ListChunk with_large(const ListpackText& text);
  static ListChunk copy_of(ListEntries entries);  // REQUIRES: no large one
  static ListChunk copy_of(const ListChunk& chunk);
  void free();

  bool is_large() const { return capacity == 0; }
  const char* first() const { return bytes + begin; }
  const char* last_end() const { return is_large() ? next_entry(bytes) : bytes + end; }
  std::size_t used() const { return static_cast<std::size_t>(last_end() - first()); }
  std::size_t listpack_bytes() const { return used() + kListpackEmpty; }
  ListEntries entries() const { return {{first(), used()}, count}; }
  std::size_t allocated() const;

  // Whether one more element belongs here; the estimate of its size is Valkey's.
  bool accepts(std::size_t text_size, const ListLimits& limits) const {
    constexpr std::size_t kEstimatedOverhead = 8;
    return !is_large() && !limits.is_large(text_size) &&
           !limits.is_exceeded(listpack_bytes() + text_size + kEstimatedOverhead, count + 1);
  }
  bool accepts(const ListChunk& other, const ListLimits& limits) const {
    return !is_large() && !other.is_large() &&
           !limits.is_exceeded(listpack_bytes() + other.used(), count + other.count);
  }

  // ---- Changes; REQUIRES: not a large one ----

  // Room for an entry at one end; the same as replace() there.
  char* push(ListEnd where, std::size_t size, std::size_t limit) {
    if (where == ListEnd::tail) {
      if (capacity - end < size) return replace(used(), 0, size, limit);
      end += static_cast<std::uint32_t>(size);
      return bytes + end - size;
    }
    if (begin < size) return replace(0, 0, size, limit);
    begin -= static_cast<std::uint32_t>(size);
    return bytes + begin;
  }

  // Replaces `old_bytes` at `offset`, from begin on, by room for `new_bytes`, and returns where
  // that is. Moves the fewer bytes, and none at the ends. The chunk grows to `limit` if it has to,
  // or as far as needed. Does not change `count`.
  char* replace(std::size_t offset, std::size_t old_bytes, std::size_t new_bytes,
                std::size_t limit);

  // Entries that are equal to the text. Returns how many were removed.
  std::size_t remove(const ListpackText& text, std::size_t most, ListEnd from);

  // Gives back room that is not used, if it is worth that.
  void trim();

 private:
  void make_room(bool is_front, std::size_t size, std::size_t limit);
};

}  // namespace mayfly
