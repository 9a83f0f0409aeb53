// SPDX-License-Identifier: Apache-2.0
// Distances and positions as clients see them: distances with four decimals, coordinates exactly
// (17 decimals are enough to tell all places apart), without zeros at the end.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "commands/geo/geohash.h"
#include "resp/reply.h"

namespace mayfly {

// A short text on the stack.
class GeoText {
 public:
  std::string_view view() const { return {bytes_.data(), size_}; }
  void add(char c) { bytes_[size_++] = c; }
  void add_number(std::uint64_t number);
  void add_digits(std::uint64_t number, std::size_t digits);  // with zeros before it
  void remove_zeros();                                        // at the end

 private:
  std::array<char, 48> bytes_;
  std::size_t size_ = 0;
};

// REQUIRES: 0 <= distance < 10^14.
GeoText distance_text(double distance);

// REQUIRES: the magnitude is below 10^9.
GeoText coordinate_text(double degrees);

// A bulk, in RESP3 too.
void reply_distance(Reply& reply, double distance);

// An array of longitude and latitude.
void reply_point(Reply& reply, GeoPoint point);

}  // namespace mayfly
