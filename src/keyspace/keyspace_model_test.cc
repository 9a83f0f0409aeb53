// SPDX-License-Identifier: Apache-2.0
// Random operations on keys and members with steps of the clock, against a map of maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "keyspace/keyspace_fixture.h"

namespace mayfly {
namespace keyspace_model_test {

struct ModelMember {
  std::string value;
  Time deadline = kNever;
};

struct ModelKey {
  std::optional<std::string> string;
  ValueType type = ValueType::hash;  // if it is no string
  std::map<std::string, ModelMember> members;
  Time deadline = kNever;
  Millis stale{0};
};

class Model {
 public:
  // What is due is taken away before anybody looks.
  void set_now(Time now) {
    for (auto key = keys.begin(); key != keys.end();) {
      std::erase_if(key->second.members,
                    [&](const auto& member) { return is_due(member.second.deadline, now); });
      const bool is_empty = !key->second.string && key->second.members.empty();
      key = is_due(key->second.deadline, now) || is_empty ? keys.erase(key) : std::next(key);
    }
  }

  std::map<std::string, ModelKey> keys;
};

class KeyspaceModelTest : public testing::TestWithParam<int> {
 protected:
  KeyspaceModelTest() : fixture_(options()), random_(static_cast<std::uint64_t>(GetParam())) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    // So that all forms are used.
    options.packed_hash = {.members = 6, .text_bytes = 20};
    options.packed_set = {.members = 6, .text_bytes = 20};
    options.packed_zset = {.members = 6, .text_bytes = 20};
    options.intset_members = 8;
    options.hash_slot_of = [](std::string_view name) {
      return static_cast<std::uint16_t>(static_cast<unsigned char>(name.back()) % 5);
    };
    return options;
  }

  std::string key() { return "key" + std::to_string(random_.below(12)); }
  // Numbers are frequent, so that there are int sets.
  std::string member() {
    const std::string number = std::to_string(random_.below(16) * 5'000);
    return random_.below(5) == 0 ? "member" + number : number;
  }
  std::string text() { return std::string(random_.below(26), 'v'); }
  std::string value(ValueType type) {
    if (type == ValueType::hash) return text();
    if (type == ValueType::set) return "";
    return std::string(ScoreBytes(static_cast<double>(random_.below(4)) - 1).view());
  }
  Time deadline() {
    const bool never = random_.below(5) < 3;
    const auto ms = static_cast<std::int64_t>(1 + random_.below(200));
    const bool far = random_.below(10) == 0;
    return never ? kNever : fixture_.in(far ? ms * 1'000'000'000 : ms);
  }

  void step() {
    switch (random_.below(12)) {
      case 0:
        return put_string();
      case 1:
        return erase_key();
      case 2:
        return expire_key();
      case 3:
      case 4:
      case 5:
      case 6:
        return put_member();
      case 7:
        return erase_member();
      case 8:
        return expire_member();
      case 9:
        return rename();
      case 10:
        fixture_.advance(static_cast<std::int64_t>(random_.below(40)));
        break;
      default:
        fixture_.keyspace.sweep(fixture_.context, random_.below(8));
        break;
    }
    model_.set_now(fixture_.context.now);
  }

  void put_string() {
    const std::string name = key();
    const std::string text = this->text();
    fixture_.database.put_string(fixture_.context, name, text);
    model_.keys[name] = {.string = text, .members = {}, .deadline = kNever, .stale = {}};
  }

  void erase_key() {
    const std::string name = key();
    const Slot slot = fixture_.database.find(fixture_.context, name);
    ASSERT_EQ(slot != kNoSlot, model_.keys.erase(name) == 1) << name;
    if (slot != kNoSlot) fixture_.database.erase(slot);
  }

  void expire_key() {
    const std::string name = key();
    const Time when = deadline();
    const Millis stale(when == kNever || random_.below(2) == 0 ? 0 : random_.below(100));
    const Slot slot = fixture_.database.find(fixture_.context, name);
    ASSERT_EQ(slot != kNoSlot, model_.keys.contains(name)) << name;
    if (slot == kNoSlot) return;
    fixture_.database.set_deadline(slot, when, stale);
    model_.keys[name].deadline = when;
    model_.keys[name].stale = stale;
  }

  // The key's slot; one of a random type is made if there is none. kNoSlot if the key is a string.
  Slot members_slot(const std::string& name) {
    const Slot slot = fixture_.database.find(fixture_.context, name);
    if (slot != kNoSlot) return has_members(fixture_.database.node(slot)) ? slot : kNoSlot;
    constexpr std::array kTypes = {ValueType::hash, ValueType::set, ValueType::zset};
    const ValueType type = kTypes[random_.below(kTypes.size())];
    model_.keys[name].type = type;
    return fixture_.database.make_members(fixture_.context, type, name);
  }

  // The slot of a key with members; kNoSlot if this is none.
  Slot old_slot(const std::string& name) {
    const Slot slot = fixture_.database.find(fixture_.context, name);
    return slot != kNoSlot && has_members(fixture_.database.node(slot)) ? slot : kNoSlot;
  }

  void put_member() {
    const std::string name = key();
    const Slot slot = members_slot(name);
    if (slot == kNoSlot) return;
    const std::string member_name = member();
    ModelKey& expected = model_.keys[name];
    ModelMember put = {value(expected.type), deadline()};
    const auto old = expected.members.find(member_name);
    const bool is_new = old == expected.members.end();
    MembersRef members = fixture_.database.members(fixture_.context, slot);
    switch (random_.below(3)) {
      case 0:
        ASSERT_EQ(members.add(member_name, put.value, put.deadline), is_new);
        if (!is_new) put = old->second;
        break;
      case 1:
        ASSERT_EQ(members.put_keeping_deadline(member_name, put.value), is_new);
        put.deadline = is_new ? kNever : old->second.deadline;
        break;
      default:
        ASSERT_EQ(members.put(member_name, put.value, put.deadline), is_new);
    }
    ASSERT_FALSE(members.finish());
    expected.members[member_name] = put;
  }

  void erase_member() {
    const std::string name = key();
    const Slot slot = old_slot(name);
    if (slot == kNoSlot) return;
    const std::string member_name = member();
    MembersRef members = fixture_.database.members(fixture_.context, slot);
    auto& expected = model_.keys[name].members;
    ASSERT_EQ(members.erase(member_name), expected.erase(member_name) == 1);
    ASSERT_EQ(members.size() == 0, expected.empty());
    if (expected.empty()) model_.keys.erase(name);
    members.finish();
  }

  void expire_member() {
    const std::string name = key();
    const Slot slot = old_slot(name);
    if (slot == kNoSlot) return;
    const std::string member_name = member();
    const Time when = deadline();
    MembersRef members = fixture_.database.members(fixture_.context, slot);
    auto& expected = model_.keys[name].members;
    ASSERT_EQ(members.set_deadline(member_name, when), expected.contains(member_name));
    if (expected.contains(member_name)) expected[member_name].deadline = when;
    ASSERT_FALSE(members.finish());
  }

  void rename() {
    const std::string from = key();
    const std::string to = key();
    const Slot slot = fixture_.database.find(fixture_.context, from);
    if (slot == kNoSlot || from == to) return;
    const Slot old = fixture_.database.find(fixture_.context, to);
    if (old != kNoSlot) fixture_.database.erase(old);
    fixture_.database.rename(slot, to);
    model_.keys[to] = std::move(model_.keys[from]);
    model_.keys.erase(from);
  }

  void compare() {
    Database& database = fixture_.database;
    ASSERT_EQ(database.check_invariants(), "");
    ASSERT_EQ(database.size(fixture_.context), model_.keys.size());
    for (const auto& [name, expected] : model_.keys) {
      const Slot slot = database.peek(fixture_.context, name);
      ASSERT_NE(slot, kNoSlot) << name;
      ASSERT_EQ(database.deadline(slot), expected.deadline);
      ASSERT_EQ(database.stale_time(slot), expected.stale);
      if (expected.string) {
        ASSERT_EQ(database.string(slot), *expected.string);
        continue;
      }
      ASSERT_EQ(database.type(slot), expected.type);
      compare_members(slot, expected);
      if (expected.type == ValueType::zset) compare_order(slot, expected);
    }
  }

  void compare_members(Slot slot, const ModelKey& expected) {
    const MembersRef members = fixture_.database.members(fixture_.context, slot);
    ASSERT_EQ(members.size(), expected.members.size());
    std::size_t seen = 0;
    members.each([&](const Member& member) {
      const auto found = expected.members.find(std::string(member.name));
      EXPECT_NE(found, expected.members.end()) << member.name;
      if (found == expected.members.end()) return false;
      EXPECT_EQ(member.value, found->second.value);
      EXPECT_EQ(member.deadline, found->second.deadline);
      ++seen;
      return true;
    });
    ASSERT_EQ(seen, expected.members.size());
  }

  // Under any policy: a replica hides what is due, and shows it to its primary.
  void compare_order(Slot slot, const ModelKey& expected) {
    std::vector<Member> sorted;
    for (const auto& [name, member] : expected.members) {
      sorted.push_back({name, member.value, member.deadline});
    }
    std::ranges::sort(sorted, is_before);
    constexpr std::array kPolicies = {Policy::reclaim, Policy::hide, Policy::show};
    ExecContext context = fixture_.context;
    context.policy = kPolicies[random_.below(kPolicies.size())];
    MembersRef members = fixture_.database.members(context, slot);
    const std::size_t stored = members.stored();
    const MembersOrder order = members.order();
    if (context.policy == Policy::show) {
      ASSERT_EQ(order.size(), stored);
      return;
    }
    ASSERT_EQ(order.size(), sorted.size());
    for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
      const Member& member = sorted[rank];
      ASSERT_EQ(order.at(rank).name, member.name);
      ASSERT_EQ(order.rank(member.score(), member.name), rank);
      ASSERT_LE(order.below(member.score()), rank);
      ASSERT_GT(order.up_to(member.score()), rank);
    }
    std::size_t left = sorted.size();
    order.visit(left - 1, left, Direction::backward, [&](const Member& member) {
      EXPECT_EQ(member.name, sorted[--left].name);
      return true;
    });
    ASSERT_FALSE(members.finish());
  }

  KeyspaceFixture fixture_;
  Random random_;
  Model model_;
};

TEST_P(KeyspaceModelTest, AgreesWithAMapOfMaps) {
  for (int i = 0; i < 3000; ++i) {
    step();
    compare();
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "at step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeyspaceModelTest, testing::Range(1, 7));

}  // namespace keyspace_model_test
}  // namespace mayfly
