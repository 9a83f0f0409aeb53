// SPDX-License-Identifier: Apache-2.0
#include "commands/pop_arguments.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace mayfly {
namespace {

constexpr std::int64_t kPopMost = std::numeric_limits<std::int64_t>::max();

std::nullopt_t refuse_syntax(Call& call) {
  call.fail_syntax();
  return std::nullopt;
}

}  // namespace

std::optional<PopArguments> read_pop_arguments(Call& call, std::size_t at, std::string_view front,
                                               std::string_view back) {
  const std::optional<std::int64_t> keys =
      call.integer(at, 1, kPopMost, "ERR numkeys should be greater than 0");
  if (!keys) return std::nullopt;
  const std::size_t left = call.count() - at - 1;
  const auto key_count = static_cast<std::size_t>(*keys);
  if (key_count >= left) return refuse_syntax(call);
  const std::size_t where = at + 1 + key_count;
  PopArguments arguments{.keys = call.words().subspan(at + 1, key_count),
                         .is_from_back = call.is(where, back)};
  if (!arguments.is_from_back && !call.is(where, front)) return refuse_syntax(call);

  if (where + 1 == call.count()) return arguments;
  if (where + 3 > call.count() || !call.is(where + 1, "count")) return refuse_syntax(call);
  const auto count = call.integer(where + 2, 1, kPopMost, "ERR count should be greater than 0");
  if (!count) return std::nullopt;
  if (where + 3 < call.count()) return refuse_syntax(call);
  arguments.count = static_cast<std::size_t>(*count);
  return arguments;
}

}  // namespace mayfly
