// SPDX-License-Identifier: Apache-2.0
// Numbers as Valkey reads and writes them: what is accepted decides which requests fail, and what
// is written is what clients compare with.
//
//   parse_integer("042")   nothing: there is one spelling for each integer
//   format_float(3.5L)     "3.5"

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mayfly {

// An integer in its one canonical spelling: no plus, no leading zeros, no spaces, no "-0".
std::optional<std::int64_t> parse_integer(std::string_view text);

// A number, with or without fraction or exponent, or inf or infinity with either sign; the whole
// text, no space before or after it, and not nan. What overflows or underflows is refused.
std::optional<double> parse_double(std::string_view text);
std::optional<long double> parse_float(std::string_view text);

// As INCRBYFLOAT writes it: at most 17 decimals, no zeros at the end, never an exponent.
std::string format_float(long double value);

// The shortest text that reads back as `value`: integers without an exponent where they are exact,
// the rest as Valkey's fpconv lays it out (0.1, 1.5e+30, 1e-9).
std::string format_double(double value);

}  // namespace mayfly
