// SPDX-License-Identifier: Apache-2.0
// MembersModelFixture: what members_model_steps.h is made of: chance, comparing a command with the
// MembersModel, and a replica that hears only what is propagated.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/call_fixture.h"
#include "commands/members/members_model.h"
#include "mayfly/condition.h"
#include "mayfly/random.h"

namespace mayfly {

// Everything that is stored, what is due included.
inline ModelKeys stored_in(Database& database) {
  const ExecContext context{.policy = Policy::show};
  ModelKeys keys;
  database.each([&](Slot slot) {
    const ValueType type = database.type(slot);
    ModelMembers& members = keys[std::string(database.key(slot))];
    database.members(context, slot).each([&](const Member& member) {
      ModelMember& stored = members[std::string(member.name)];
      if (type == ValueType::hash) stored.value = member.value;
      if (type == ValueType::zset) stored.score = member.score();
      stored.deadline = member.deadline;
      return true;
    });
    return true;
  });
  return keys;
}

// The texts of a reply.
inline std::vector<std::string> bulks_of(std::string_view text) {
  std::vector<std::string> bulks;
  for (std::size_t at = 0; (at = text.find('"', at)) != text.npos;) {
    const std::size_t end = text.find('"', at + 1);
    bulks.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return bulks;
}

// Hears what is propagated, and expires nothing by itself.
class ModelReplica : public CallFixture {
 public:
  explicit ModelReplica(const KeyspaceOptions& options) : CallFixture(options) {
    context().policy = Policy::show;
  }
  void TestBody() override {}

  void hear(std::string_view commands) {
    while (!commands.empty()) {
      const std::size_t end = std::min(commands.find("; "), commands.size());
      const std::string_view line = commands.substr(0, end);
      commands.remove_prefix(std::min(end + 2, commands.size()));
      EXPECT_EQ(run(line).find("(error)"), std::string::npos) << line;
    }
  }

  // What a client of it is told at this time.
  std::string ask(const std::string& line, Time time) {
    context().policy = Policy::hide;
    context().now = time;
    std::string reply = run(line);
    EXPECT_EQ(propagated(), "") << line;
    context().policy = Policy::show;
    return reply;
  }

  using CallFixture::database;
};

struct ModelPlan {
  std::size_t packed_members;  // larger keys are tables
  std::uint64_t seed;
};

class MembersModelFixture : public CallFixture, public testing::WithParamInterface<ModelPlan> {
 protected:
  using Names = std::vector<std::string>;

  explicit MembersModelFixture(ValueType type)
      : CallFixture(options()), random_(GetParam().seed), model_(type), replica_(options()) {
    model_.now = now();
  }

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    const std::size_t most = GetParam().packed_members;
    options.packed_hash.members = options.packed_set.members = options.packed_zset.members = most;
    options.intset_members = most;
    return options;
  }

  // ---- Chance ----

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  template <class List>
  auto one_of(const List& list) {
    return list[below(list.size())];
  }
  std::string some_key() { return std::string(1, static_cast<char>('k' + below(3))); }
  // Mostly a key of its own, because a stored result has no deadlines.
  std::string some_target() { return below(6) == 0 ? some_key() : "t"; }
  virtual std::string some_name() { return std::string(1, static_cast<char>('a' + below(8))); }
  Names some_names() {
    Names names(1 + below(4));
    for (std::string& name : names) name = some_name();
    return names;
  }
  // In whole milliseconds near now; one in eight is not ahead.
  Time some_deadline() { return now() + Millis(static_cast<int>(below(40)) - 5); }

  // A number in one of four forms, and what it means.
  struct ModelTime {
    std::size_t form;  // in seconds, in milliseconds, and both since the epoch
    std::string number;
    Time deadline;
  };
  ModelTime some_time() {
    const std::int64_t since_epoch = now().time_since_epoch().count();
    switch (below(8)) {
      case 0: {
        const auto seconds = static_cast<std::int64_t>(below(2));
        return {0, std::to_string(seconds), now() + Millis(1000 * seconds)};
      }
      case 1: {
        const auto left = static_cast<std::int64_t>(below(30));
        return {1, std::to_string(left), now() + Millis(left)};
      }
      case 2: {
        const std::int64_t second = since_epoch / 1000 + static_cast<std::int64_t>(below(3));
        return {2, std::to_string(second), Time(Millis(second * 1000))};
      }
      default: {
        const Time deadline = some_deadline();
        return {3, std::to_string(deadline.time_since_epoch().count()), deadline};
      }
    }
  }

  // ---- Lines and replies ----

  static std::string integer(std::int64_t value) { return "(integer) " + std::to_string(value); }
  static std::string integer(std::size_t value) {
    return integer(static_cast<std::int64_t>(value));
  }
  static std::string with(std::string line, const Names& words) {
    for (const std::string& word : words) line.append(" ").append(word);
    return line;
  }
  // H, S or Z before the rest of a command's name.
  std::string command(const std::string& rest) const {
    return std::string(1, static_cast<char>(std::toupper(model_.letter()))) + rest;
  }
  // " FIELDS 2 a b", or MEMBERS.
  std::string list_of(const Names& names) {
    const std::string_view word = below(4) > 0    ? model_.words().list
                                  : below(2) == 0 ? "FIELDS"
                                                  : "MEMBERS";
    return with(" " + std::string(word) + " " + std::to_string(names.size()), names);
  }
  // An array of what `answer` says of each.
  template <class Answer>
  static std::string each(const Names& names, Answer answer) {
    std::string reply = "[";
    for (const std::string& name : names) {
      reply.append(reply.size() > 1 ? ", " : "").append(answer(name));
    }
    return reply.append("]");
  }

  // ---- Comparing ----

  void expect(const std::string& line, const std::string& reply) {
    const std::string got = run(line);
    ASSERT_EQ(got, reply) << line << " in step " << step_;
    check_events(line);
  }
  // The same for names in any order, each once.
  void expect_names(const std::string& line, const ModelMembers& members) {
    const std::string got = run(line);
    ASSERT_EQ(names_in(got), names_of(members)) << line << " in step " << step_;
    check_events(line);
  }
  void check_events(const std::string& line) {
    ASSERT_EQ(events(), model_.events) << line << " in step " << step_;
    replica_.hear(propagated());
  }
  static Names names_of(const ModelMembers& members) {
    Names names;
    for (const auto& [name, member] : members) names.push_back(name);
    return names;
  }
  static Names names_in(const std::string& reply) {
    Names names = bulks_of(reply);
    std::ranges::sort(names);
    return names;
  }

  int step_ = 0;
  Random random_;
  MembersModel model_;
  ModelReplica replica_;
};

}  // namespace mayfly
