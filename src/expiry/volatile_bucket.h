// SPDX-License-Identifier: Apache-2.0
// VolatileBucket: the array of slots at the end of every branch of a VolatileTree.
//
//   header, in a pool of headers    | slots 8 | earliest 8 | size 2 | capacity 2 | span 1 | - 3 |
//                                       |
//                                       v
//                                   | slot, 4 bytes | slot | ...                  at most 2,048
//
// The header is apart from its slots so that all headers together fit into a processor's cache. To
// add a slot one reads the header and writes one word, which nobody waits for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly::internal {

class VolatileBucket {
 public:
  static constexpr std::size_t kMost =
      2048;  // more would hardly be faster, and costs more to look into

  // An empty one that covers 2^span_log ranges of its node.
  explicit VolatileBucket(unsigned span_log = 0) { set_span_log(span_log); }

  std::size_t size() const { return size_; }
  bool is_full() const { return size_ == kMost; }
  Slot operator[](std::size_t i) const { return slots_[i]; }
  const Slot* begin() const { return slots_.get(); }
  const Slot* end() const { return slots_.get() + size_; }

  // REQUIRES: !is_full().
  void push(Slot slot, Time deadline) {
    if (deadline < earliest_) earliest_ = deadline;
    if (size_ == capacity_) resize(size_ + std::size_t{1});
    slots_[size_++] = slot;
  }

  // Removes the last.
  Slot pop() { return slots_[--size_]; }

  void set(std::size_t i, Slot slot) { slots_[i] = slot; }

  // No deadline in the bucket is before this one. It is the least, unless that was removed since.
  Time earliest() const { return earliest_; }
  void set_earliest(Time earliest) { earliest_ = earliest; }

  // Whether its array is no larger than that of any bucket with a slot.
  bool is_small() const { return capacity_ <= kLeastCapacity; }

  void empty() {
    size_ = 0;
    earliest_ = kNever;
  }

  // Gives back room that is not needed.
  void fit();

  // How many ranges of its node it covers, as a power of two.
  unsigned span_log() const { return span_log_; }
  void set_span_log(unsigned span_log) { span_log_ = static_cast<std::uint8_t>(span_log); }

 private:
  static constexpr std::size_t kLeastCapacity = 6;  // what an allocator hands out at the least

  static std::size_t capacity_for(std::size_t size);
  void resize(std::size_t size);  // makes room for about as many as that

  std::unique_ptr<Slot[]> slots_;
  Time earliest_ = kNever;
  std::uint16_t size_ = 0;
  std::uint16_t capacity_ = 0;
  std::uint8_t span_log_ = 0;
};
static_assert(sizeof(VolatileBucket) == 24);

}  // namespace mayfly::internal
