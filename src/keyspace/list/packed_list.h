// SPDX-License-Identifier: Apache-2.0
// PackedListView: a small list in the node of its key.
//
//   | elements 4 | entry | entry ... |          entries as in a listpack
//
// It does not own the bytes; they must not change while it is in use.
//
// ListEntries, a run of such entries, is what the chunks of a large list consist of, too.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "keyspace/listpack/listpack_entry.h"

namespace mayfly {

inline constexpr std::size_t kPackedListHeader = 4;

enum class ListEnd : std::uint8_t { head, tail };

// Entries of a list that lie one behind the other.
struct ListEntries {
  std::string_view bytes;
  std::size_t count = 0;

  const char* begin() const { return bytes.data(); }
  const char* end() const { return bytes.data() + bytes.size(); }

  // Where the entry begins; the end for `count`. From the nearer end. REQUIRES: index <= count.
  const char* find(std::size_t index) const;

  // REQUIRES: index < count.
  ListpackValue at(std::size_t index) const {
    ListpackValue value;
    read_entry(find(index), value);
    return value;
  }

  // Calls `visit(value)` for `most` elements, or as many as there are, from `index` on, forward or
  // backward, until it returns false. Returns whether it never did. REQUIRES: index < count.
  template <class Visit>
  bool each(std::size_t index, std::size_t most, bool is_forward, Visit& visit) const;

  // Empty if the bytes are valid, else what is wrong with them.
  std::string check_invariants() const;
};

// Removes from [begin, end) entries equal to the text, at most `most`, from the head or the tail.
// What is left lies one behind the other at that end, [begin, end) of the result.
struct RemovedEntries {
  char* begin;
  char* end;
  std::size_t removed = 0;
};
RemovedEntries remove_entries(char* begin, char* end, const ListpackText& text, std::size_t most,
                              ListEnd from);

class PackedListView {
 public:
  explicit PackedListView(std::string_view blob) : blob_(blob) {}

  std::size_t count() const {
    std::uint32_t count = 0;
    std::memcpy(&count, blob_.data(), sizeof count);
    return count;
  }
  ListEntries entries() const { return {blob_.substr(kPackedListHeader), count()}; }
  std::size_t bytes() const { return blob_.size(); }

  // Calls `visit(entries)` once, as ChunkedList does for each chunk.
  template <class Visit>
  void each_chunk(Visit visit) const {
    visit(entries());
  }

  // Empty if the bytes are valid, else what is wrong with them.
  std::string check_invariants() const;

 private:
  std::string_view blob_;
};

// Sets the number of elements.
inline void set_packed_list_count(char* blob, std::size_t count) {
  const auto stored = static_cast<std::uint32_t>(count);
  std::memcpy(blob, &stored, sizeof stored);
}

template <class Visit>
bool ListEntries::each(std::size_t index, std::size_t most, bool is_forward, Visit& visit) const {
  ListpackValue value;
  if (is_forward) {
    const char* at = find(index);
    for (std::size_t left = std::min(most, count - index); left > 0; --left) {
      at = read_entry(at, value);
      if (!visit(std::as_const(value))) return false;
    }
    return true;
  }
  const char* at = find(index + 1);
  for (std::size_t left = std::min(most, index + 1); left > 0; --left) {
    at = previous_entry(at);
    read_entry(at, value);
    if (!visit(std::as_const(value))) return false;
  }
  return true;
}

}  // namespace mayfly
