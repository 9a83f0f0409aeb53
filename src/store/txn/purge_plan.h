// SPDX-License-Identifier: Apache-2.0
// PurgePlan: expired entries that a purge is about to remove, in the order of their keys.
//
// Entries that expire one after the other lie anywhere in the data. Of many taken together,
// neighbours share a page; so a purge first takes down what is due, many transactions' worth of it,
// and sorts that. Others may write between the plan and the removal, so each entry is looked up
// again.
//
// A purge that may have to stop on the way sorts only within blocks: the entries it leaves have the
// latest deadlines, behind all that it has removed.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/table/expiry_floors.h"

namespace mayfly::internal {

class PurgePlan {
 public:
  // How many bytes of keys it takes down.
  static constexpr std::size_t kBytesMax = 4 << 20;

  bool has_room() const { return bytes_.size() < kBytesMax; }
  std::size_t size() const { return places_.size(); }

  void add(std::string_view key) {
    places_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(key.size())});
    bytes_ += key;
  }

  // Nothing is added from now on. `complete`: nothing else was due. `end`: where the entries behind
  // the plan begin, in a snapshot of `tail`.
  void close(bool complete, ExpiryFloor end, Position tail, std::size_t block = SIZE_MAX) {
    complete_ = complete;
    end_ = std::move(end);
    tail_ = tail;
    for (std::span<Place> rest(places_); !rest.empty();) {
      const auto part = rest.first(std::min(block, rest.size()));
      std::ranges::sort(part, {}, [this](const Place& place) { return key_at(place); });
      rest = rest.subspan(part.size());
    }
  }
  const ExpiryFloor& end() const { return end_; }
  Position tail() const { return tail_; }

  // An entry of the plan is there still, since it is not due any more.
  void leave_entry() { leaves_ = true; }
  bool leaves_any() const { return leaves_; }

  bool complete() const { return complete_; }

  bool done() const { return next_ == places_.size(); }
  std::string_view key() const { return key_at(places_[next_]); }  // REQUIRES: !done()
  void advance() { ++next_; }

 private:
  struct Place {
    std::uint32_t offset;
    std::uint32_t size;
  };

  std::string_view key_at(const Place& place) const {
    return std::string_view(bytes_).substr(place.offset, place.size);
  }

  std::string bytes_;
  std::vector<Place> places_;
  std::size_t next_ = 0;
  bool complete_ = false;
  bool leaves_ = false;
  ExpiryFloor end_{};
  Position tail_ = 0;
};

}  // namespace mayfly::internal
