// SPDX-License-Identifier: Apache-2.0
// Changes inside of a list: chunks are split and merged.

#include <algorithm>
#include <cstring>

#include "keyspace/list/chunked_list.h"

namespace mayfly {
namespace {

// Between which entries a chunk is cut into halves of about the same bytes. REQUIRES: it has two.
std::size_t middle_of(const ListChunk& chunk) {
  const std::size_t half = chunk.used() / 2;
  const char* at = next_entry(chunk.first());
  std::size_t index = 1;
  while (index + 1 < chunk.count && static_cast<std::size_t>(at - chunk.first()) < half) {
    at = next_entry(at);
    ++index;
  }
  return index;
}

// Moves the elements of a chunk to the one before if they fit there, and have at most so many
// bytes.
bool join_chunks(ListChunk& left, ListChunk& right, std::size_t most, const ListLimits& limits) {
  if (!left.accepts(right, limits) || left.used() + right.used() > most) return false;
  const std::size_t size = right.used();
  std::memcpy(left.replace(left.used(), 0, size, left.used() + size), right.first(), size);
  left.count += right.count;
  right.free();
  return true;
}

}  // namespace

// The elements from `index` on become a chunk of their own.
void ChunkedList::split(std::size_t i, std::size_t index) {
  ListChunk& chunk = chunks_[i];
  const char* const at = chunk.entries().find(index);
  const auto size = static_cast<std::size_t>(chunk.last_end() - at);
  const ListChunk right = ListChunk::copy_of(ListEntries{{at, size}, chunk.count - index});
  chunk.end -= static_cast<std::uint32_t>(size);
  chunk.count -= right.count;
  chunk.trim();
  chunks_.insert(i + 1, right);
}

// REQUIRES: not a large element, and none in that chunk.
void ChunkedList::insert_into(std::size_t i, std::size_t index, const ListpackText& text,
                              const ListLimits& limits) {
  ListChunk& chunk = chunks_[i];
  const auto offset = static_cast<std::size_t>(chunk.entries().find(index) - chunk.first());
  text.write(chunk.replace(offset, 0, text.bytes(), limits.bytes()));
  ++chunk.count;
  ++count_;
}

void ChunkedList::insert(std::size_t index, std::string_view text, const ListLimits& limits) {
  if (index == 0) return push(ListEnd::head, text, limits);
  if (index == count_) return push(ListEnd::tail, text, limits);
  Place place = locate(index);
  if (chunks_[place.chunk].accepts(text.size(), limits)) {
    return insert_into(place.chunk, place.index, ListpackText(text), limits);
  }
  if (place.index == 0) {
    if (chunks_[place.chunk - 1].accepts(text.size(), limits)) {
      return push_at(place.chunk - 1, ListEnd::tail, ListpackText(text), limits);
    }
    return put_chunk(place.chunk, text, ListEnd::tail, limits);
  }
  // The element is behind the first part of the chunk, so that a run of insertions at one place
  // fills it. What is left over goes to the neighbours if they have room.
  split(place.chunk, place.index);
  std::size_t right = place.chunk + 1;
  if (chunks_[place.chunk].accepts(text.size(), limits)) {
    push_at(place.chunk, ListEnd::tail, ListpackText(text), limits);
  } else {
    put_chunk(right++, text, ListEnd::tail, limits);
  }
  merge(right, limits.bytes(), limits);
  if (place.chunk > 0) merge(place.chunk - 1, limits.bytes(), limits);
}

void ChunkedList::set(std::size_t index, std::string_view text, const ListLimits& limits) {
  const Place place = locate(index);
  const std::size_t i = place.chunk;
  const bool is_large = limits.is_large(text.size());
  if (is_large || chunks_[i].is_large()) {
    // A small element in place of a large one goes to the next chunk, as in Valkey.
    const bool is_in_next = i + 1 < chunks_.size() && chunks_[i].is_large() &&
                            chunks_[i + 1].accepts(text.size(), limits);
    if (is_in_next) {
      push_at(i + 1, ListEnd::head, ListpackText(text), limits);
      return drop_chunks(i, 1);
    }
    if (place.index + 1 < chunks_[i].count) split(i, place.index + 1);
    put_chunk(i + 1, text, ListEnd::tail, limits);
    erase(index, 1, limits);
    merge(i + 2, limits.bytes(), limits);
    if (i > 0) merge(i - 1, limits.bytes(), limits);
    return;
  }
  ListChunk& chunk = chunks_[i];
  const char* const at = chunk.entries().find(place.index);
  const ListpackText encoded(text);
  encoded.write(chunk.replace(static_cast<std::size_t>(at - chunk.first()),
                              static_cast<std::size_t>(next_entry(at) - at), encoded.bytes(),
                              limits.bytes()));
  // A little more does not matter: halves would take more memory.
  const bool is_too_large = chunk.used() > limits.bytes() * 5 / 4;
  if (is_too_large && chunk.count > 1) split(i, middle_of(chunk));
}

// REQUIRES: some elements stay in that chunk.
void ChunkedList::erase_in(std::size_t i, std::size_t index, std::size_t count) {
  ListChunk& chunk = chunks_[i];
  const ListEntries entries = chunk.entries();
  const char* const from = entries.find(index);
  const char* const to = entries.find(index + count);
  chunk.replace(static_cast<std::size_t>(from - chunk.first()), static_cast<std::size_t>(to - from),
                0, 0);
  chunk.count -= static_cast<std::uint32_t>(count);
  count_ -= count;
}

void ChunkedList::erase(std::size_t index, std::size_t count, const ListLimits& limits) {
  if (count == 0) return;
  if (index == 0) return drop(ListEnd::head, count);
  if (index + count == count_) return drop(ListEnd::tail, count);
  auto [i, from] = locate(index);
  if (from > 0) {
    const std::size_t some = std::min<std::size_t>(count, chunks_[i].count - from);
    erase_in(i, from, some);
    count -= some;
    ++i;
  }
  std::size_t whole = 0;
  while (count > 0 && chunks_[i + whole].count <= count) count -= chunks_[i + whole++].count;
  if (whole > 0) drop_chunks(i, whole);
  if (count > 0) erase_in(i, 0, count);
  // Chunks before and behind the gap have become small, maybe.
  const std::size_t seam = i > 0 ? i - 1 : 0;
  for (std::size_t k = seam; k < std::min(seam + 2, chunks_.size()); ++k) {
    if (chunks_[k].used() < chunks_[k].capacity / 2) chunks_[k].trim();
  }
  const std::size_t most = limits.bytes() / 2;  // so that a few insertions do not split them again
  if (!merge(seam, most, limits)) merge(seam + 1, most, limits);
  if (seam > 0) merge(seam - 1, most, limits);
}

std::size_t ChunkedList::remove(std::string_view text, std::size_t most, ListEnd from,
                                const ListLimits& limits) {
  const ListpackText sought(text);
  const std::size_t chunks = chunks_.size();
  std::size_t removed = 0;
  std::size_t first = chunks;  // of the chunks that have changed
  std::size_t last = 0;
  for (std::size_t k = 0; k < chunks && removed < most; ++k) {
    const std::size_t i = from == ListEnd::head ? k : chunks - 1 - k;
    ListChunk& chunk = chunks_[i];
    std::size_t some = 0;
    if (!chunk.is_large()) {
      some = chunk.remove(sought, most - removed, from);
      if (some > 0 && chunk.count > 0 && chunk.used() < chunk.capacity / 2) chunk.trim();
    } else if (chunk.entries().at(0).equals(sought)) {
      chunk.count = 0;
      some = 1;
    }
    if (some == 0) continue;
    removed += some;
    first = std::min(first, i);
    last = std::max(last, i);
  }
  count_ -= removed;
  if (removed > 0) merge_range(first, last, limits);
  return removed;
}

bool ChunkedList::merge(std::size_t i, std::size_t most, const ListLimits& limits) {
  if (chunks_.size() <= 2 || i + 1 >= chunks_.size()) return false;
  if (!join_chunks(chunks_[i], chunks_[i + 1], most, limits)) return false;
  chunks_.erase(i + 1, 1);
  return true;
}

// Drops chunks that are empty and merges small ones, from the one before `first` to the one behind
// `last`.
void ChunkedList::merge_range(std::size_t first, std::size_t last, const ListLimits& limits) {
  const std::size_t begin = first > 0 ? first - 1 : 0;
  const std::size_t end = std::min(last + 2, chunks_.size());
  const std::size_t most = limits.bytes() / 2;
  std::size_t left = chunks_.size();
  for (std::size_t i = begin; i < end; ++i) left -= chunks_[i].count == 0 ? 1 : 0;
  std::size_t kept = begin;
  for (std::size_t i = begin; i < end; ++i) {
    ListChunk& chunk = chunks_[i];
    if (chunk.count == 0) {
      chunk.free();
    } else if (kept > begin && left > 2 && join_chunks(chunks_[kept - 1], chunk, most, limits)) {
      --left;
    } else {
      chunks_[kept++] = chunk;
    }
  }
  chunks_.erase(kept, end - kept);
}

}  // namespace mayfly
