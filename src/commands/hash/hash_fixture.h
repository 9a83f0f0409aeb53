// SPDX-License-Identifier: Apache-2.0
// HashFixture: what the tests of the hash commands have in common. Each runs with hashes in both
// encodings, which look the same from outside but for the order of their fields:
//
//   class HashTest : public HashFixture {};
//   INSTANTIATE_TEST_SUITE_P(Hashes, HashTest, kBothForms, form_name);

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "commands/members/members_fixture.h"

namespace mayfly {

inline constexpr std::string_view kBadCount =
    "(error) ERR numfields should be greater than 0 and match the provided number of fields";

class HashFixture : public MemberCallFixture, public testing::WithParamInterface<ValueForm> {
 protected:
  HashFixture() : MemberCallFixture(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    if (GetParam() == ValueForm::table) options.packed_hash.members = 0;
    return options;
  }

  std::uint64_t expired_fields() { return expired_members(); }
  bool is_packed(std::string_view key) { return members_of(key).is_packed(); }

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
