// SPDX-License-Identifier: Apache-2.0
#include "store/table/expiry_floors.h"

#include <algorithm>
#include <new>

namespace mayfly::internal {

ExpiryFloor ExpiryFloors::find(std::uint32_t family, Position tail) const {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(family);
  return found == known_.end() || found->second.since > tail ? ExpiryFloor() : found->second.floor;
}

void ExpiryFloors::raise(std::uint32_t family, const ExpiryFloor& floor, Position since) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    Known& known = known_[family];
    const bool is_later = known.floor.deadline != floor.deadline
                              ? known.floor.deadline < floor.deadline
                              : known.floor.key < floor.key;
    if (!is_later) return;
    known = {floor, since};
    greatest_ = std::max(greatest_.load(), floor.deadline);
  } catch (const std::bad_alloc&) {
    // The next walk passes the rows again.
  }
}

// It allocates nothing: the record is in the log already. So of the deadlines that are the same the
// next walk passes all.
void ExpiryFloors::lower_family(std::uint32_t family, Time deadline) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(family);
  if (found == known_.end() || !found->second.floor.is_beyond(deadline)) return;
  found->second.floor.deadline = deadline;
  found->second.floor.key.clear();
  Time greatest = Time::min();
  for (const auto& [id, known] : known_) greatest = std::max(greatest, known.floor.deadline);
  greatest_ = greatest;
}

void ExpiryFloors::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  known_.clear();
  greatest_ = Time::min();
}

}  // namespace mayfly::internal
