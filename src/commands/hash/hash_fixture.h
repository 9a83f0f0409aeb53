// SPDX-License-Identifier: Apache-2.0
// HashFixture: what the tests of the hash commands have in common. Each runs with hashes in both
// encodings, which look the same from outside but for the order of their fields:
//
//   class HashTest : public HashFixture {};
//   INSTANTIATE_TEST_SUITE_P(Hashes, HashTest, kBothForms, form_name);

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call_fixture.h"

namespace mayfly {

inline constexpr std::string_view kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kSyntax = "(error) ERR syntax error";
inline constexpr std::string_view kNoInteger =
    "(error) ERR value is not an integer or out of range";
inline constexpr std::string_view kBadCount =
    "(error) ERR numfields should be greater than 0 and match the provided number of fields";

inline std::string arity_error(std::string_view command) {
  std::string text = "(error) ERR wrong number of arguments for '";
  return text.append(command).append("' command");
}
inline std::string time_error(std::string_view command) {
  std::string text = "(error) ERR invalid expire time in '";
  return text.append(command).append("' command");
}

class HashFixture : public CallFixture, public testing::WithParamInterface<ValueForm> {
 protected:
  HashFixture() : CallFixture(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    if (GetParam() == ValueForm::table) options.packed_hash.members = 0;
    return options;
  }

  void put_string(std::string_view key) { database().put_string(context(), key, "text"); }

  // The integers of an array, separated by spaces; anything else as it is.
  std::string codes(std::string_view line) {
    std::string text = run(line);
    if (text.front() != '[') return text;
    text = text.substr(1, text.size() - 2);
    for (const std::string_view extra : {"(integer) ", ","}) {
      for (std::size_t at = 0; (at = text.find(extra)) != std::string::npos;) {
        text.erase(at, extra.size());
      }
    }
    return text;
  }

  // The bulks of an array in alphabetical order, separated by spaces.
  std::string sorted(std::string_view line) {
    std::vector<std::string> items = bulks(line);
    std::ranges::sort(items);
    std::string text;
    for (const std::string& item : items) text.append(text.empty() ? "" : " ").append(item);
    return text;
  }

  std::vector<std::string> bulks(std::string_view line) {
    const std::string text = run(line);
    std::vector<std::string> items;
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos;) {
      const std::size_t end = text.find('"', at + 1);
      items.push_back(text.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    return items;
  }

  std::uint64_t expired_fields() { return keyspace().stats().expired_members; }
  bool is_packed(std::string_view key) {
    return database().members(context(), database().peek(context(), key)).is_packed();
  }

  std::string_view encoding(std::string_view key) {
    return encoding_name(database().node(database().peek(context(), key)));
  }

  // Fields of `h`: a and b stay, x and y are due now, z will be due in a minute. x and y are still
  // stored.
  void make_partly_due() {
    run("HSET h a 1 b 2");
    run("HSETEX h PX 100 FIELDS 2 x 8 y 9");
    run("HSETEX h EX 60 FIELDS 1 z 7");
    advance(Millis(100));
  }
};

inline const auto kBothForms = testing::Values(ValueForm::packed, ValueForm::table);

inline std::string form_name(const testing::TestParamInfo<ValueForm>& info) {
  return info.param == ValueForm::packed ? "packed" : "table";
}

}  // namespace mayfly
