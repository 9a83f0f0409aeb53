// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace mayfly {

// Row by row of the usual table: rows[i][j] is the distance of the first i letters of a from the
// first j of b. Words are short, so the whole table is kept.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> words) {
  if (wrong.empty()) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, wrong.size() / 3) + 1;  // one letter in three is off
  for (const std::string_view word : words) {
    const std::size_t distance = edit_distance(wrong, word);
    if (distance < least) {
      least = distance;
      best = word;
    }
  }
  if (least <= 1) return best;
  const auto longer = std::ranges::find_if(
      words, [wrong](std::string_view word) { return word.starts_with(wrong); });
  return longer == words.end() ? best : *longer;
}

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace mayfly
