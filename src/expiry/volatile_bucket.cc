// SPDX-License-Identifier: Apache-2.0
#include "expiry/volatile_bucket.h"

#include <algorithm>
#include <bit>

namespace mayfly::internal {

// In steps of about an eighth: a sixteenth of the room is empty on average, and a slot is copied a
// dozen times before the bucket is full, at a few tenths of a nanosecond each. With the allocator's
// header of 8 bytes, the sizes are multiples of 16.
std::size_t VolatileBucket::capacity_for(std::size_t size) {
  if (size <= kLeastCapacity) return kLeastCapacity;
  const std::size_t step = std::max<std::size_t>(4, std::bit_ceil(size) / 8);
  const std::size_t rounded = (size + 2 + step - 1) / step * step - 2;
  return std::min(rounded, kMost);
}

void VolatileBucket::resize(std::size_t size) {
  const std::size_t capacity = capacity_for(size);
  std::unique_ptr<Slot[]> slots(new Slot[capacity]);
  std::copy_n(begin(), size_, slots.get());
  slots_ = std::move(slots);
  capacity_ = static_cast<std::uint16_t>(capacity);
}

// Only when half is empty, so that a bucket at the edge does not go to and fro.
void VolatileBucket::fit() {
  if (2 * capacity_for(size_ + std::size_t{1}) <= capacity_) resize(size_ + std::size_t{1});
}

}  // namespace mayfly::internal
