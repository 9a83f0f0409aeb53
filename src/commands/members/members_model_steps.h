// SPDX-License-Identifier: Apache-2.0
// MembersModelSteps: random commands on few keys and members, with steps of the clock and sweeps,
// against a MembersModel. Here are the commands that hashes, sets and sorted sets have in common;
// the test of a type adds its own:
//
//   class SetModelTest : public MembersModelSteps { ... };
//   TEST_P(SetModelTest, CommandsAgreeWithMaps) { run_steps(3000, own_steps()); }
//
// Replies, events and what is stored must agree. A replica hears only what is propagated. It must
// store the same, and show its clients exactly what is alive at its own time, which is not that of
// the primary.

#pragma once

#include "commands/members/members_model_fixture.h"

namespace mayfly {

class MembersModelSteps : public MembersModelFixture {
 protected:
  using MembersModelFixture::MembersModelFixture;
  using Step = std::function<void()>;

  // ---- What a type has of its own ----

  // Words of a member in a request that puts it: a value, a score, or nothing.
  virtual ModelMember some_payload() { return {}; }
  virtual std::string item_words(const std::string& name, const ModelMember& payload) const = 0;
  // Counts all members of a key, and lists them.
  virtual void count_and_list() = 0;
  // The same, asked of the replica.
  virtual void check_replica(const std::string& key, Time time) = 0;

  // ---- Commands of all types ----

  // HDEL, SREM, ZREM.
  void remove() {
    const std::string key = some_key();
    const Names names = some_names();
    std::size_t removed = 0;
    model_.look_up(key);
    for (const std::string& name : names) removed += model_.erase(key, name);
    const std::string event(model_.words().removed);
    model_.end(key, removed > 0 ? Names{event} : Names{});
    expect(with(std::string(model_.words().remove_command) + " " + key, names), integer(removed));
  }

  // HEXPIRE and so on.
  void expire() {
    static constexpr std::array kForms = {"EXPIRE ", "PEXPIRE ", "EXPIREAT ", "PEXPIREAT "};
    const std::string key = some_key();
    const ModelTime time = some_time();
    const bool is_past = is_due(time.deadline, now());
    const Names names = some_names();
    const auto [word, when] =
        std::array{std::pair("", When::always),   std::pair("", When::always),
                   std::pair(" NX", When::unset), std::pair(" XX", When::set),
                   std::pair(" GT", When::later), std::pair(" LT", When::sooner)}[below(6)];
    bool any = false;
    model_.look_up(key);
    const std::string reply = each(names, [&](const std::string& name) {
      ModelMember* const found = model_.find(key, name);
      if (found == nullptr) return integer(std::int64_t{-2});
      if (!allows(when, found->deadline, time.deadline)) return integer(std::int64_t{0});
      any = true;
      if (is_past) model_.erase(key, name);
      if (!is_past) found->deadline = time.deadline;
      return integer(std::int64_t{is_past ? 2 : 1});
    });
    const std::string event(is_past ? model_.words().expired : model_.words().expire);
    model_.end(key, any ? Names{event} : Names{});
    expect(command(kForms[time.form]) + key + " " + time.number + word + list_of(names), reply);
  }

  void persist() {
    const std::string key = some_key();
    const Names names = some_names();
    bool any = false;
    model_.look_up(key);
    const std::string reply = each(names, [&](const std::string& name) {
      ModelMember* const found = model_.find(key, name);
      if (!found || found->deadline == kNever) return integer(std::int64_t{found ? -1 : -2});
      any = true;
      found->deadline = kNever;
      return integer(std::int64_t{1});
    });
    model_.end(key, any ? Names{std::string(model_.words().persist)} : Names{});
    expect(command("PERSIST ") + key + list_of(names), reply);
  }

  // HPTTL, HPEXPIRETIME and so on.
  void ttl() {
    const std::string key = some_key();
    const Names names = some_names();
    const bool is_absolute = below(2) == 0;
    model_.read(key);
    const std::string reply = each(names, [&](const std::string& name) {
      const ModelMember* const found = model_.find(key, name);
      if (!found || found->deadline == kNever) return integer(std::int64_t{found ? -1 : -2});
      const Time zero = is_absolute ? Time{} : now();
      return integer(std::int64_t{(found->deadline - zero).count()});
    });
    model_.end(key);
    expect(command(is_absolute ? "PEXPIRETIME " : "PTTL ") + key + list_of(names), reply);
  }

  // The long forms of HSETEX, SADDEX and ZADDEX.
  void put_with_deadline() {
    static constexpr std::array kForms = {" EX ", " PX ", " EXAT ", " PXAT "};
    const std::string key = some_key();
    const std::string condition = Names{"", "", " NX", " XX", " FNX", " FXX"}[below(6)];
    const std::string extra = some_extra();
    const std::uint64_t kind = below(3);  // nothing, KEEPTTL, a time
    const ModelTime time = some_time();
    const Time deadline = kind == 2 ? time.deadline : kNever;
    const Names names = some_names();
    const ModelMember payload = some_payload();
    std::string line = std::string(model_.words().put_command) + " " + key + condition;
    line += condition == " FNX" ? "" : extra;
    if (kind == 1) line += " KEEPTTL";
    if (kind == 2) line += kForms[time.form] + time.number;
    line.append(" ").append(model_.words().list).append(" ").append(std::to_string(names.size()));
    for (const std::string& name : names) line += item_words(name, payload);

    const bool is_there = model_.look_up(key);
    bool holds = condition != (is_there ? " NX" : " XX");
    for (const std::string& name : names) {  // stops at the first that decides
      if (holds && condition == " FNX") holds = model_.find(key, name) == nullptr;
      if (holds && condition == " FXX") holds = model_.find(key, name) != nullptr;
    }
    if (!holds) {
      model_.end(key);
      return expect(line, integer(std::int64_t{0}));
    }
    model_.make(key);
    put_or_remove(line, key, names, payload, kind == 1, deadline);
  }
  // GT and LT of ZADDEX.
  virtual std::string some_extra() { return ""; }
  // Whether a member that is there is left as it is.
  virtual bool is_left(const ModelMember&, const ModelMember&, const std::string&) const {
    return false;
  }
  // HSETEX replies whether it was done.
  virtual bool replies_done() const { return false; }

  void put_or_remove(const std::string& line, const std::string& key, const Names& names,
                     const ModelMember& payload, bool keeps, Time deadline) {
    const std::string event(model_.words().put);
    const std::string expire(model_.words().expire);
    if (is_due(deadline, now())) {
      for (const std::string& name : names) model_.erase(key, name);
      model_.end(key, {event, expire, std::string(model_.words().expired)});
      return expect(line, integer(std::int64_t{replies_done()}));
    }
    std::size_t added = 0;
    bool any = false;
    for (const std::string& name : names) {
      const ModelMember* const found = model_.find(key, name);
      ModelMember after = payload;
      after.deadline = found != nullptr && keeps ? found->deadline : deadline;
      if (found != nullptr && is_left(*found, after, line)) continue;
      added += model_.put(key, name, after);
      any = true;
    }
    Names own;
    if (any) own.push_back(event);
    if (any && deadline != kNever) own.push_back(expire);
    model_.end(key, own);
    expect(line, integer(replies_done() ? std::size_t{1} : added));
  }

  void random_members() {
    const std::string key = some_key();
    const std::size_t count = 1 + below(4);
    const std::string verb =
        command(model_.words().type == ValueType::hash ? "RANDFIELD " : "RANDMEMBER ");
    model_.read(key);
    const ModelMembers alive = model_.alive(key);
    const std::string line = verb + key + " " + std::to_string(count);
    const Names names = names_in(run(line));
    ASSERT_EQ(names.size(), std::min(count, alive.size())) << line << " in step " << step_;
    ASSERT_EQ(std::ranges::adjacent_find(names), names.end()) << line << " in step " << step_;
    for (const std::string& name : names) ASSERT_TRUE(alive.contains(name)) << name;
    check_events(line);
  }

  // ---- Whole keys ----

  void rename() {
    const std::string from = some_key();
    const std::string to = some_key();
    const bool overwrites = below(2) == 0;
    const std::string line = (overwrites ? "RENAME " : "RENAMENX ") + from + " " + to;
    if (!model_.look_up(from)) return expect(line, "(error) ERR no such key");
    const bool is_taken = from == to || model_.look_up(to);
    if (from != to && (!is_taken || overwrites)) {
      model_.keys[to] = std::exchange(model_.keys[from], {});
      model_.keys.erase(from);
      model_.tell("n:new", to);
      model_.tell("g:rename_from", from);
      model_.tell("g:rename_to", to);
    }
    expect(line, overwrites ? "OK" : integer(std::int64_t{!is_taken}));
  }

  void copy() {
    const std::string from = some_key();
    const std::string to = some_key();
    const bool replaces = below(2) == 0;
    const std::string line = "COPY " + from + " " + to + (replaces ? " REPLACE" : "");
    if (from == to) return;
    if (!model_.read(from)) return expect(line, integer(std::int64_t{0}));
    model_.reclaim(from);
    model_.end(from);
    if (model_.look_up(to) && !replaces) return expect(line, integer(std::int64_t{0}));
    model_.keys[to] = model_.keys[from];
    model_.tell("n:new", to);
    model_.tell("g:copy_to", to);
    expect(line, integer(std::int64_t{1}));
  }

  void remove_key() {
    const std::string key = some_key();
    const bool is_there = model_.look_up(key);
    if (is_there) model_.tell("g:del", key);
    model_.keys.erase(key);
    expect("DEL " + key, integer(std::int64_t{is_there}));
  }

  void sweep_sometimes() {
    if (below(8) > 0) return;
    run("EXISTS none");  // forgets what was told before
    keyspace().sweep(context(), 1000);
    model_.sweep();
    replica_.hear(propagated());
  }

  // ---- The run ----

  std::vector<Step> common_steps() {
    return {
        [&] { remove(); },         [&] { expire(); },
        [&] { expire(); },         [&] { expire(); },
        [&] { persist(); },        [&] { ttl(); },
        [&] { random_members(); }, [&] { put_with_deadline(); },
        [&] { rename(); },         [&] { put_with_deadline(); },
        [&] { copy(); },           [&] { put_with_deadline(); },
        [&] { count_and_list(); }, [&] { sweep_sometimes(); },
        [&] { count_and_list(); }, [&] { below(4) == 0 ? remove_key() : count_and_list(); },
    };
  }

  // Half of the steps are commands of all types.
  void run_steps(int steps, const std::vector<Step>& own) {
    const std::vector<Step> common = common_steps();
    for (step_ = 0; step_ < steps && !HasFatalFailure(); ++step_) {
      if (below(3) == 0) advance(Millis(static_cast<int>(below(12))));
      if (below(100) == 0) advance(Millis(700));
      model_.now = now();
      model_.begin();
      one_of(below(2) == 0 ? common : own)();
      check_replica(some_key(), replica_time());
      if (step_ % 8 != 0) continue;
      ASSERT_EQ(stored_in(database()), model_.keys) << "in step " << step_;
      ASSERT_EQ(stored_in(replica_.database()), model_.keys) << "in step " << step_;
      ASSERT_EQ(database().check_invariants(), "") << "in step " << step_;
      ASSERT_EQ(replica_.database().check_invariants(), "") << "in step " << step_;
    }
  }

  // The clock of the replica may be behind or ahead, and jumps.
  Time replica_time() { return now() + Millis(static_cast<int>(below(60)) - 20); }
};

inline const auto kModelPlans =
    testing::Values(ModelPlan{128, 1}, ModelPlan{128, 2}, ModelPlan{0, 3}, ModelPlan{0, 4},
                    ModelPlan{3, 5}, ModelPlan{3, 6});

inline std::string plan_name(const testing::TestParamInfo<ModelPlan>& info) {
  return "seed" + std::to_string(info.param.seed);
}

}  // namespace mayfly
