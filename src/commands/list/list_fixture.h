// SPDX-License-Identifier: Apache-2.0
// ListFixture: what the tests of the list commands have in common. Each runs with lists that are
// packed, and with lists in chunks of one and of two elements:
//
//   class ListTest : public ListFixture {};
//   INSTANTIATE_TEST_SUITE_P(Lists, ListTest, ListFixture::kForms, ListFixture::name);

#pragma once

#include <string>
#include <string_view>

#include "commands/call_fixture.h"

namespace mayfly {

class ListFixture : public CallFixture, public testing::WithParamInterface<int> {
 public:
  inline static const auto kForms = testing::Values(-2, 1, 2);
  static std::string name(const testing::TestParamInfo<int>& info) {
    return info.param < 0 ? "packed" : "chunks_of_" + std::to_string(info.param);
  }

 protected:
  static constexpr std::string_view kWrongType =
      "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
  static constexpr std::string_view kSyntax = "(error) ERR syntax error";
  static constexpr std::string_view kNotPositive =
      "(error) ERR value is out of range, must be positive";
  static constexpr std::string_view kNotSymmetric =
      "(error) ERR value is out of range, value must between -9223372036854775807 and "
      "9223372036854775807";

  ListFixture() : CallFixture(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    options.list_limits.fill = GetParam();
    return options;
  }

  static std::string arity_error(std::string_view name) {
    return "(error) ERR wrong number of arguments for '" + std::string(name) + "' command";
  }

  // A reply without its quotes and commas.
  std::string flat(std::string_view line) {
    std::string text = run(line);
    std::erase_if(text, [](char c) { return c == '"' || c == ','; });
    return text;
  }

  // All elements of a list.
  std::string elements(std::string_view key) {
    return flat("LRANGE " + std::string(key) + " 0 -1");
  }
};

}  // namespace mayfly
