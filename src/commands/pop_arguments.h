// SPDX-License-Identifier: Apache-2.0
// The arguments that ZMPOP, LMPOP and their blocking forms have in common:
//
//   numkeys key [key ...] <MIN | MAX> [COUNT count]

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "commands/call.h"

namespace mayfly {

// Pops at most `count` from the first key that exists.
struct PopArguments {
  Words keys = {};
  bool is_from_back = false;
  std::size_t count = 1;
};

// Reads them from word `at` on. `front` and `back` are the words for the two ends, in lower case.
// Nothing after an error reply.
std::optional<PopArguments> read_pop_arguments(Call& call, std::size_t at, std::string_view front,
                                               std::string_view back);

}  // namespace mayfly
