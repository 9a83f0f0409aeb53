// SPDX-License-Identifier: Apache-2.0
// SetFixture: what the tests of the set commands have in common. Each runs with sets in both forms:
//
//   class SetTest : public SetFixture {};
//   INSTANTIATE_TEST_SUITE_P(Sets, SetTest, SetFixture::kForms, SetFixture::name);

#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call_fixture.h"

namespace mayfly {

class SetFixture : public CallFixture, public testing::WithParamInterface<ValueForm> {
 public:
  inline static const auto kForms = testing::Values(ValueForm::packed, ValueForm::table);
  static std::string name(const testing::TestParamInfo<ValueForm>& info) {
    return info.param == ValueForm::packed ? "packed" : "table";
  }

 protected:
  static constexpr std::string_view kWrongType =
      "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
  static constexpr std::string_view kSyntax = "(error) ERR syntax error";

  SetFixture() : CallFixture(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    if (GetParam() == ValueForm::table) {
      options.packed_set.members = 0;
      options.packed_zset.members = 0;
      options.intset_members = 0;
    }
    return options;
  }

  // The bulks of an aggregate in alphabetical order, separated by spaces; an error as it is.
  std::string sorted(std::string_view line) {
    const std::string text = run(line);
    if (text.starts_with("(error)")) return text;
    std::vector<std::string> items = bulks_of(text);
    std::ranges::sort(items);
    std::string joined;
    for (const std::string& item : items) joined.append(joined.empty() ? "" : " ").append(item);
    return joined;
  }

  static std::vector<std::string> bulks_of(std::string_view text) {
    std::vector<std::string> items;
    for (std::size_t at = 0; (at = text.find('"', at)) != text.npos;) {
      const std::size_t end = text.find('"', at + 1);
      items.emplace_back(text.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    return items;
  }

  std::uint64_t expired_members() { return keyspace().stats().expired_members; }

  // A member with a deadline, without a command.
  void put(std::string_view key, std::string_view name, Millis from_now) {
    const Slot found = database().find(context(), key);
    const Slot slot =
        found != kNoSlot ? found : database().make_members(context(), ValueType::set, key);
    database().members(context(), slot).put(name, {}, now() + from_now);
  }

  // kNever if it has none, or is not there.
  Time deadline(std::string_view key, std::string_view name) {
    const Slot slot = database().peek(context(), key);
    if (slot == kNoSlot) return kNever;
    MembersRef set = database().members(context(), slot);
    const std::optional<Member> found = set.find(name);
    return found ? found->deadline : kNever;
  }

  // Members of `s`: a and b stay, x and y are due now, z will be due in a minute. x and y are still
  // stored.
  void make_partly_due() {
    run("SADD s a b");
    put("s", "x", Millis(100));
    put("s", "y", Millis(100));
    put("s", "z", Millis(60'100));
    advance(Millis(100));
  }
};

}  // namespace mayfly
