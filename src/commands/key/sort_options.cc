// SPDX-License-Identifier: Apache-2.0
#include "commands/key/sort_options.h"

namespace mayfly {
namespace {

bool has_star(std::string_view pattern) { return pattern.find('*') != pattern.npos; }

bool read_limit(Call& call, std::size_t i, SortOptions& options) {
  const std::optional<std::int64_t> first = call.integer(i + 1);
  if (!first) return false;
  const std::optional<std::int64_t> count = call.integer(i + 2);
  if (!count) return false;
  options.limit_first = *first;
  options.limit_count = *count;
  return true;
}

// Reads the option at word `i` and returns how many words it takes; 0 if there has been an error.
std::size_t read_sort_option(Call& call, std::size_t i, SortOptions& options) {
  const std::size_t left = call.count() - i - 1;
  const bool may_store = (call.command().flags & flag::write) != 0;
  if (call.is(i, "asc") || call.is(i, "desc")) {
    options.is_descending = call.is(i, "desc");
    return 1;
  }
  if (call.is(i, "alpha")) {
    options.is_alpha = true;
    return 1;
  }
  if (call.is(i, "by") && left >= 1) {
    options.by = call.word(i + 1);
    options.sorts = options.sorts && has_star(*options.by);
    return 2;
  }
  if (call.is(i, "get") && left >= 1) {
    options.get.push_back(call.word(i + 1));
    return 2;
  }
  if (call.is(i, "limit") && left >= 2) return read_limit(call, i, options) ? 3 : 0;
  if (call.is(i, "store") && left >= 1 && may_store) {
    options.store = call.word(i + 1);
    return 2;
  }
  call.fail_syntax();
  return 0;
}

}  // namespace

std::optional<SortOptions> read_sort_options(Call& call) {
  SortOptions options;
  for (std::size_t i = 2; i < call.count();) {
    const std::size_t taken = read_sort_option(call, i, options);
    if (taken == 0) return std::nullopt;
    i += taken;
  }
  return options;
}

}  // namespace mayfly
