// SPDX-License-Identifier: Apache-2.0
// The ends of a list, reading, and the whole list. Changes inside: chunked_list_edit.cc.

#include "keyspace/list/chunked_list.h"

#include <algorithm>
#include <utility>

namespace mayfly {

ChunkedList::~ChunkedList() {
  for (ListChunk& chunk : chunks_) chunk.free();
}

std::unique_ptr<ChunkedList> ChunkedList::clone() const {
  auto copy = std::make_unique<ChunkedList>();
  for (const ListChunk& chunk : chunks_) {
    copy->add_chunk(copy->chunks(), ListChunk::copy_of(chunk));
  }
  return copy;
}

std::size_t ChunkedList::bytes() const {
  std::size_t bytes = sizeof *this + chunks_.allocated();
  for (const ListChunk& chunk : chunks_) bytes += chunk.allocated();
  return bytes;
}

ChunkedList::Place ChunkedList::locate(std::size_t index) const {
  if (index < count_ / 2) {
    std::size_t i = 0;
    for (; index >= chunks_[i].count; ++i) index -= chunks_[i].count;
    return {i, index};
  }
  std::size_t left = count_ - index;  // elements from there to the end, at least one
  std::size_t i = chunks_.size() - 1;
  for (; left > chunks_[i].count; --i) left -= chunks_[i].count;
  return {i, chunks_[i].count - left};
}

ListpackValue ChunkedList::at_end(ListEnd end) const {
  const ListChunk& chunk = chunks_.at_end(end);
  ListpackValue value;
  read_entry(end == ListEnd::head ? chunk.first() : previous_entry(chunk.last_end()), value);
  return value;
}

ListpackValue ChunkedList::at(std::size_t index) const {
  const Place place = locate(index);
  return chunks_[place.chunk].entries().at(place.index);
}

void ChunkedList::add_chunk(std::size_t i, const ListChunk& chunk) {
  chunks_.insert(i, chunk);
  count_ += chunk.count;
}

void ChunkedList::drop_chunks(std::size_t i, std::size_t count) {
  for (std::size_t k = i; k < i + count; ++k) {
    count_ -= chunks_[k].count;
    chunks_[k].free();
  }
  chunks_.erase(i, count);
}

void ChunkedList::append(ListEntries entries) {
  add_chunk(chunks_.size(), ListChunk::copy_of(entries));
}

void ChunkedList::push_at(std::size_t i, ListEnd end, const ListpackText& text,
                          const ListLimits& limits) {
  ListChunk& chunk = chunks_[i];
  text.write(chunk.push(end, text.bytes(), limits.bytes()));
  ++chunk.count;
  ++count_;
}

// A chunk at `i` with this element, which will grow at that end.
void ChunkedList::put_chunk(std::size_t i, std::string_view text, ListEnd end,
                            const ListLimits& limits) {
  constexpr std::size_t kYoungBytes = 512;
  const ListpackText encoded(text);
  if (limits.is_large(text.size())) return add_chunk(i, ListChunk::with_large(encoded));
  const std::size_t bytes = encoded.bytes();
  const std::size_t elements = std::min<std::size_t>(limits.elements(), kYoungBytes);
  const std::size_t room = std::max(bytes, std::min(kYoungBytes, bytes * elements));
  add_chunk(i, ListChunk::with_room(room, end));
  push_at(i, end, encoded, limits);
}

void ChunkedList::push(ListEnd end, std::string_view text, const ListLimits& limits) {
  const std::size_t last = chunks_.empty() || end == ListEnd::head ? 0 : chunks_.size() - 1;
  if (!chunks_.empty()) {
    ListChunk& chunk = chunks_[last];
    if (chunk.accepts(text.size(), limits)) return push_at(last, end, ListpackText(text), limits);
    chunk.trim();
  }
  put_chunk(end == ListEnd::head ? 0 : chunks_.size(), text, end, limits);
}

void ChunkedList::pop(ListEnd end) {
  ListChunk& chunk = chunks_.at_end(end);
  if (chunk.count == 1) return drop_chunks(end == ListEnd::head ? 0 : chunks_.size() - 1, 1);
  if (end == ListEnd::head) {
    chunk.begin = static_cast<std::uint32_t>(next_entry(chunk.first()) - chunk.bytes);
  } else {
    chunk.end = static_cast<std::uint32_t>(previous_entry(chunk.last_end()) - chunk.bytes);
  }
  --chunk.count;
  --count_;
}

void ChunkedList::drop(ListEnd end, std::size_t count) {
  if (count == 1) return pop(end);
  std::size_t whole = 0;
  while (whole < chunks_.size()) {
    const std::size_t there =
        chunks_[end == ListEnd::head ? whole : chunks_.size() - 1 - whole].count;
    if (there > count) break;
    count -= there;
    ++whole;
  }
  if (whole > 0) drop_chunks(end == ListEnd::head ? 0 : chunks_.size() - whole, whole);
  if (count == 0) return;
  const std::size_t i = end == ListEnd::head ? 0 : chunks_.size() - 1;
  erase_in(i, end == ListEnd::head ? 0 : chunks_[i].count - count, count);
}

std::size_t ChunkedList::free_some(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit && !chunks_.empty()) {
    freed += chunks_[chunks_.size() - 1].count;
    drop_chunks(chunks_.size() - 1, 1);
  }
  return count_;
}

std::string ChunkedList::check_invariants() const {
  std::size_t found = 0;
  for (const ListChunk& chunk : chunks_) {
    if (chunk.count == 0) return "a chunk of a list is empty";
    if (chunk.is_large() && (chunk.count != 1 || chunk.begin != 0 || chunk.end != 0)) {
      return "a large element of a list is not alone in its chunk";
    }
    if (!chunk.is_large() && (chunk.begin > chunk.end || chunk.end > chunk.capacity)) {
      return "a chunk of a list ends outside of its room";
    }
    if (chunk.capacity > chunk.allocated()) return "a chunk of a list has less room than it says";
    if (std::string problem = chunk.entries().check_invariants(); !problem.empty()) return problem;
    found += chunk.count;
  }
  return found == count_ ? "" : "a list counts its elements wrong";
}

}  // namespace mayfly
