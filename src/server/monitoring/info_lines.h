// SPDX-License-Identifier: Apache-2.0
// Lines of INFO.

#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace mayfly {

template <class Value>
void info_line(std::string& text, std::string_view name, const Value& value) {
  fmt::format_to(std::back_inserter(text), "{}:{}\r\n", name, value);
}

inline void info_line(std::string& text, std::string_view name, double value) {
  fmt::format_to(std::back_inserter(text), "{}:{:.2f}\r\n", name, value);
}

inline void info_line(std::string& text, std::string_view name, bool value) {
  fmt::format_to(std::back_inserter(text), "{}:{}\r\n", name, value ? 1 : 0);
}

}  // namespace mayfly
