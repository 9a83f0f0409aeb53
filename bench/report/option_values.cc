// SPDX-License-Identifier: Apache-2.0
#include "bench/report/option_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "bench/report/results.h"

namespace mayfly::bench {

std::size_t parse_size(std::string_view option, std::string_view text, std::size_t least,
                       std::size_t most) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double factor = unit.empty()                 ? 1
                        : unit == "k" || unit == "K" ? 1e3
                        : unit == "m" || unit == "M" ? 1e6
                                                     : 0;
  number = std::round(number * factor);
  if (failure != std::errc() || !(number >= static_cast<double>(least)) ||
      !(number <= static_cast<double>(most))) {
    throw Failure(fmt::format(
        "{}: '{}' is not a number from {} to {}; write it as 100k, 1m or 250000", option, text,
        number_text(static_cast<double>(least)), number_text(static_cast<double>(most))));
  }
  return static_cast<std::size_t>(number);
}

std::string size_title(std::size_t size) {
  if (size >= 1'000'000 && size % 1'000'000 == 0) return fmt::format("{} M", size / 1'000'000);
  if (size >= 10'000 && size % 1000 == 0) return fmt::format("{} K", size / 1000);
  return number_text(static_cast<double>(size));
}

}  // namespace mayfly::bench
