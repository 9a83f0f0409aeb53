// SPDX-License-Identifier: Apache-2.0
// ZsetFixture: what the tests of the sorted set commands have in common. Each runs with sorted sets
// in both forms, which look the same from outside.

#pragma once

#include <string>
#include <string_view>

#include "commands/hash/hash_fixture.h"

namespace mayfly {

inline constexpr std::string_view kNoFloat = "(error) ERR value is not a valid float";

class ZsetFixture : public CallFixture, public testing::WithParamInterface<ValueForm> {
 protected:
  ZsetFixture() : CallFixture(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    if (GetParam() == ValueForm::table)
      options.packed_zset.members = options.packed_set.members = 0;
    return options;
  }

  void put_string(std::string_view key) { database().put_string(context(), key, "text"); }

  // A set, without its commands.
  void put_set(std::string_view key, std::initializer_list<std::string_view> names) {
    const Slot slot = database().make_members(context(), ValueType::set, key);
    MembersRef set = database().members(context(), slot);
    for (const std::string_view name : names) set.add(name, "");
  }

  // Gives a member a deadline.
  void expire_in(std::string_view key, std::string_view name, Millis from_now) {
    MembersRef members = database().members(context(), database().peek(context(), key));
    ASSERT_TRUE(members.set_deadline(name, now() + from_now));
  }
  Time deadline_of(std::string_view key, std::string_view name) {
    const auto found = database().members(context(), database().peek(context(), key)).find(name);
    return found ? found->deadline : Time{};
  }

  // The bulks and integers of an array of arrays, without marks: "a 1 b 2".
  std::string flat(std::string_view line) {
    std::string text = run(line);
    if (text.starts_with('(')) return text;
    std::erase_if(text, [](char c) { return c == '"' || c == ',' || c == '[' || c == ']'; });
    return text;
  }

  // Members of `z`: a, b and c with the scores 1, 2 and 3 stay; x (0), y (2) and w (9) are due now;
  // l (7) will be due in a minute. All are still stored.
  void make_partly_due() {
    run("ZADD z 1 a 2 b 3 c 0 x 2 y 9 w 7 l");
    for (const std::string_view name : {"x", "y", "w"}) expire_in("z", name, Millis(100));
    expire_in("z", "l", Millis(60'000));
    advance(Millis(100));
  }
};

}  // namespace mayfly
