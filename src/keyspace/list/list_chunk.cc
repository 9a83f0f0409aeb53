// SPDX-License-Identifier: Apache-2.0
#include "keyspace/list/list_chunk.h"

#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace mayfly {
namespace {

// A size of which an allocator wastes nothing: four of them up to each power of two.
std::size_t chunk_size_class(std::size_t bytes) {
  const std::size_t step = bytes <= 128 ? 16 : std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

char* checked_chunk(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

std::uint32_t chunk_offset(std::size_t offset) {
  assert(offset <= UINT32_MAX);
  return static_cast<std::uint32_t>(offset);
}

}  // namespace

ListChunk ListChunk::with_room(std::size_t bytes, ListEnd end) {
  const std::size_t capacity = chunk_size_class(bytes);
  ListChunk chunk;
  chunk.bytes = checked_chunk(std::malloc(capacity));
  chunk.capacity = chunk_offset(capacity);
  chunk.begin = chunk.end = end == ListEnd::tail ? 0 : chunk.capacity;
  return chunk;
}

ListChunk ListChunk::with_large(const ListpackText& text) {
  if (text.text().size() > UINT32_MAX) throw std::length_error("an element of 4 GiB or more");
  ListChunk chunk;
  chunk.bytes = checked_chunk(std::malloc(text.bytes()));
  text.write(chunk.bytes);
  chunk.count = 1;
  return chunk;
}

ListChunk ListChunk::copy_of(ListEntries entries) {
  const std::size_t size = entries.bytes.size();
  ListChunk chunk = with_room(size, ListEnd::tail);
  std::memcpy(chunk.bytes, entries.begin(), size);
  chunk.end = chunk_offset(size);
  chunk.count = chunk_offset(entries.count);
  return chunk;
}

ListChunk ListChunk::copy_of(const ListChunk& chunk) {
  if (!chunk.is_large()) return copy_of(chunk.entries());
  ListChunk copy = chunk;
  copy.bytes = checked_chunk(std::malloc(chunk.used()));
  std::memcpy(copy.bytes, chunk.bytes, chunk.used());
  return copy;
}

void ListChunk::free() { std::free(bytes); }

std::size_t ListChunk::allocated() const { return malloc_usable_size(bytes); }

char* ListChunk::replace(std::size_t offset, std::size_t old_bytes, std::size_t new_bytes,
                         std::size_t limit) {
  const std::size_t left = offset;
  const std::size_t right = used() - offset - old_bytes;
  const bool grows = new_bytes > old_bytes;
  const std::size_t change = grows ? new_bytes - old_bytes : old_bytes - new_bytes;
  const bool is_front = left < right || (left == right && grows && begin >= change);
  if (grows && (is_front ? begin : capacity - end) < change) make_room(is_front, change, limit);
  if (is_front) {
    const std::uint32_t old_begin = begin;
    begin = chunk_offset(grows ? begin - change : begin + change);
    if (left > 0) std::memmove(bytes + begin, bytes + old_begin, left);
  } else {
    char* const at = bytes + begin + offset;
    if (right > 0) std::memmove(at + new_bytes, at + old_bytes, right);
    end = chunk_offset(grows ? end + change : end - change);
  }
  return bytes + begin + offset;
}

// Room for `size` bytes at one end. What is moved is paid for by the pushes that follow, since the
// room will be a part of all bytes.
void ListChunk::make_room(bool is_front, std::size_t size, std::size_t limit) {
  const std::size_t used = end - begin;
  const std::size_t other_room = is_front ? capacity - end : begin;
  const std::size_t needed = used + size;
  std::size_t new_capacity = capacity;
  char* new_bytes = bytes;
  if (capacity < needed + used / 4) {
    // Only a chunk that is full at its limit is worth no room.
    const std::size_t wanted =
        other_room == 0 ? std::max(needed, std::min(2 * needed, limit)) : needed + needed / 2;
    new_capacity = chunk_size_class(wanted);
    new_bytes = checked_chunk(std::malloc(new_capacity));
  }
  // A chunk that has changed at both ends will do so again.
  const std::size_t spare = new_capacity - needed;
  const std::size_t kept_room = other_room == 0 ? 0 : spare / 4;
  const std::size_t new_begin = is_front ? new_capacity - kept_room - used : kept_room;
  std::memmove(new_bytes + new_begin, bytes + begin, used);
  if (new_bytes != bytes) std::free(bytes);
  bytes = new_bytes;
  capacity = chunk_offset(new_capacity);
  begin = chunk_offset(new_begin);
  end = chunk_offset(new_begin + used);
}

std::size_t ListChunk::remove(const ListpackText& text, std::size_t most, ListEnd from) {
  const RemovedEntries result = remove_entries(bytes + begin, bytes + end, text, most, from);
  begin = static_cast<std::uint32_t>(result.begin - bytes);
  end = static_cast<std::uint32_t>(result.end - bytes);
  count -= static_cast<std::uint32_t>(result.removed);
  return result.removed;
}

void ListChunk::trim() {
  if (is_large()) return;
  const std::size_t used = end - begin;
  const std::size_t needed = chunk_size_class(std::max<std::size_t>(used, 1));
  if (needed + capacity / 16 >= capacity) return;
  if (begin > 0) std::memmove(bytes, bytes + begin, used);
  begin = 0;
  end = chunk_offset(used);
  if (void* const smaller = std::realloc(bytes, needed)) {
    bytes = static_cast<char*>(smaller);
    capacity = chunk_offset(needed);
  }
}

}  // namespace mayfly
