// SPDX-License-Identifier: Apache-2.0
// How the values of directives are read and shown. Errors are worded as Valkey's CONFIG SET words
// them: "argument must be 'yes' or 'no'".

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "server/config/config.h"

namespace mayfly {

// The words that follow a directive's name. CONFIG SET has all of them in one.
using Values = std::span<const std::string>;

Error bad_value(std::string message);

// The only word, or an error if there are more or none.
Result<std::string> only_word(Values values);

// All words, with those that have spaces in them split up.
std::vector<std::string> split_words(Values values);

Result<std::int64_t> read_number(std::string_view text, std::int64_t least, std::int64_t most);

// Digits 0 to 7, as of permissions.
Result<std::int64_t> read_octal(std::string_view text, std::int64_t most);

inline constexpr std::int64_t kIntMin = INT32_MIN;
inline constexpr std::int64_t kIntMax = INT32_MAX;
inline constexpr std::int64_t kLongMax = INT64_MAX;

// 100, 100b, 1k (1,000), 1kb (1,024), and so with m and g.
inline constexpr std::uint64_t kMemoryMost = INT64_MAX;
Result<std::uint64_t> read_memory(std::string_view text, std::uint64_t least,
                                  std::uint64_t most = kMemoryMost);

Result<bool> read_bool(std::string_view text);

// One of `choices`, in any case; returns it as it is listed.
Result<std::string_view> read_choice(std::string_view text,
                                     std::span<const std::string_view> choices);

// seconds changes [seconds changes ...], or nothing.
Result<std::vector<SaveRule>> read_save(Values values);
std::string show_save(const std::vector<SaveRule>& rules);

// class hard soft seconds [class hard soft seconds ...]; classes that are not named stay.
Status read_output_limits(Config& config, Values values);
std::string show_output_limits(const Config& config);

// Rules of ttl-policy. CONFIG SET has all of them in one word, with `;` between them; lines of a
// file have one each, and add up.
Status read_ttl_policy(Config& config, Values values, bool at_start);
std::string show_ttl_policy(const Config& config);

// A word as it is written into a configuration file: in quotes if it needs them.
std::string quoted_word(std::string_view word);

}  // namespace mayfly
