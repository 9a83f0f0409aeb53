// SPDX-License-Identifier: Apache-2.0
// What users write behind an option: lists, words out of a set, numbers. What is wrong with it is
// said together with what would be right.

#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "mayfly/result.h"

namespace mayfly {

// The parts between commas.
std::vector<std::string_view> split_list(std::string_view text);

// The places in `words` of what the user listed, each once, in the user's order.
Result<std::vector<std::size_t>> choose_words(std::string_view option, std::string_view list,
                                              std::span<const std::string_view> words);

// A whole number from `least` to `most`.
template <class Number>
Result<Number> parse_number(std::string_view option, std::string_view text, Number least,
                            Number most) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < least ||
      number > most) {
    return Error{Code::invalid, fmt::format("{}: '{}' is not an integer from {} to {}", option,
                                            text, least, most)};
  }
  return number;
}

}  // namespace mayfly
