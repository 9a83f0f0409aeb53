// SPDX-License-Identifier: Apache-2.0
#include "commands/geo/geo_reply.h"

#include <charconv>
#include <cmath>

namespace mayfly {
namespace {

constexpr std::size_t kCoordinateDigits = 17;
constexpr std::uint64_t kCoordinateUnits = 100'000'000'000'000'000;  // 10^17

// A fraction as a number of units, exactly rounded; half a unit to the even number. The product of
// its 53 bits and the 57 of the units has room in 128.
std::uint64_t units_of(double fraction) {
  __extension__ using Units = unsigned __int128;
  if (fraction == 0) return 0;
  int exponent = 0;
  const double significand = std::frexp(fraction, &exponent);  // at least 0.5
  const auto bits = static_cast<std::uint64_t>(std::ldexp(significand, 53));
  const int shift = 53 - exponent;
  if (shift >= 128) return 0;
  const Units product = Units{bits} * kCoordinateUnits;
  const Units rest = product & ((Units{1} << shift) - 1);
  const Units half = Units{1} << (shift - 1);
  const auto units = static_cast<std::uint64_t>(product >> shift);
  const bool is_up = rest > half || (rest == half && units % 2 == 1);
  return units + (is_up ? 1 : 0);
}

}  // namespace

void GeoText::add_number(std::uint64_t number) {
  char* const begin = bytes_.data() + size_;
  char* const end = std::to_chars(begin, bytes_.data() + bytes_.size(), number).ptr;
  size_ += static_cast<std::size_t>(end - begin);
}

void GeoText::add_digits(std::uint64_t number, std::size_t digits) {
  size_ += digits;
  for (std::size_t i = size_; digits > 0; --digits, number /= 10) {
    bytes_[--i] = static_cast<char>('0' + number % 10);
  }
}

void GeoText::remove_zeros() {
  while (bytes_[size_ - 1] == '0') --size_;
}

GeoText distance_text(double distance) {
  constexpr std::uint64_t kUnits = 10'000;
  const auto units = static_cast<std::uint64_t>(std::llrint(distance * kUnits));
  GeoText text;
  text.add_number(units / kUnits);
  text.add('.');
  text.add_digits(units % kUnits, 4);
  return text;
}

GeoText coordinate_text(double degrees) {
  const double magnitude = std::abs(degrees);
  auto whole = static_cast<std::uint64_t>(magnitude);
  std::uint64_t units = units_of(magnitude - static_cast<double>(whole));
  whole += units / kCoordinateUnits;
  units %= kCoordinateUnits;
  GeoText text;
  if (degrees < 0 && whole + units > 0) text.add('-');
  text.add_number(whole);
  if (units == 0) return text;
  text.add('.');
  text.add_digits(units, kCoordinateDigits);
  text.remove_zeros();
  return text;
}

void reply_distance(Reply& reply, double distance) { reply.bulk(distance_text(distance).view()); }

void reply_point(Reply& reply, GeoPoint point) {
  reply.array(2);
  for (const double degrees : {point.longitude, point.latitude}) {
    const GeoText text = coordinate_text(degrees);
    if (reply.protocol() == 2) {
      reply.bulk(text.view());
    } else {
      reply.raw(",");
      reply.raw(text.view());
      reply.raw("\r\n");
    }
  }
}

}  // namespace mayfly
