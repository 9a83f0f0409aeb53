// SPDX-License-Identifier: Apache-2.0
// The options of SORT and SORT_RO:
//
//   [BY pattern] [LIMIT first count] [GET pattern ...] [ASC | DESC] [ALPHA] [STORE key]

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "commands/call.h"

namespace mayfly {

struct SortOptions {
  std::optional<std::string_view> by;
  std::optional<std::string_view> store;
  std::vector<std::string_view> get;
  std::int64_t limit_first = 0;
  std::int64_t limit_count = -1;  // negative: all
  bool is_descending = false;
  bool is_alpha = false;
  bool sorts = true;
};

// Reads them from word 2 on. Nothing after an error reply.
std::optional<SortOptions> read_sort_options(Call& call);

}  // namespace mayfly
