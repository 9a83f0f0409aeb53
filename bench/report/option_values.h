// SPDX-License-Identifier: Apache-2.0
// The values of options that several suites have. What is wrong throws Failure.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report/must.h"
#include "tools/option_words.h"

namespace mayfly::bench {

// "100k", "1.5m" or "250000" as a number of entries.
std::size_t parse_size(std::string_view option, std::string_view text, std::size_t least = 100,
                       std::size_t most = 100'000'000);

// "100 K", "1 M" or "1,500": a number of entries as people say it.
std::string size_title(std::size_t size);

// Replaces `number` if the option was given.
template <class Number>
void read_number(std::string_view option, std::string_view text, Number least, Number most,
                 Number& number) {
  if (!text.empty()) number = must(parse_number(option, text, least, most));
}

// The names that a list chooses, in the order of `names`; all if the list is empty.
inline std::vector<std::size_t> chosen(std::string_view option, std::string_view list,
                                       const std::vector<std::string_view>& names) {
  std::vector<std::size_t> places(names.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  if (list.empty()) return places;
  places = must(choose_words(option, list, names));
  std::ranges::sort(places);
  return places;
}

}  // namespace mayfly::bench
