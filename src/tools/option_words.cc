// SPDX-License-Identifier: Apache-2.0
#include "tools/option_words.h"

#include <algorithm>

#include "base/nearest.h"

namespace mayfly {
namespace {

Error unknown_word(std::string_view option, std::string_view wrong,
                   std::span<const std::string_view> words) {
  const std::string_view guess = nearest(wrong, words);
  std::string message = fmt::format("{}: unknown value '{}'", option, wrong);
  if (!guess.empty()) message += fmt::format("; did you mean '{}'?", guess);
  message += fmt::format(" (choose from {})", listed(words));
  return {Code::invalid, message};
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::size_t>> choose_words(std::string_view option, std::string_view list,
                                              std::span<const std::string_view> words) {
  std::vector<std::size_t> chosen;
  for (const std::string_view word : split_list(list)) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) return unknown_word(option, word, words);
    const auto place = static_cast<std::size_t>(found - words.begin());
    if (std::ranges::find(chosen, place) == chosen.end()) chosen.push_back(place);
  }
  return chosen;
}

}  // namespace mayfly
