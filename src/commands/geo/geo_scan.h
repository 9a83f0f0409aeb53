// SPDX-License-Identifier: Apache-2.0
// The search for the members of a sorted set whose positions are in a shape.
//
// Only ranges of scores are visited: those of the cells around the shape (see geo_cover.h), and of
// a cell with many members only the parts that meet the shape's bounds. So the cost is that of the
// members close to the shape, O(log n) for each part, and sorting.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "commands/geo/geo_shape.h"
#include "keyspace/members/members_order.h"

namespace mayfly {

// A member in the shape. The name is a view into the key.
struct GeoHit {
  std::string_view name;
  double score = 0;
  double distance = 0;  // from the center, in meters; 0 if nobody wants it
};

enum class GeoOrder { none, nearest, farthest };

// Which members are wanted, and in which order.
struct GeoWish {
  GeoOrder order = GeoOrder::none;
  std::size_t count = 0;  // 0: all
  bool any = false;       // stop at `count`
  bool with_distance = false;
};

class GeoHits {
 public:
  std::size_t size() const { return size_; }
  const GeoHit& operator[](std::size_t i) const {
    return hits_[sorted_.empty() ? i : sorted_[i].number];
  }

  // Whether members at the same distance as the last one were left out.
  bool is_cut_between_equals() const { return is_cut_between_equals_; }

 private:
  friend GeoHits find_in_shape(const MembersOrder&, const GeoShape&, const GeoWish&);

  struct Sorted {
    double distance;
    std::uint32_t number;
  };
  void sort(const GeoWish& wish);

  std::vector<GeoHit> hits_;
  std::vector<Sorted> sorted_;  // empty if there is no order
  std::size_t size_ = 0;
  bool is_cut_between_equals_ = false;
};

GeoHits find_in_shape(const MembersOrder& order, const GeoShape& shape, const GeoWish& wish);

}  // namespace mayfly
