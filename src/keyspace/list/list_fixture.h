// SPDX-License-Identifier: Apache-2.0
// Texts for tests of lists, and what LREM does to a plain deque of them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "keyspace/list/packed_list.h"
#include "mayfly/random.h"

namespace mayfly {

// Numbers of all sizes, short and long texts, texts like numbers, any bytes. Some are frequent.
inline std::string random_list_text(Random& random) {
  switch (random.below(9)) {
    case 0:
      return std::to_string(random.below(4));
    case 1:
      return std::to_string(static_cast<std::int64_t>(random.next()) >> random.below(64));
    case 2:
      return "";
    case 3:
      return "0" + std::to_string(random.below(100));
    case 4:
      return std::string(random.below(6'000), 'm');
    case 5:
      return std::string(random.below(300), static_cast<char>(random.below(256)));
    case 6:
      return random.below(10) == 0 ? std::string(4'000 + random.below(80'000), 'x') : "-0";
    default:
      break;
  }
  std::string text(random.below(20), ' ');
  for (char& byte : text) byte = static_cast<char>(random.below(256));
  return text;
}

inline std::size_t remove_texts(std::deque<std::string>& texts, const std::string& text,
                                std::size_t most, ListEnd from) {
  std::size_t removed = 0;
  const auto remove_once = [&](const std::string& other) {
    return other == text && removed < most && ++removed > 0;
  };
  if (from == ListEnd::tail) std::ranges::reverse(texts);
  std::erase_if(texts, remove_once);
  if (from == ListEnd::tail) std::ranges::reverse(texts);
  return removed;
}

}  // namespace mayfly
