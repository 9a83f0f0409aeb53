// SPDX-License-Identifier: Apache-2.0
// Random commands on hashes against a model: see members_model_steps.h.

#include <gtest/gtest.h>

#include "commands/members/members_model_steps.h"

namespace mayfly {
namespace hash_model_test {

std::string bulk(const ModelMember* field) { return field ? "\"" + field->value + "\"" : "(nil)"; }

class HashModelTest : public MembersModelSteps {
 protected:
  HashModelTest() : MembersModelSteps(ValueType::hash) {}

  std::string some_value() { return std::to_string(below(100)); }
  ModelMember some_payload() override { return {.value = some_value()}; }
  std::string item_words(const std::string& name, const ModelMember& payload) const override {
    return " " + name + " " + payload.value;
  }
  bool replies_done() const override { return true; }

  void hset() {
    const std::string key = some_key();
    std::string line = "HSET " + key;
    std::size_t added = 0;
    model_.look_up(key);
    model_.make(key);
    for (const std::string& name : some_names()) {
      const ModelMember field = some_payload();
      line += item_words(name, field);
      added += model_.put(key, name, field);
    }
    model_.end(key, {"hset"});
    expect(line, integer(added));
  }

  void hsetnx() {
    const std::string key = some_key();
    const std::string name = some_name();
    const ModelMember field = some_payload();
    model_.look_up(key);
    model_.make(key);
    const bool is_new = model_.find(key, name) == nullptr;
    if (is_new) model_.put(key, name, field);
    model_.end(key, is_new ? Names{"hset"} : Names{});
    expect("HSETNX " + key + item_words(name, field), integer(std::int64_t{is_new}));
  }

  void hmget() {
    const std::string key = some_key();
    const Names names = some_names();
    model_.read(key);
    const std::string reply =
        each(names, [&](const std::string& name) { return bulk(model_.find(key, name)); });
    model_.end(key);
    expect(with("HMGET " + key, names), reply);
  }

  void hincrby() {
    const std::string key = some_key();
    const std::string name = some_name();
    model_.look_up(key);
    model_.make(key);
    const ModelMember* const found = model_.find(key, name);
    const std::int64_t after = 7 + (found ? std::stoll(found->value) : 0);
    model_.put(key, name,
               {.value = std::to_string(after), .deadline = found ? found->deadline : kNever});
    model_.end(key, {"hincrby"});
    expect("HINCRBY " + key + " " + name + " 7", integer(after));
  }

  void hgetdel() {
    const std::string key = some_key();
    const Names names = some_names();
    bool any = false;
    model_.look_up(key);
    const std::string reply = each(names, [&](const std::string& name) {
      std::string value = bulk(model_.find(key, name));
      any = model_.erase(key, name) || any;
      return value;
    });
    model_.end(key, any ? Names{"hdel"} : Names{});
    expect("HGETDEL " + key + list_of(names), reply);
  }

  void hgetex() {
    const std::string key = some_key();
    const std::uint64_t kind = below(3);  // nothing, PERSIST, PXAT
    const Time deadline = kind == 2 ? some_deadline() : kNever;
    const bool past = is_due(deadline, now());
    std::string line = "HGETEX " + key;
    if (kind == 1) line += " PERSIST";
    if (kind == 2) line += " PXAT " + std::to_string(deadline.time_since_epoch().count());
    bool any = false;
    model_.read(key);
    const Names names = some_names();
    const std::string reply =
        each(names, [&](const std::string& name) { return bulk(model_.find(key, name)); });
    for (const std::string& name : names) {
      ModelMember* const found = kind > 0 ? model_.find(key, name) : nullptr;
      if (!found || (kind == 1 && found->deadline == kNever)) continue;
      any = true;
      if (past) model_.erase(key, name);
      if (!past) found->deadline = deadline;
    }
    model_.end(key, any ? Names{kind == 1 ? "hpersist" : past ? "hexpired" : "hexpire"} : Names{});
    expect(line + list_of(names), reply);
  }

  void hsetex_short() {
    const std::string key = some_key();
    const bool only_new = below(2) == 0;
    std::string line = "HSETEX " + key + (only_new ? " NX 1" : " 1");
    std::size_t added = 0;
    bool any = false;
    model_.look_up(key);
    model_.make(key);
    for (const std::string& name : some_names()) {
      line.append(" ").append(name).append(" 6");
      if (only_new && model_.find(key, name)) continue;
      added += model_.put(key, name, {.value = "6", .deadline = now() + Millis(1000)});
      any = true;
    }
    model_.end(key, any ? Names{"hset", "hexpire"} : Names{});
    expect(line, integer(added));
  }

  void count_and_list() override {
    const std::string key = some_key();
    model_.read(key);
    const ModelMembers alive = model_.alive(key);
    expect("HLEN " + key, integer(alive.size()));
    model_.begin();
    model_.read(key);
    expect_names("HKEYS " + key, alive);
  }

  void check_replica(const std::string& key, Time time) override {
    const ModelMembers alive = model_.alive(key, time);
    ASSERT_EQ(replica_.ask("HLEN " + key, time), integer(alive.size())) << "in step " << step_;
    ASSERT_EQ(names_in(replica_.ask("HKEYS " + key, time)), names_of(alive)) << "in step " << step_;
  }

  std::vector<Step> own_steps() {
    return {
        [&] { hset(); },   [&] { hset(); },    [&] { hsetnx(); },  [&] { hmget(); },
        [&] { hgetex(); }, [&] { hincrby(); }, [&] { hgetdel(); }, [&] { hsetex_short(); },
    };
  }
};

TEST_P(HashModelTest, CommandsAgreeWithMaps) { run_steps(3000, own_steps()); }

INSTANTIATE_TEST_SUITE_P(Plans, HashModelTest, kModelPlans, plan_name);

}  // namespace hash_model_test
}  // namespace mayfly
