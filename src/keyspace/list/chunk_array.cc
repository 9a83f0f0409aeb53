// SPDX-License-Identifier: Apache-2.0
#include "keyspace/list/chunk_array.h"

#include <malloc.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace mayfly {
namespace {

static_assert(std::is_trivially_copyable_v<ListChunk>);
static_assert(sizeof(ListChunk) == 24);

constexpr std::size_t kArrayLeast = 4;

void move_chunks(ListChunk* to, const ListChunk* from, std::size_t count) {
  if (count > 0) std::memmove(static_cast<void*>(to), from, count * sizeof(ListChunk));
}

}  // namespace

ChunkArray::~ChunkArray() { std::free(places_); }

std::size_t ChunkArray::allocated() const {
  return places_ == nullptr ? 0 : malloc_usable_size(places_);
}

// Moves the chunks within the array, or to one of another size, so that there is room for one more
// at that end. The other end keeps a quarter of the free places.
void ChunkArray::resize(std::size_t capacity, bool is_front) {
  assert(capacity > size_ && capacity <= UINT32_MAX);
  ListChunk* places = places_;
  if (capacity != capacity_) {
    places = static_cast<ListChunk*>(std::malloc(capacity * sizeof(ListChunk)));
    if (places == nullptr) throw std::bad_alloc();
  }
  const std::size_t room = capacity - size_;
  const std::size_t first = is_front ? room - room / 4 : room / 4;
  move_chunks(places + first, begin(), size_);
  if (places != places_) std::free(places_);
  places_ = places;
  first_ = static_cast<std::uint32_t>(first);
  capacity_ = static_cast<std::uint32_t>(capacity);
}

void ChunkArray::insert(std::size_t i, const ListChunk& chunk) {
  const bool is_front = i < size_ - i;
  const bool has_room = is_front ? first_ > 0 : first_ + size_ < capacity_;
  if (!has_room) {
    const bool is_sparse = size_ < capacity_ && size_ <= capacity_ / 2;
    // A quarter more: the memory matters, and copies of so few bytes do not.
    resize(is_sparse ? capacity_ : size_ + std::max<std::size_t>(kArrayLeast, size_ / 4), is_front);
  }
  if (is_front) {
    move_chunks(begin() - 1, begin(), i);
    --first_;
  } else {
    move_chunks(begin() + i + 1, begin() + i, size_ - i);
  }
  ++size_;
  (*this)[i] = chunk;
}

void ChunkArray::erase(std::size_t i, std::size_t count) {
  const std::size_t right = size_ - i - count;
  if (i < right) {
    move_chunks(begin() + count, begin(), i);
    first_ += static_cast<std::uint32_t>(count);
  } else {
    move_chunks(begin() + i, begin() + i + count, right);
  }
  size_ -= static_cast<std::uint32_t>(count);
  if (capacity_ > 8 * kArrayLeast && size_ < capacity_ / 8) resize(size_ * 2 + kArrayLeast, false);
}

}  // namespace mayfly
