// SPDX-License-Identifier: Apache-2.0
// PurgePlan: expired entries that a purge is about to remove, in the order of their keys.
//
// Entries that expire one after the other lie anywhere in the data. Of many taken together,
// neighbours share a page; so a purge first takes down what is due, many transactions' worth of it,
// and sorts that. Others may write between the plan and the removal, so each entry is looked up
// again.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

  // Nothing is added from now on. `complete`: nothing else was due.
  void close(bool complete) {
    complete_ = complete;
    std::ranges::sort(places_, {}, [this](const Place& place) { return key_at(place); });
  }
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
};

}  // namespace mayfly::internal
