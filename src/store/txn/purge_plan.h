// SPDX-License-Identifier: Apache-2.0
// PurgePlan: expired entries that a purge is about to remove, in the order of their keys.
//
// Entries that expire one after the other lie anywhere in the data and in the key index, and LMDB
// writes a new page for each of them. Of many taken together, neighbours share a page; so a purge
// first takes down what is due, many transactions' worth of it, and sorts that. The rows of the
// expiry index are then removed out of order, but they lie close together.
//
// Others may write between the plan and the removal, so each entry is checked again.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/rows/stored_key.h"

namespace mayfly::internal {

class PurgePlan {
 public:
  // How much of the expiry index it takes down: with short keys, 100,000 rows and more.
  static constexpr std::size_t kBytesMax = 4 << 20;

  bool has_room() const { return bytes_.size() < kBytesMax; }
  std::size_t size() const { return places_.size(); }

  // A row of the expiry index.
  void add(std::string_view row) {
    places_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(row.size())});
    bytes_ += row;
  }

  // Nothing is added from now on. `complete`: nothing else was due.
  void close(bool complete) {
    complete_ = complete;
    std::ranges::sort(places_, {},
                      [this](const Place& place) { return row_at(place).substr(kDeadlineBytes); });
  }
  bool complete() const { return complete_; }

  bool done() const { return next_ == places_.size(); }
  std::string_view row() const { return row_at(places_[next_]); }  // REQUIRES: !done()
  void advance() { ++next_; }
  void finish() { next_ = places_.size(); }

  // To go back to where a transaction began that could not be committed.
  std::size_t position() const { return next_; }
  void go_back(std::size_t position) { next_ = position; }

 private:
  struct Place {
    std::uint32_t offset;
    std::uint32_t size;
  };

  std::string_view row_at(const Place& place) const {
    return std::string_view(bytes_).substr(place.offset, place.size);
  }

  std::string bytes_;
  std::vector<Place> places_;
  std::size_t next_ = 0;
  bool complete_ = false;
};

}  // namespace mayfly::internal
