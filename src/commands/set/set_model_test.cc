// SPDX-License-Identifier: Apache-2.0
// Random commands on sets against a model: see members_model_steps.h.

#include <gtest/gtest.h>

#include "commands/members/members_model_steps.h"

namespace mayfly {
namespace set_model_test {

class SetModelTest : public MembersModelSteps {
 protected:
  SetModelTest() : MembersModelSteps(ValueType::set) {}

  // Numbers too, for sets of integers.
  std::string some_name() override { return std::string(1, "abc123"[below(6)]); }
  std::string item_words(const std::string& name, const ModelMember&) const override {
    return " " + name;
  }
  bool is_left(const ModelMember& found, const ModelMember& after,
               const std::string&) const override {
    return found == after;
  }
  Names some_keys() {
    Names keys(1 + below(3));
    for (std::string& key : keys) key = some_key();
    return keys;
  }

  // ---- Adding and removing ----

  void sadd() {
    const std::string key = some_key();
    const Names names = some_names();
    std::size_t added = 0;
    model_.look_up(key);
    model_.make(key);
    for (const std::string& name : names) {
      if (model_.find(key, name) == nullptr) added += model_.put(key, name, {});
    }
    model_.end(key, added > 0 ? Names{"sadd"} : Names{});
    expect(with("SADD " + key, names), integer(added));
  }

  void smove() {
    const std::string from = some_key();
    const std::string to = some_key();
    const std::string name = some_name();
    const std::string line = "SMOVE " + from + " " + to + " " + name;
    const bool has_source = model_.look_up(from);
    if (from != to) model_.look_up(to);
    if (!has_source) return expect(line, integer(std::int64_t{0}));
    const ModelMember* const found = model_.find(from, name);
    if (found == nullptr || from == to) {
      const bool is_there = found != nullptr;
      model_.end(from);
      return expect(line, integer(std::int64_t{is_there}));
    }
    const ModelMember moved = *found;
    model_.erase(from, name);
    model_.end(from, {"srem"});
    model_.make(to);
    const bool is_new = model_.find(to, name) == nullptr;
    if (is_new) model_.put(to, name, moved);
    model_.end(to, is_new ? Names{"sadd"} : Names{});
    expect(line, integer(std::int64_t{1}));
  }

  void spop() {
    const std::string key = some_key();
    const bool has_count = below(2) == 0;
    const std::size_t count = has_count ? below(6) : 1;
    const bool is_there = model_.look_up(key);
    const std::string line = "SPOP " + key + (has_count ? " " + std::to_string(count) : "");
    const std::string reply = run(line);
    const ModelMembers before = model_.alive(key);
    const Names popped = names_in(reply);
    ASSERT_EQ(popped.size(), std::min(count, before.size())) << line << ": " << reply;
    for (const std::string& name : popped) ASSERT_TRUE(model_.erase(key, name)) << name;
    if (has_count && is_there && popped.size() == before.size()) model_.keys[key].clear();
    model_.end(key, popped.empty() ? Names{} : Names{"spop"});
    check_events(line);
  }

  void saddex_short() {
    const std::string key = some_key();
    const bool keeps = below(2) == 0;
    const Names names = some_names();
    const Time deadline = now() + Millis(1000);
    std::size_t added = 0;
    bool any = false;
    model_.look_up(key);
    model_.make(key);
    for (const std::string& name : names) {
      const ModelMember* const found = model_.find(key, name);
      if (found != nullptr && (keeps || found->deadline == deadline)) continue;
      added += model_.put(key, name, {.deadline = deadline});
      any = true;
    }
    model_.end(key, any ? Names{"sadd", "sexpire"} : Names{});
    expect(with("SADDEX " + key + (keeps ? " KEEPTTL 1" : " 1"), names), integer(added));
  }

  // ---- Reading ----

  void smismember() {
    const std::string key = some_key();
    const Names names = some_names();
    model_.read(key);
    const std::string reply = each(names, [&](const std::string& name) {
      return integer(std::int64_t{model_.find(key, name) != nullptr});
    });
    model_.end(key);
    expect(with("SMISMEMBER " + key, names), reply);
  }

  void count_and_list() override {
    const std::string key = some_key();
    model_.read(key);
    const ModelMembers alive = model_.alive(key);
    expect("SCARD " + key, integer(alive.size()));
    model_.begin();
    model_.read(key);
    expect_names("SMEMBERS " + key, alive);
  }

  // ---- Operations on several sets ----

  ModelMembers result_of(const std::string& operation, const Names& keys, Time time) {
    ModelMembers result = model_.alive(keys.front(), time);
    for (const std::string& key : Names(keys.begin() + 1, keys.end())) {
      const ModelMembers other = model_.alive(key, time);
      if (operation == "SUNION") result.insert(other.begin(), other.end());
      std::erase_if(result, [&](const auto& item) {
        return operation != "SUNION" && other.contains(item.first) == (operation == "SDIFF");
      });
    }
    return result;
  }
  std::string some_operation() { return one_of(Names{"SINTER", "SUNION", "SDIFF"}); }

  void operation() {
    const std::string name = some_operation();
    const Names keys = some_keys();
    for (const std::string& key : keys) model_.read(key);
    expect_names(with(name, keys), result_of(name, keys, now()));
  }

  void sintercard() {
    const Names keys = some_keys();
    const std::size_t limit = below(4);
    for (const std::string& key : keys) model_.read(key);
    const std::size_t size = result_of("SINTER", keys, now()).size();
    const std::string line = with("SINTERCARD " + std::to_string(keys.size()), keys);
    expect(line + " LIMIT " + std::to_string(limit),
           integer(limit == 0 ? size : std::min(limit, size)));
  }

  void store() {
    const std::string name = some_operation();
    const std::string target = some_target();
    const Names keys = some_keys();
    for (const std::string& key : keys) model_.read(key);
    for (const std::string& key : keys) {
      model_.reclaim(key);
      model_.end(key);
    }
    ModelMembers result = result_of(name, keys, now());
    for (auto& [member, payload] : result) payload.deadline = kNever;
    const std::string event = name == "SINTER"   ? "sinterstore"
                              : name == "SUNION" ? "sunionstore"
                                                 : "sdiffstore";
    model_.store(target, result, event);
    expect(with(name + "STORE " + target, keys), integer(result.size()));
  }

  void check_replica(const std::string& key, Time time) override {
    const ModelMembers alive = model_.alive(key, time);
    ASSERT_EQ(replica_.ask("SCARD " + key, time), integer(alive.size())) << "in step " << step_;
    ASSERT_EQ(names_in(replica_.ask("SMEMBERS " + key, time)), names_of(alive)) << step_;
    const std::string name = some_operation();
    const Names keys = some_keys();
    ASSERT_EQ(names_in(replica_.ask(with(name, keys), time)), names_of(result_of(name, keys, time)))
        << "in step " << step_;
  }

  std::vector<Step> own_steps() {
    return {
        [&] { sadd(); },       [&] { sadd(); },       [&] { smove(); },        [&] { smove(); },
        [&] { spop(); },       [&] { smismember(); }, [&] { operation(); },    [&] { operation(); },
        [&] { sintercard(); }, [&] { store(); },      [&] { saddex_short(); },
    };
  }
};

TEST_P(SetModelTest, CommandsAgreeWithMaps) { run_steps(4000, own_steps()); }

INSTANTIATE_TEST_SUITE_P(Plans, SetModelTest, kModelPlans, plan_name);

}  // namespace set_model_test
}  // namespace mayfly
