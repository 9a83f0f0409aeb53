// SPDX-License-Identifier: Apache-2.0
// Random commands on few keys and fields, with steps of the clock and sweeps, against a model in
// maps and loops that is too simple to be wrong. Replies and events must agree, HLEN must be the
// number of HKEYS, and a replica that hears only what is propagated must hold the same.

#include "commands/hash/hash_model.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "commands/hash/hash_fixture.h"
#include "mayfly/condition.h"
#include "mayfly/random.h"

namespace mayfly {
namespace hash_model_test {

using Names = std::vector<std::string>;

std::string integer(std::int64_t value) { return "(integer) " + std::to_string(value); }
std::string bulk(const ModelField* field) { return field ? "\"" + field->value + "\"" : "(nil)"; }

// Everything that is stored, what is due included.
ModelHashes contents_of(Database& database) {
  const ExecContext context{.policy = Policy::show};
  ModelHashes hashes;
  database.each([&](Slot slot) {
    ModelFields& fields = hashes[std::string(database.key(slot))];
    database.members(context, slot).each([&](const Member& field) {
      fields[std::string(field.name)] = {std::string(field.value), field.deadline};
      return true;
    });
    return true;
  });
  return hashes;
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
      if (line.starts_with("UNLINK ")) {
        database().erase(database().find(context(), line.substr(7)));
      } else {
        EXPECT_EQ(run(line).find("(error)"), std::string::npos) << line;
      }
    }
  }
  ModelHashes contents() { return contents_of(database()); }
};

struct Plan {
  std::size_t packed_entries;
  std::uint64_t seed;
};

class HashModelTest : public CallFixture, public testing::WithParamInterface<Plan> {
 protected:
  HashModelTest() : CallFixture(options()), random_(GetParam().seed) { model_.now = now(); }

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    options.packed_hash.members = GetParam().packed_entries;
    return options;
  }

  // ---- Chance ----

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  std::string some_key() { return std::string(1, static_cast<char>('k' + below(3))); }
  std::string some_field() { return std::string(1, static_cast<char>('a' + below(6))); }
  std::string some_value() { return std::to_string(below(100)); }
  Names some_fields() {
    Names names(1 + below(4));
    for (std::string& name : names) name = some_field();
    return names;
  }
  // In whole milliseconds near now; one in eight is not ahead.
  Time some_deadline() { return now() + Millis(static_cast<int>(below(40)) - 5); }

  // ---- Comparing ----

  void expect(const std::string& line, const std::string& reply) {
    const std::string got = run(line);
    ASSERT_EQ(got, reply) << line << " in step " << step_;
    ASSERT_EQ(events(), model_.events) << line << " in step " << step_;
    replica_.hear(propagated());
  }

  // `line` with the fields, and an array of what `answer` says of each.
  template <class Answer>
  std::string each(std::string& line, const Names& names, Answer answer) {
    line.append(" FIELDS ").append(std::to_string(names.size()));
    std::string reply = "[";
    for (const std::string& name : names) {
      line.append(" ").append(name);
      reply.append(reply.size() > 1 ? ", " : "").append(answer(name));
    }
    return reply.append("]");
  }

  static std::string in_millis(Time deadline) {
    return std::to_string(deadline.time_since_epoch().count());
  }

  // ---- The commands ----

  void hset() {
    const std::string key = some_key();
    std::string line = "HSET " + key;
    std::int64_t added = 0;
    model_.begin(key);
    model_.make();
    for (std::string& name : some_fields()) {
      const std::string value = some_value();
      line.append(" ").append(name).append(" ").append(value);
      added += model_.put(name, value, kNever);
    }
    model_.end({"hset"});
    expect(line, integer(added));
  }

  void hsetnx() {
    const std::string key = some_key();
    const std::string name = some_field();
    const std::string value = some_value();
    model_.begin(key);
    model_.make();
    const bool is_new = model_.find(name) == nullptr;
    if (is_new) model_.put(name, value, kNever);
    model_.end(is_new ? Names{"hset"} : Names{});
    expect("HSETNX " + key + " " + name + " " + value, integer(is_new));
  }

  void hmget() {
    const std::string key = some_key();
    std::string line = "HMGET " + key;
    std::string reply;
    model_.begin(key);
    model_.misses();
    for (const std::string& name : some_fields()) {
      line.append(" ").append(name);
      reply.append(reply.empty() ? "[" : ", ").append(bulk(model_.find(name)));
    }
    model_.end({});
    expect(line, reply + "]");
  }

  void hdel() {
    const std::string key = some_key();
    std::string line = "HDEL " + key;
    std::int64_t removed = 0;
    model_.begin(key);
    for (const std::string& name : some_fields()) {
      line.append(" ").append(name);
      removed += model_.erase(name);
    }
    model_.end(removed > 0 ? Names{"hdel"} : Names{});
    expect(line, integer(removed));
  }

  void hincrby() {
    const std::string key = some_key();
    const std::string name = some_field();
    model_.begin(key);
    model_.make();
    const ModelField* const found = model_.find(name);
    const std::int64_t after = 7 + (found ? std::stoll(found->value) : 0);
    model_.put(name, std::to_string(after), found ? found->deadline : kNever);
    model_.end({"hincrby"});
    expect("HINCRBY " + key + " " + name + " 7", integer(after));
  }

  void hpexpireat() {
    const std::string key = some_key();
    const Time deadline = some_deadline();
    const bool past = is_due(deadline, now());
    const auto [word, when] = std::array{std::pair("", When::always), std::pair(" NX", When::unset),
                                         std::pair(" XX", When::set), std::pair(" GT", When::later),
                                         std::pair(" LT", When::sooner)}[below(5)];
    std::string line = "HPEXPIREAT " + key + " " + in_millis(deadline) + word;
    bool any = false;
    model_.begin(key);
    const std::string reply = each(line, some_fields(), [&](const std::string& name) {
      ModelField* const found = model_.find(name);
      if (!found) return integer(-2);
      if (!allows(when, found->deadline, deadline)) return integer(0);
      any = true;
      if (past) model_.erase(name);
      if (!past) found->deadline = deadline;
      return integer(past ? 2 : 1);
    });
    model_.end(any ? Names{past ? "hexpired" : "hexpire"} : Names{});
    expect(line, reply);
  }

  void hpersist() {
    const std::string key = some_key();
    std::string line = "HPERSIST " + key;
    bool any = false;
    model_.begin(key);
    const std::string reply = each(line, some_fields(), [&](const std::string& name) {
      ModelField* const found = model_.find(name);
      if (!found || found->deadline == kNever) return integer(found ? -1 : -2);
      any = true;
      found->deadline = kNever;
      return integer(1);
    });
    model_.end(any ? Names{"hpersist"} : Names{});
    expect(line, reply);
  }

  void hpexpiretime() {
    const std::string key = some_key();
    std::string line = "HPEXPIRETIME " + key;
    model_.begin(key);
    model_.misses();
    const std::string reply = each(line, some_fields(), [&](const std::string& name) {
      const ModelField* const found = model_.find(name);
      if (!found || found->deadline == kNever) return integer(found ? -1 : -2);
      return integer(found->deadline.time_since_epoch().count());
    });
    model_.end({});
    expect(line, reply);
  }

  void hgetdel() {
    const std::string key = some_key();
    std::string line = "HGETDEL " + key;
    bool any = false;
    model_.begin(key);
    const std::string reply = each(line, some_fields(), [&](const std::string& name) {
      std::string value = bulk(model_.find(name));
      any = model_.erase(name) || any;
      return value;
    });
    model_.end(any ? Names{"hdel"} : Names{});
    expect(line, reply);
  }

  void hgetex() {
    const std::string key = some_key();
    const std::uint64_t kind = below(3);  // nothing, PERSIST, PXAT
    const Time deadline = kind == 2 ? some_deadline() : kNever;
    const bool past = is_due(deadline, now());
    std::string line = "HGETEX " + key;
    if (kind == 1) line += " PERSIST";
    if (kind == 2) line += " PXAT " + in_millis(deadline);
    bool any = false;
    model_.begin(key);
    model_.misses();
    const Names names = some_fields();
    const std::string reply =
        each(line, names, [&](const std::string& name) { return bulk(model_.find(name)); });
    for (const std::string& name : names) {
      ModelField* const found = kind > 0 ? model_.find(name) : nullptr;
      if (!found || (kind == 1 && found->deadline == kNever)) continue;
      any = true;
      if (past) model_.erase(name);
      if (!past) found->deadline = deadline;
    }
    model_.end(any ? Names{kind == 1 ? "hpersist" : past ? "hexpired" : "hexpire"} : Names{});
    expect(line, reply);
  }

  void hsetex() {
    const std::string key = some_key();
    const std::string condition = Names{"", "", " NX", " XX", " FNX", " FXX"}[below(6)];
    const std::uint64_t kind = below(3);  // nothing, KEEPTTL, PXAT
    const Time deadline = kind == 2 ? some_deadline() : kNever;
    const Names names = some_fields();
    std::string line = "HSETEX " + key + condition;
    if (kind == 1) line += " KEEPTTL";
    if (kind == 2) line += " PXAT " + in_millis(deadline);
    line += " FIELDS " + std::to_string(names.size());
    for (const std::string& name : names) line.append(" ").append(name).append(" ").append("5");

    model_.begin(key);
    bool holds = true;
    if (condition == " NX") holds = !model_.is_there();
    if (condition == " XX") holds = model_.is_there();
    for (const std::string& name : names) {  // stops at the first that decides
      if (holds && condition == " FNX") holds = model_.find(name) == nullptr;
      if (holds && condition == " FXX") holds = model_.find(name) != nullptr;
    }
    if (!holds) {
      model_.end({});
      return expect(line, integer(0));
    }
    model_.make();
    for (const std::string& name : names) {
      const ModelField* const found = model_.find(name);
      if (is_due(deadline, now())) {
        model_.erase(name);
      } else {
        model_.put(name, "5", kind == 1 && found ? found->deadline : deadline);
      }
    }
    Names own{"hset"};
    if (kind == 2) own.push_back("hexpire");
    if (is_due(deadline, now())) own.push_back("hexpired");
    model_.end(own);
    expect(line, integer(1));
  }

  void hsetex_short() {
    const std::string key = some_key();
    const bool only_new = below(2) == 0;
    std::string line = "HSETEX " + key + (only_new ? " NX 1" : " 1");
    std::int64_t added = 0;
    bool any = false;
    model_.begin(key);
    model_.make();
    for (const std::string& name : some_fields()) {
      line.append(" ").append(name).append(" 6");
      if (only_new && model_.find(name)) continue;
      added += model_.put(name, "6", now() + Millis(1000));
      any = true;
    }
    model_.end(any ? Names{"hset", "hexpire"} : Names{});
    expect(line, integer(added));
  }

  void hlen_and_hkeys() {
    const std::string key = some_key();
    model_.begin(key);
    model_.misses();
    const std::size_t count = model_.alive();
    model_.end({});
    expect("HLEN " + key, integer(static_cast<std::int64_t>(count)));
    const std::string keys = run("HKEYS " + key);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(keys, '"')), count * 2) << keys;
  }

  void sweep_sometimes() {
    if (below(8) > 0) return hset();
    run("HLEN none");  // forgets what was told before
    keyspace().sweep(context(), 1000);
    model_.sweep();
    replica_.hear(propagated());
  }

  void step() {
    using Self = HashModelTest;
    static constexpr std::array kSteps = {
        &Self::hset,           &Self::hset,
        &Self::hsetnx,         &Self::hmget,
        &Self::hdel,           &Self::hincrby,
        &Self::hsetex,         &Self::hsetex,
        &Self::hgetdel,        &Self::hsetex_short,
        &Self::hpexpireat,     &Self::hgetex,
        &Self::hpexpiretime,   &Self::sweep_sometimes,
        &Self::hpexpireat,     &Self::hpersist,
        &Self::hlen_and_hkeys,
    };
    (this->*kSteps[below(kSteps.size())])();
  }

  int step_ = 0;
  Random random_;
  HashModel model_;
  Replica replica_;
};

TEST_P(HashModelTest, CommandsAgreeWithMaps) {
  for (step_ = 0; step_ < 2000 && !HasFatalFailure(); ++step_) {
    if (below(3) == 0) advance(Millis(static_cast<int>(below(12))));
    model_.now = now();
    step();
    if (step_ % 8 != 0) continue;
    ASSERT_EQ(contents_of(database()), model_.hashes) << "in step " << step_;
    ASSERT_EQ(replica_.contents(), model_.hashes) << "in step " << step_;
    ASSERT_EQ(database().check_invariants(), "") << "in step " << step_;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, HashModelTest,
                         testing::Values(Plan{512, 1}, Plan{512, 2}, Plan{0, 3}, Plan{0, 4},
                                         Plan{3, 5}, Plan{3, 6}),
                         [](const auto& plan) { return "seed" + std::to_string(plan.param.seed); });

}  // namespace hash_model_test
}  // namespace mayfly
