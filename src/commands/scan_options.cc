// SPDX-License-Identifier: Apache-2.0
// Reading the cursor and the options of the SCAN commands.

#include "commands/scan_options.h"

#include <fmt/format.h>

#include <charconv>

#include "commands/words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

bool takes_type(ScanKind kind) { return kind == ScanKind::keys || kind == ScanKind::expire_keys; }

// Reads the option at word `i` and returns the word after it; nothing after an error reply.
std::optional<std::size_t> read_scan_option(Call& call, std::size_t i, ScanKind kind,
                                            ScanOptions& options) {
  const bool has_value = i + 1 < call.count();
  if (call.is(i, "count") && has_value) {
    const std::optional<std::int64_t> count = call.integer(i + 1);
    if (!count) return std::nullopt;
    if (*count >= 1) {
      options.count = static_cast<std::size_t>(*count);
      return i + 2;
    }
  } else if (call.is(i, "match") && has_value) {
    if (fails_pattern(call, call.word(i + 1))) return std::nullopt;
    options.match.emplace(call.word(i + 1));
    return i + 2;
  } else if (call.is(i, "type") && has_value && takes_type(kind)) {
    options.type = parse_type(lowered(call.word(i + 1)));
    if (options.type) return i + 2;
    call.fail(fmt::format("ERR unknown type name '{}'", call.word(i + 1)));
    return std::nullopt;
  } else if (call.is(i, "members") && kind == ScanKind::expire_keys) {
    options.with_members = true;
    return i + 1;
  } else if (call.is(i, "novalues") || call.is(i, "noscores")) {
    const bool is_values = call.is(i, "novalues");
    options.names_only = true;
    if (kind == (is_values ? ScanKind::hash : ScanKind::zset)) return i + 1;
    call.fail(is_values ? "ERR NOVALUES option can only be used in HSCAN"
                        : "ERR NOSCORES option can only be used in ZSCAN");
    return std::nullopt;
  }
  call.fail_syntax();
  return std::nullopt;
}

}  // namespace

bool ScanOptions::matches(std::string_view name) const { return !match || match->matches(name); }

bool fails_pattern(Call& call, std::string_view pattern) {
  const std::string_view error = pattern_error(pattern);
  if (!error.empty()) call.fail(error);
  return !error.empty();
}

std::optional<std::uint64_t> scan_cursor(Call& call, std::size_t i) {
  const std::string_view word = call.word(i);
  std::uint64_t cursor = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), cursor);
  if (error == std::errc() && end == word.data() + word.size()) return cursor;
  call.fail("ERR invalid cursor");
  return std::nullopt;
}

std::optional<ScanOptions> scan_options(Call& call, std::size_t first, ScanKind kind) {
  const std::optional<std::uint64_t> cursor = scan_cursor(call, first - 1);
  if (!cursor) return std::nullopt;
  std::optional<ScanOptions> options = scan_words(call, first, kind);
  if (options) options->cursor = *cursor;
  return options;
}

std::optional<ScanOptions> scan_words(Call& call, std::size_t first, ScanKind kind) {
  ScanOptions options;
  std::optional<std::size_t> i = first;
  while (*i < call.count()) {
    i = read_scan_option(call, *i, kind, options);
    if (!i) return std::nullopt;
  }
  return options;
}

}  // namespace mayfly
