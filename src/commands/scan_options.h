// SPDX-License-Identifier: Apache-2.0
// The arguments that SCAN, HSCAN, SSCAN and ZSCAN share: cursor [MATCH pattern] [COUNT count]
// and so on.
//
//   void hscan(Call& call) {
//     if (!scan_cursor(call, 2)) return;                       // before the key is read
//     ...
//     const auto options = scan_options(call, 3, ScanKind::hash);
//     if (!options) return;                                    // there was an error reply

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "resp/glob.h"

namespace mayfly {

enum class ScanKind {
  keys,         // SCAN: takes TYPE
  expire_keys,  // EXPIRESCAN: takes TYPE and MEMBERS
  hash,         // HSCAN: takes NOVALUES
  set,          // SSCAN: takes none of these
  zset,         // ZSCAN: takes NOSCORES
};

struct ScanOptions {
  std::uint64_t cursor = 0;
  std::size_t count = 10;
  std::optional<GlobPattern> match;
  std::optional<ValueType> type;
  bool names_only = false;    // NOVALUES or NOSCORES
  bool with_members = false;  // MEMBERS

  // Whether the name matches MATCH; without MATCH every name does.
  bool matches(std::string_view name) const;
};

// Whether commands that match many texts refuse the pattern: then there was an error reply.
bool fails_pattern(Call& call, std::string_view pattern);

// Word `i` as a cursor, or an error reply and nothing.
std::optional<std::uint64_t> scan_cursor(Call& call, std::size_t i);

// The options from word `first` to the last, and the cursor, which is the word before them. An
// error reply and nothing if one is wrong.
std::optional<ScanOptions> scan_options(Call& call, std::size_t first, ScanKind kind);

// The same without the cursor.
std::optional<ScanOptions> scan_words(Call& call, std::size_t first, ScanKind kind);

}  // namespace mayfly
