// SPDX-License-Identifier: Apache-2.0
#include "net/input_buffer.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace mayfly {
namespace {

constexpr std::size_t kCapacityKept = 64 * 1024;  // for what would fit into kShortMax

}  // namespace

void InputBuffer::Free::operator()(char* memory) const { std::free(memory); }

void InputBuffer::consume(std::size_t bytes) {
  assert(bytes <= size_);
  begin_ += bytes;
  size_ -= bytes;
}

std::span<char> InputBuffer::room(std::span<char> scratch) {
  assert(size_ == 0 || in_own_);
  if (size_ <= kShortMax && scratch.size() >= 2 * kShortMax && wanted_ <= scratch.size()) {
    if (size_ > 0) std::memcpy(scratch.data(), begin_, size_);
    begin_ = scratch.data();
    in_own_ = false;
    return scratch.subspan(size_);
  }
  const std::size_t missing = wanted_ > size_ ? wanted_ - size_ : kShortMax;
  if (own_room() < std::min(missing, kShortMax)) {
    // Doubling bounds the cost of growing; more than the wanted size is never needed.
    std::size_t target = size_ + std::max(size_, kShortMax);
    if (wanted_ > size_) target = std::min(target, wanted_);
    grow(target);
  }
  return {begin_ + size_, own_room()};
}

std::size_t InputBuffer::own_room() const {
  if (own_ == nullptr) return 0;
  return capacity_ - static_cast<std::size_t>(begin_ - own_.get()) - size_;
}

void InputBuffer::added(std::size_t bytes) {
  size_ += bytes;
  if (size_ >= wanted_) wanted_ = 0;
}

void InputBuffer::keep_rest() {
  if (size_ == 0) {
    own_.reset();
    capacity_ = 0;
    begin_ = nullptr;
    return;
  }
  const bool too_large = capacity_ > kCapacityKept && size_ <= kShortMax;
  if (in_own_ && !too_large) return;

  const std::string_view left = view();
  const auto old = too_large ? std::move(own_) : nullptr;
  if (too_large) capacity_ = 0;
  size_ = 0;
  grow(left.size());
  std::memcpy(begin_, left.data(), left.size());
  size_ = left.size();
}

// Moves the content to the beginning of own memory, which gets at least `capacity` bytes.
void InputBuffer::grow(std::size_t capacity) {
  if (size_ > 0 && begin_ != own_.get()) std::memmove(own_.get(), begin_, size_);
  if (capacity_ < capacity) {
    auto* const memory = static_cast<char*>(std::realloc(own_.get(), capacity));
    if (memory == nullptr) throw std::bad_alloc();
    (void)own_.release();
    own_.reset(memory);
    capacity_ = capacity;
  }
  begin_ = own_.get();
  in_own_ = true;
}

}  // namespace mayfly
