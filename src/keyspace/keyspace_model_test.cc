// SPDX-License-Identifier: Apache-2.0
// Random operations on keys and fields with steps of the clock, against a map of maps.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "keyspace/keyspace_fixture.h"

namespace mayfly {
namespace keyspace_model_test {

struct ModelField {
  std::string value;
  Time deadline = kNever;
};

struct ModelKey {
  std::optional<std::string> string;
  std::map<std::string, ModelField> fields;
  Time deadline = kNever;
};

class Model {
 public:
  // What is due is taken away before anybody looks.
  void set_now(Time now) {
    for (auto key = keys.begin(); key != keys.end();) {
      std::erase_if(key->second.fields,
                    [&](const auto& field) { return is_due(field.second.deadline, now); });
      const bool is_empty = !key->second.string && key->second.fields.empty();
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
    options.packed_hash.members = 6;  // so that both forms are used
    options.packed_hash.text_bytes = 20;
    return options;
  }

  std::string key() { return "key" + std::to_string(random_.below(12)); }
  std::string field() { return "field" + std::to_string(random_.below(16)); }
  std::string value() { return std::string(random_.below(26), 'v'); }
  Time deadline() {
    const bool never = random_.below(3) == 0;
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
        return put_field();
      case 7:
        return erase_field();
      case 8:
        return expire_field();
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
    const std::string text = value();
    fixture_.database.put_string(fixture_.context, name, text);
    model_.keys[name] = {.string = text, .fields = {}, .deadline = kNever};
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
    const Slot slot = fixture_.database.find(fixture_.context, name);
    ASSERT_EQ(slot != kNoSlot, model_.keys.contains(name)) << name;
    if (slot == kNoSlot) return;
    fixture_.database.set_deadline(slot, when);
    model_.keys[name].deadline = when;
  }

  // The hash's slot, made if there is none; kNoSlot if the key is a string.
  Slot hash_slot(const std::string& name) {
    const Slot slot = fixture_.database.find(fixture_.context, name);
    if (slot == kNoSlot)
      return fixture_.database.make_members(fixture_.context, ValueType::hash, name);
    return fixture_.database.type(slot) == ValueType::hash ? slot : kNoSlot;
  }

  void put_field() {
    const std::string name = key();
    const Slot slot = hash_slot(name);
    if (slot == kNoSlot) return;
    const std::string field_name = field();
    const ModelField put = {value(), deadline()};
    MembersRef hash = fixture_.database.members(fixture_.context, slot);
    auto& fields = model_.keys[name].fields;
    ASSERT_EQ(hash.put(field_name, put.value, put.deadline), !fields.contains(field_name));
    ASSERT_FALSE(hash.finish());
    fields[field_name] = put;
  }

  void erase_field() {
    const std::string name = key();
    const Slot slot = fixture_.database.find(fixture_.context, name);
    if (slot == kNoSlot || fixture_.database.type(slot) != ValueType::hash) return;
    const std::string field_name = field();
    MembersRef hash = fixture_.database.members(fixture_.context, slot);
    auto& fields = model_.keys[name].fields;
    ASSERT_EQ(hash.erase(field_name), fields.erase(field_name) == 1);
    ASSERT_EQ(hash.size() == 0, fields.empty());
    if (fields.empty()) model_.keys.erase(name);
    hash.finish();
  }

  void expire_field() {
    const std::string name = key();
    const Slot slot = fixture_.database.find(fixture_.context, name);
    if (slot == kNoSlot || fixture_.database.type(slot) != ValueType::hash) return;
    const std::string field_name = field();
    const Time when = deadline();
    MembersRef hash = fixture_.database.members(fixture_.context, slot);
    auto& fields = model_.keys[name].fields;
    ASSERT_EQ(hash.set_deadline(field_name, when), fields.contains(field_name));
    if (fields.contains(field_name)) fields[field_name].deadline = when;
    ASSERT_FALSE(hash.finish());
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
      if (expected.string) {
        ASSERT_EQ(database.string(slot), *expected.string);
        continue;
      }
      ASSERT_EQ(database.members(fixture_.context, slot).size(), expected.fields.size());
      std::size_t seen = 0;
      database.members(fixture_.context, slot).each([&](const Member& field) {
        const auto found = expected.fields.find(std::string(field.name));
        EXPECT_NE(found, expected.fields.end()) << field.name;
        if (found == expected.fields.end()) return false;
        EXPECT_EQ(field.value, found->second.value);
        EXPECT_EQ(field.deadline, found->second.deadline);
        ++seen;
        return true;
      });
      ASSERT_EQ(seen, expected.fields.size());
    }
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
