// SPDX-License-Identifier: Apache-2.0
// Random commands on few keys and members, with steps of the clock and sweeps, against a model in
// maps and loops. Replies and events must agree, SCARD must be the number of SMEMBERS, and a
// replica that hears only what is propagated must hold the same.

#include "commands/set/set_model.h"

#include <gtest/gtest.h>

#include <array>

#include "commands/call_fixture.h"
#include "mayfly/random.h"

namespace mayfly {
namespace set_model_test {

using Names = std::vector<std::string>;
using NameSet = std::set<std::string>;

std::string integer(std::size_t value) { return "(integer) " + std::to_string(value); }

// The bulks of a reply.
NameSet bulks_of(std::string_view text) {
  NameSet names;
  for (std::size_t at = 0; (at = text.find('"', at)) != text.npos;) {
    const std::size_t end = text.find('"', at + 1);
    EXPECT_TRUE(names.emplace(text.substr(at + 1, end - at - 1)).second) << text;
    at = end + 1;
  }
  return names;
}

// Everything that is stored, what is due included.
ModelSets contents_of(Database& database) {
  const ExecContext context{.policy = Policy::show};
  ModelSets sets;
  database.each([&](Slot slot) {
    ModelMembers& members = sets[std::string(database.key(slot))];
    database.members(context, slot).each([&](const Member& member) {
      members[std::string(member.name)] = member.deadline;
      return true;
    });
    return true;
  });
  return sets;
}

// Hears what is propagated, and expires nothing by itself.
class Replica : public CallFixture {
 public:
  Replica() { context().policy = Policy::show; }
  void TestBody() override {}

  void hear(std::string_view commands) {
    while (!commands.empty()) {
      const std::size_t end = std::min(commands.find("; "), commands.size());
      const std::string_view line = commands.substr(0, end);
      commands.remove_prefix(std::min(end + 2, commands.size()));
      EXPECT_EQ(run(line).find("(error)"), std::string::npos) << line;
    }
  }
  ModelSets contents() { return contents_of(database()); }
};

struct Plan {
  std::size_t packed_entries;
  std::uint64_t seed;
};

class SetModelTest : public CallFixture, public testing::WithParamInterface<Plan> {
 protected:
  SetModelTest() : CallFixture(options()), random_(GetParam().seed) { model_.now = now(); }

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    options.packed_set.members = GetParam().packed_entries;
    options.intset_members = GetParam().packed_entries;
    return options;
  }

  // ---- Chance ----

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  std::string some_key() { return std::string(1, static_cast<char>('s' + below(3))); }
  // Numbers too, for sets of integers.
  std::string some_name() { return std::string(1, "abc123"[below(6)]); }
  Names some_names() {
    Names names(1 + below(4));
    for (std::string& name : names) name = some_name();
    return names;
  }
  Names some_keys() {
    Names keys(1 + below(3));
    for (std::string& key : keys) key = some_key();
    return keys;
  }
  // In whole milliseconds near now; one in eight is not ahead.
  Time some_deadline() { return now() + Millis(static_cast<int>(below(40)) - 5); }

  // ---- Comparing ----

  void expect(const std::string& line, const std::string& reply) {
    const std::string got = run(line);
    ASSERT_EQ(got, reply) << line << " in step " << step_;
    check_events(line);
  }
  void expect_names(const std::string& line, const NameSet& names) {
    const std::string got = run(line);
    ASSERT_EQ(bulks_of(got), names) << line << " in step " << step_;
    check_events(line);
  }
  void check_events(const std::string& line) {
    ASSERT_EQ(events(), model_.events) << line << " in step " << step_;
    replica_.hear(propagated());
  }

  static std::string with(std::string line, const Names& words) {
    for (const std::string& word : words) line.append(" ").append(word);
    return line;
  }
  static std::string with_list(const std::string& line, const Names& names) {
    return with(line + " MEMBERS " + std::to_string(names.size()), names);
  }
  static std::string in_millis(Time deadline) {
    return std::to_string(deadline.time_since_epoch().count());
  }

  // ---- Adding and removing ----

  void sadd() {
    const std::string key = some_key();
    const Names names = some_names();
    std::size_t added = 0;
    model_.look_up(key);
    model_.make(key);
    for (const std::string& name : names) {
      if (model_.find(key, name) == nullptr) added += model_.put(key, name, kNever);
    }
    model_.end(key, added > 0 ? Names{"sadd"} : Names{});
    expect(with("SADD " + key, names), integer(added));
  }

  void srem() {
    const std::string key = some_key();
    const Names names = some_names();
    std::size_t removed = 0;
    model_.look_up(key);
    for (const std::string& name : names) removed += model_.erase(key, name);
    model_.end(key, removed > 0 ? Names{"srem"} : Names{});
    expect(with("SREM " + key, names), integer(removed));
  }

  void smove() {
    const std::string from = some_key();
    const std::string to = some_key();
    const std::string name = some_name();
    const std::string line = "SMOVE " + from + " " + to + " " + name;
    const bool has_source = model_.look_up(from);
    if (from != to) model_.look_up(to);
    if (!has_source) return expect(line, integer(0));
    const Time* const found = model_.find(from, name);
    if (found == nullptr || from == to) {
      const bool is_there = found != nullptr;
      model_.end(from, {});
      return expect(line, integer(is_there));
    }
    const Time deadline = *found;
    model_.erase(from, name);
    model_.end(from, {"srem"});
    model_.make(to);
    const bool is_new = model_.find(to, name) == nullptr;
    if (is_new) model_.put(to, name, deadline);
    model_.end(to, is_new ? Names{"sadd"} : Names{});
    expect(line, integer(1));
  }

  void spop() {
    const std::string key = some_key();
    const bool has_count = below(2) == 0;
    const std::size_t count = has_count ? below(6) : 1;
    const bool is_there = model_.look_up(key);
    const std::string line = "SPOP " + key + (has_count ? " " + std::to_string(count) : "");
    const std::string reply = run(line);
    const NameSet before = model_.alive(key);
    const NameSet popped = bulks_of(reply);
    ASSERT_EQ(popped.size(), std::min(count, before.size())) << line << ": " << reply;
    for (const std::string& name : popped) {
      ASSERT_TRUE(before.contains(name)) << name;
      model_.erase(key, name);
    }
    if (has_count && is_there && popped.size() == before.size()) model_.sets[key].clear();
    model_.end(key, popped.empty() ? Names{} : Names{"spop"});
    check_events(line);
  }

  // ---- Reading ----

  void smismember() {
    const std::string key = some_key();
    const Names names = some_names();
    std::string reply;
    model_.read(key);
    for (const std::string& name : names) {
      reply.append(reply.empty() ? "[" : ", ").append(integer(model_.find(key, name) != nullptr));
    }
    model_.end(key, {});
    expect(with("SMISMEMBER " + key, names), reply + "]");
  }

  void scard_and_smembers() {
    const std::string key = some_key();
    model_.read(key);
    const NameSet names = model_.alive(key);
    expect("SCARD " + key, integer(names.size()));
    model_.begin();
    model_.read(key);
    expect_names("SMEMBERS " + key, names);
  }

  // ---- Operations on several sets ----

  NameSet result_of(const std::string& operation, const Names& keys) {
    NameSet result = model_.alive(keys.front());
    for (const std::string& key : Names(keys.begin() + 1, keys.end())) {
      const NameSet other = model_.alive(key);
      if (operation == "SUNION") result.insert(other.begin(), other.end());
      std::erase_if(result, [&](const std::string& name) {
        return operation != "SUNION" && other.contains(name) == (operation == "SDIFF");
      });
    }
    return result;
  }
  std::string some_operation() { return std::array{"SINTER", "SUNION", "SDIFF"}[below(3)]; }

  void operation() {
    const std::string name = some_operation();
    const Names keys = some_keys();
    for (const std::string& key : keys) model_.read(key);
    expect_names(with(name, keys), result_of(name, keys));
  }

  void sintercard() {
    const Names keys = some_keys();
    const std::size_t limit = below(4);
    for (const std::string& key : keys) model_.read(key);
    const std::size_t size = result_of("SINTER", keys).size();
    const std::string line = with("SINTERCARD " + std::to_string(keys.size()), keys);
    expect(line + " LIMIT " + std::to_string(limit),
           integer(limit == 0 ? size : std::min(limit, size)));
  }

  void store() {
    const std::string name = some_operation();
    const std::string target = some_key();
    const Names keys = some_keys();
    for (const std::string& key : keys) model_.read(key);
    for (const std::string& key : keys) model_.reclaim(key);
    const NameSet result = result_of(name, keys);
    const bool is_there = model_.look_up(target);
    if (result.empty()) {
      if (is_there) model_.tell("g:del", target);
      model_.sets.erase(target);
    } else {
      model_.make(target);
      model_.sets[target].clear();
      for (const std::string& member : result) model_.sets[target][member] = kNever;
      model_.tell(std::string("s:") + (name == "SINTER"   ? "sinterstore"
                                       : name == "SUNION" ? "sunionstore"
                                                          : "sdiffstore"),
                  target);
    }
    expect(with(name + "STORE " + target, keys), integer(result.size()));
  }

  // ---- Deadlines ----

  void saddex() {
    const std::string key = some_key();
    const std::string condition = Names{"", "", " NX", " XX", " FNX", " FXX"}[below(6)];
    const std::uint64_t kind = below(3);  // nothing, KEEPTTL, PXAT
    const Time deadline = kind == 2 ? some_deadline() : kNever;
    const Names names = some_names();
    std::string line = "SADDEX " + key + condition;
    if (kind == 1) line += " KEEPTTL";
    if (kind == 2) line += " PXAT " + in_millis(deadline);
    line = with_list(line, names);

    const bool is_there = model_.look_up(key);
    bool holds = condition != (is_there ? " NX" : " XX");
    for (const std::string& name : names) {  // stops at the first that decides
      if (holds && condition == " FNX") holds = model_.find(key, name) == nullptr;
      if (holds && condition == " FXX") holds = model_.find(key, name) != nullptr;
    }
    if (!holds) {
      model_.end(key, {});
      return expect(line, integer(0));
    }
    model_.make(key);
    add_or_remove(line, key, names, kind == 1, deadline);
  }

  void saddex_short() {
    const std::string key = some_key();
    const bool keeps = below(2) == 0;
    const Names names = some_names();
    model_.look_up(key);
    model_.make(key);
    add_or_remove(with("SADDEX " + key + (keeps ? " KEEPTTL 1" : " 1"), names), key, names, keeps,
                  now() + Millis(1000));
  }

  void add_or_remove(const std::string& line, const std::string& key, const Names& names,
                     bool keeps, Time deadline) {
    if (is_due(deadline, now())) {
      for (const std::string& name : names) model_.erase(key, name);
      model_.end(key, {"sadd", "sexpire", "sexpired"});
      return expect(line, integer(0));
    }
    std::size_t added = 0;
    bool any = false;
    for (const std::string& name : names) {
      const Time* const found = model_.find(key, name);
      if (found != nullptr && (keeps || *found == deadline)) continue;
      added += model_.put(key, name, deadline);
      any = true;
    }
    Names own;
    if (any) own.emplace_back("sadd");
    if (any && deadline != kNever) own.emplace_back("sexpire");
    model_.end(key, own);
    expect(line, integer(added));
  }

  void spexpireat() {
    const std::string key = some_key();
    const Time deadline = some_deadline();
    const bool is_past = is_due(deadline, now());
    const Names names = some_names();
    bool any = false;
    std::string reply;
    model_.look_up(key);
    for (const std::string& name : names) {
      Time* const found = model_.find(key, name);
      const char* const code = found == nullptr ? "-2" : is_past ? "2" : "1";
      reply.append(reply.empty() ? "[(integer) " : ", (integer) ").append(code);
      if (found == nullptr) continue;
      any = true;
      if (is_past) model_.erase(key, name);
      if (!is_past) *found = deadline;
    }
    model_.end(key, any ? Names{is_past ? "sexpired" : "sexpire"} : Names{});
    expect(with_list("SPEXPIREAT " + key + " " + in_millis(deadline), names), reply + "]");
  }

  void sweep_sometimes() {
    if (below(8) > 0) return sadd();
    run("SCARD none");  // forgets what was told before
    keyspace().sweep(context(), 1000);
    model_.sweep();
    replica_.hear(propagated());
  }

  void step() {
    using Self = SetModelTest;
    static constexpr std::array kSteps = {
        &Self::sadd,         &Self::sadd,       &Self::srem,       &Self::smove,
        &Self::smove,        &Self::spop,       &Self::smismember, &Self::scard_and_smembers,
        &Self::operation,    &Self::operation,  &Self::sintercard, &Self::store,
        &Self::saddex,       &Self::saddex,     &Self::saddex,     &Self::saddex,
        &Self::saddex_short, &Self::spexpireat, &Self::spexpireat, &Self::sweep_sometimes,
    };
    model_.begin();
    (this->*kSteps[below(kSteps.size())])();
  }

  int step_ = 0;
  Random random_;
  SetModel model_;
  Replica replica_;
};

TEST_P(SetModelTest, CommandsAgreeWithMaps) {
  for (step_ = 0; step_ < 3000 && !HasFatalFailure(); ++step_) {
    if (below(3) == 0) advance(Millis(static_cast<int>(below(12))));
    model_.now = now();
    step();
    if (step_ % 8 != 0) continue;
    ASSERT_EQ(contents_of(database()), model_.sets) << "in step " << step_;
    ASSERT_EQ(replica_.contents(), model_.sets) << "in step " << step_;
    ASSERT_EQ(database().check_invariants(), "") << "in step " << step_;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, SetModelTest,
                         testing::Values(Plan{128, 1}, Plan{128, 2}, Plan{0, 3}, Plan{0, 4},
                                         Plan{3, 5}, Plan{3, 6}),
                         [](const auto& plan) { return "seed" + std::to_string(plan.param.seed); });

}  // namespace set_model_test
}  // namespace mayfly
