// SPDX-License-Identifier: Apache-2.0
#include "resp/numbers.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace mayfly {
namespace {

constexpr std::size_t kNumberTextMax = 5 * 1024;             // a longer text is no number
constexpr std::size_t kExactDigits = 15;                     // so many are exact in a double
constexpr double kIntegerDoubleMax = 4611686018427387903.0;  // INT64_MAX / 2, as Valkey has it

// strtod and strtold accept what Valkey accepts (hexadecimal too); they want a zero at the end.
template <class Float, Float (*read)(const char*, char**)>
std::optional<Float> parse_whole(std::string_view text) {
  if (text.empty() || text.size() >= kNumberTextMax) return std::nullopt;
  if (text[0] == ' ' || (text[0] >= '\t' && text[0] <= '\r')) return std::nullopt;

  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const Float value = read(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(value)) return std::nullopt;
  if (errno == ERANGE && (std::isinf(value) || value == 0)) return std::nullopt;
  return value;
}

// Lays out digits * 10^power as Valkey's fpconv does.
std::string lay_out(std::string_view digits, int power) {
  const int count = static_cast<int>(digits.size());
  const int exponent = power + count - 1;  // of the first digit
  std::string text;
  if (power >= 0 && std::abs(exponent) < count + 7) {
    text.append(digits).append(static_cast<std::size_t>(power), '0');
  } else if (power < 0 && (power > -7 || std::abs(exponent) < 4)) {
    const int whole = count + power;
    if (whole <= 0) {
      text.append("0.").append(static_cast<std::size_t>(-whole), '0').append(digits);
    } else {
      const auto point = static_cast<std::size_t>(whole);
      text.append(digits.substr(0, point)).append(1, '.').append(digits.substr(point));
    }
  } else {
    text += digits[0];
    if (count > 1) text.append(1, '.').append(digits.substr(1));
    text.append(exponent < 0 ? "e-" : "e+").append(std::to_string(std::abs(exponent)));
  }
  return text;
}

// The shortest digits of a positive number and their power of ten, from the form 1.234e+56.
std::string shortest(double value) {
  std::array<char, 32> buffer;
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                  std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(done.ptr - buffer.data()));
  const std::size_t mark = text.find('e');
  std::string digits(text.substr(0, mark));
  std::erase(digits, '.');
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  return lay_out(digits, exponent - static_cast<int>(digits.size()) + 1);
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() == first) return std::nullopt;
  if (text[first] == '0' && text.size() > 1) return std::nullopt;  // 01, -0
  if (text[first] < '0' || text[first] > '9') return std::nullopt;

  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, value);
  if (done.ec != std::errc() || done.ptr != end) return std::nullopt;
  return value;
}

// Integers and plain decimals, which are nearly all, are read without strtod. It reads the rest:
// hexadecimal, a plus sign, and what is too large or too small.
std::optional<double> parse_double(std::string_view text) {
  const char* const end = text.data() + text.size();
  if (text.size() <= kExactDigits) {
    std::int64_t integer = 0;
    const auto done = std::from_chars(text.data(), end, integer);
    const bool is_whole = done.ec == std::errc() && done.ptr == end;
    if (is_whole && integer != 0) return static_cast<double>(integer);  // -0 has a sign
  }
  double value = 0;
  const auto done = std::from_chars(text.data(), end, value);
  if (done.ec == std::errc() && done.ptr == end && !std::isnan(value) &&
      text.size() < kNumberTextMax) {
    return value;
  }
  return parse_whole<double, std::strtod>(text);
}

std::optional<long double> parse_float(std::string_view text) {
  return parse_whole<long double, std::strtold>(text);
}

std::string format_float(long double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";

  std::array<char, 5 * 1024> buffer;  // the largest long double has 4,933 digits
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                  std::chars_format::fixed, 17);
  std::string_view text(buffer.data(), static_cast<std::size_t>(done.ptr - buffer.data()));
  while (text.ends_with('0')) text.remove_suffix(1);
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text == "-0" ? "0" : text);
}

std::string format_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  if (std::abs(value) <= kIntegerDoubleMax && std::trunc(value) == value) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::string text = value < 0 ? "-" : "";
  return text.append(shortest(std::abs(value)));
}

}  // namespace mayfly
