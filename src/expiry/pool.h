// SPDX-License-Identifier: Apache-2.0
// Pool: items of one kind side by side, known by small numbers that are used again.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace mayfly::internal {

template <class T>
class Pool {
 public:
  using Id = std::uint32_t;

  // May move all items: references to them end here.
  Id add(T item) {
    if (free_.empty()) {
      items_.push_back(std::move(item));
      return static_cast<Id>(items_.size() - 1);
    }
    const Id id = free_.back();
    free_.pop_back();
    items_[id] = std::move(item);
    return id;
  }

  void remove(Id id) {
    items_[id] = T();
    free_.push_back(id);
    if (free_.size() == items_.size()) *this = Pool();
  }

  T& operator[](Id id) { return items_[id]; }
  const T& operator[](Id id) const { return items_[id]; }

  std::size_t size() const { return items_.size() - free_.size(); }

 private:
  std::vector<T> items_;
  std::vector<Id> free_;
};

}  // namespace mayfly::internal
