// SPDX-License-Identifier: Apache-2.0
// MembersFixture: what the tests of commands on members have in common. Each runs for hashes, sets
// and sorted sets, packed and as tables:
//
//   class MemberTest : public MembersFixture {};
//   INSTANTIATE_TEST_SUITE_P(Members, MemberTest, kMemberCases, case_name);
//
//   TEST_P(MemberTest, ExpireSetsADeadline) {
//     seed({"a", "b"});                                          // into the key k
//     EXPECT_EQ(codes("%EXPIRE k 10 @ 2 a none"), "1 -2");       // HEXPIRE k 10 FIELDS 2 a none
//     EXPECT_EQ(events(), text("~:~expire:k"));                  // h:hexpire:k
//   }
//
// In a line, % is the letter of the type in upper case, ~ in lower case, @ its word for a list, and
// & its command that removes.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call_fixture.h"

namespace mayfly {

inline constexpr std::string_view kWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kSyntax = "(error) ERR syntax error";

inline std::string arity_error(std::string_view command) {
  std::string text = "(error) ERR wrong number of arguments for '";
  return text.append(command).append("' command");
}
inline std::string time_error(std::string_view command) {
  std::string text = "(error) ERR invalid expire time in '";
  return text.append(command).append("' command");
}

// For one type or several.
class MemberCallFixture : public CallFixture {
 protected:
  using CallFixture::CallFixture;

  // A line as it is run.
  virtual std::string text(std::string_view line) const { return std::string(line); }

  void put_string(std::string_view key) { database().put_string(context(), key, "text"); }

  // The integers of an array, separated by spaces; anything else as it is.
  std::string codes(std::string_view line) {
    std::string reply = CallFixture::run(text(line));
    if (reply.front() != '[') return reply;
    reply = reply.substr(1, reply.size() - 2);
    for (const std::string_view extra : {"(integer) ", ","}) {
      for (std::size_t at = 0; (at = reply.find(extra)) != std::string::npos;) {
        reply.erase(at, extra.size());
      }
    }
    return reply;
  }

  // The bulks of an array in alphabetical order, separated by spaces.
  std::string sorted(std::string_view line) {
    std::vector<std::string> items = bulks(line);
    std::ranges::sort(items);
    std::string list;
    for (const std::string& item : items) list.append(list.empty() ? "" : " ").append(item);
    return list;
  }

  std::vector<std::string> bulks(std::string_view line) {
    const std::string reply = CallFixture::run(text(line));
    std::vector<std::string> items;
    for (std::size_t at = 0; (at = reply.find('"', at)) != std::string::npos;) {
      const std::size_t end = reply.find('"', at + 1);
      items.push_back(reply.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    return items;
  }

  std::uint64_t expired_members() { return keyspace().stats().expired_members; }
  MembersRef members_of(std::string_view key) {
    return database().members(context(), database().peek(context(), key));
  }
};

struct MemberCase {
  ValueType type;
  ValueForm form;
};

class MembersFixture : public MemberCallFixture, public testing::WithParamInterface<MemberCase> {
 protected:
  MembersFixture() : MemberCallFixture(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    if (GetParam().form == ValueForm::table) {
      options.packed_hash.members = 0;
      options.packed_set.members = 0;
      options.packed_zset.members = 0;
    }
    return options;
  }

  static ValueType type() { return GetParam().type; }
  static const MemberWords& words() { return words_of(type()); }

  std::string text(std::string_view line) const override {
    const char letter = words().expire.front();
    std::string out;
    for (const char c : line) {
      if (c == '%') {
        out += static_cast<char>(letter - 'a' + 'A');
      } else if (c == '~') {
        out += letter;
      } else if (c == '@') {
        out += words().list;
      } else if (c == '&') {
        out += words().remove_command;
      } else {
        out += c;
      }
    }
    return out;
  }

  using CallFixture::run;
  std::string run(std::string_view line) { return CallFixture::run(text(line)); }

  // What commands say of a wrong count of members.
  static std::string bad_count() { return "(error) " + std::string(words().wrong_count); }

  // The payload of a member that was seeded with this number.
  static std::string payload(double number) {
    if (type() == ValueType::hash) return "v" + std::to_string(static_cast<int>(number));
    return type() == ValueType::set ? "" : std::string(ScoreBytes(number).view());
  }

  // Puts members into the key k; `left` is until their deadline. The first has the number 1.
  void seed(const std::vector<std::string>& names, Millis left = Millis(0)) {
    Slot slot = database().peek(context(), "k");
    if (slot == kNoSlot) slot = database().make_members(context(), type(), "k");
    MembersRef members = database().members(context(), slot);
    int number = 0;
    for (const std::string& name : names) {
      members.put(name, payload(++number), left == Millis(0) ? kNever : now() + left);
    }
  }

  std::size_t alive() { return members_of("k").size(); }

  // Members of k: a and b stay, x and y are due now, z will be due in a minute. x and y are still
  // stored.
  void seed_partly_due() {
    seed({"a", "b"});
    seed({"x", "y"}, Millis(100));
    seed({"z"}, Millis(60'100));
    advance(Millis(100));
  }
};

inline const auto kMemberCases = testing::Values(
    MemberCase{ValueType::hash, ValueForm::packed}, MemberCase{ValueType::hash, ValueForm::table},
    MemberCase{ValueType::set, ValueForm::packed}, MemberCase{ValueType::set, ValueForm::table},
    MemberCase{ValueType::zset, ValueForm::packed}, MemberCase{ValueType::zset, ValueForm::table});

inline std::string case_name(const testing::TestParamInfo<MemberCase>& info) {
  const std::string type = info.param.type == ValueType::hash  ? "hash"
                           : info.param.type == ValueType::set ? "set"
                                                               : "zset";
  return type + (info.param.form == ValueForm::packed ? "_packed" : "_table");
}

}  // namespace mayfly
