// SPDX-License-Identifier: Apache-2.0
// Random commands on few sorted sets and members, with steps of the clock and sweeps, against a
// model in maps and loops that is too simple to be wrong. Replies and events must agree, and a
// replica that hears only what is propagated must hold the same.

#include "commands/zset/zset_model.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>

#include "commands/call_fixture.h"
#include "mayfly/random.h"

namespace mayfly {
namespace zset_model_test {

using Names = std::vector<std::string>;

std::string integer(std::int64_t value) { return "(integer) " + std::to_string(value); }
std::string integer(std::size_t value) { return integer(static_cast<std::int64_t>(value)); }

// Everything that is alive at this time.
ModelZsets contents_of(Database& database, Time now) {
  const ExecContext context{.now = now, .policy = Policy::hide};
  ModelZsets zsets;
  database.each([&](Slot slot) {
    database.members(context, slot).each([&](const Member& member) {
      zsets[std::string(database.key(slot))][std::string(member.name)] = {member.score(),
                                                                          member.deadline};
      return true;
    });
    return true;
  });
  return zsets;
}

// Hears what is propagated, and expires nothing by itself.
class ZsetReplica : public CallFixture {
 public:
  ZsetReplica() { context().policy = Policy::show; }
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
  ModelZsets contents(Time now) { return contents_of(database(), now); }
};

struct Plan {
  std::size_t packed_members;
  std::uint64_t seed;
};

class ZsetModelTest : public CallFixture, public testing::WithParamInterface<Plan> {
 protected:
  ZsetModelTest() : CallFixture(options()), random_(GetParam().seed) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    options.packed_zset.members = GetParam().packed_members;
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
  std::string some_name() { return std::string(1, static_cast<char>('a' + below(8))); }
  Names some_names() {
    Names names(1 + below(4));
    for (std::string& name : names) name = some_name();
    return names;
  }
  double some_score() {
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return one_of(std::array{-kInfinity, -1.0, 0.0, 0.1, 0.2, 1.0, 2.5, 7.0, 1e20, kInfinity});
  }
  // One in eight is not ahead.
  Time some_deadline() { return now() + Millis(static_cast<int>(below(40)) - 5); }
  static std::string in_millis(Time deadline) {
    return std::to_string(deadline.time_since_epoch().count());
  }

  // ---- Comparing ----

  // Events without those that the model leaves out.
  std::string compared_events() const {
    std::string kept;
    std::string_view left = told_;
    while (!left.empty()) {
      const std::size_t end = std::min(left.find(' '), left.size());
      const std::string_view event = left.substr(0, end);
      left.remove_prefix(std::min(end + 1, left.size()));
      if (event.starts_with("zx:") || event.starts_with("g:del")) continue;
      kept.append(kept.empty() ? "" : " ").append(event);
    }
    return kept;
  }

  void expect(const std::string& line, const std::string& reply) {
    model_.drop_empty();
    const std::string got = run(line);
    told_ = events();
    replica_.hear(propagated());
    ASSERT_EQ(got, reply) << line << " in step " << step_;
    ASSERT_EQ(compared_events(), model_.events) << line << " in step " << step_;
  }

  // ---- Commands that write ----

  // One pair of a ZADD; what it replies for INCR.
  struct Put {
    bool is_new = false, is_changed = false, is_refused = false;
    double score = 0;
  };
  Put put(const std::string& key, const std::string& name, double score,
          const std::string& options) {
    const auto has = [&](std::string_view word) { return options.find(word) != options.npos; };
    ModelMember* const found = model_.find(key, name);
    if ((found && has("NX")) || (!found && has("XX"))) return {.is_refused = true};
    if (found && has("INCR")) score += found->score;
    if (found && has("GT") && !(score > found->score)) return {.is_refused = true};
    if (found && has("LT") && !(score < found->score)) return {.is_refused = true};
    if (std::isnan(score)) return {.score = score};
    const bool is_changed = !found || found->score != score;
    if (is_changed) model_.zsets[key][name].score = score;
    return {.is_new = !found, .is_changed = is_changed, .score = score};
  }

  void zadd() {
    const std::string key = some_key();
    const std::string options =
        one_of(Names{"", "", "", " NX", " XX", " GT", " LT", " XX GT", " XX LT"});
    const bool counts_changed = below(2) == 0;
    std::string line = "ZADD " + key + options + (counts_changed ? " CH" : "");
    std::size_t added = 0;
    std::size_t changed = 0;
    if (options.find("XX") == options.npos) model_.make(key);
    for (const std::string& name : some_names()) {
      const double score = some_score();
      line.append(" ").append(format_double(score)).append(" ").append(name);
      const Put done = put(key, name, score, options);
      added += done.is_new;
      changed += done.is_changed;
    }
    if (changed > 0) model_.tell("z:zadd", key);
    expect(line, integer(counts_changed ? changed : added));
  }

  void zincrby() {
    const std::string key = some_key();
    const std::string name = some_name();
    const double step = some_score();
    const bool is_option = below(2) == 0;
    const std::string options = is_option ? one_of(Names{"", " NX", " XX", " GT", " LT"}) : "";
    const std::string verb =
        is_option ? "ZADD " + key + options + " INCR " : "ZINCRBY " + key + " ";
    // Comparisons with a score that is no number are left to other tests.
    const ModelMember* const found = model_.find(key, name);
    if (found && std::isnan(found->score + step)) return;
    if (options != " XX") model_.make(key);
    const Put done = put(key, name, step, options + " INCR");
    if (done.is_changed) model_.tell("z:zincr", key);
    expect(verb + format_double(step) + " " + name,
           done.is_refused ? "(nil)" : "\"" + format_double(done.score) + "\"");
  }

  void zaddex() {
    const std::string key = some_key();
    const std::string condition = one_of(Names{"", "", " NX", " XX", " FNX", " FXX", " GT", " LT"});
    const std::uint64_t kind = below(3);  // nothing, KEEPTTL, PXAT
    const Time deadline = kind == 2 ? some_deadline() : kNever;
    const Names names = some_names();
    std::string line = "ZADDEX " + key + condition + " CH";
    if (kind == 1) line += " KEEPTTL";
    if (kind == 2) line += " PXAT " + in_millis(deadline);
    line += " MEMBERS " + std::to_string(names.size());
    const double score = some_score();
    for (const std::string& name : names) line += " " + format_double(score) + " " + name;

    bool holds =
        (condition != " NX" || !model_.has(key)) && (condition != " XX" || model_.has(key));
    for (const std::string& name : names) {
      const bool is_there = model_.find(key, name) != nullptr;
      if (condition == " FNX") holds = holds && !is_there;
      if (condition == " FXX") holds = holds && is_there;
    }
    if (!holds) return expect_of_refused_zaddex(key, condition, line);
    model_.make(key);
    if (is_due(deadline, now())) {
      for (const std::string& name : names) model_.erase(key, name);
      for (const char* event : {"z:zadd", "z:zexpire", "z:zexpired"}) model_.tell(event, key);
      return expect(line, integer(std::size_t{0}));
    }
    const std::size_t changed = put_all(key, names, score, condition, kind == 1, deadline);
    if (changed > 0) model_.tell("z:zadd", key);
    if (changed > 0 && kind == 2) model_.tell("z:zexpire", key);
    expect(line, integer(changed));
  }

  // A key that is made only to check its members is not kept.
  void expect_of_refused_zaddex(const std::string& key, const std::string& condition,
                                const std::string& line) {
    if (condition == " FNX" && !model_.has(key)) model_.tell("n:new", key);
    expect(line, integer(std::size_t{0}));
  }

  std::size_t put_all(const std::string& key, const Names& names, double score,
                      const std::string& condition, bool keeps_deadlines, Time deadline) {
    std::size_t changed = 0;
    for (const std::string& name : names) {
      const ModelMember* const found = model_.find(key, name);
      if (found && condition == " GT" && !(score > found->score)) continue;
      if (found && condition == " LT" && !(score < found->score)) continue;
      const ModelMember after{score, keeps_deadlines && found ? found->deadline : deadline};
      changed += !found || !(*found == after);
      model_.zsets[key][name] = after;
    }
    return changed;
  }

  void zpexpireat() {
    const std::string key = some_key();
    const Names names = some_names();
    const Time deadline = some_deadline();
    const bool past = is_due(deadline, now());
    std::string line = "ZPEXPIREAT " + key + " " + in_millis(deadline) + " MEMBERS " +
                       std::to_string(names.size());
    std::string reply = "[";
    bool any = false;
    for (const std::string& name : names) {
      ModelMember* const found = model_.find(key, name);
      line += " " + name;
      reply.append(reply.size() > 1 ? ", " : "")
          .append(integer(std::int64_t{!found ? -2
                                       : past ? 2
                                              : 1}));
      if (!found) continue;
      any = true;
      found->deadline = deadline;
      if (past) model_.erase(key, name);
    }
    if (any) model_.tell(past ? "z:zexpired" : "z:zexpire", key);
    expect(line, reply + "]");
  }

  void zrem() {
    const std::string key = some_key();
    std::string line = "ZREM " + key;
    std::size_t removed = 0;
    for (const std::string& name : some_names()) {
      line += " " + name;
      removed += model_.erase(key, name);
    }
    if (removed > 0) model_.tell("z:zrem", key);
    expect(line, integer(removed));
  }

  void pop() {
    const std::string key = some_key();
    const bool is_min = below(2) == 0;
    const std::size_t count = 1 + below(3);
    ModelEntries list = model_.entries(key);
    if (!is_min) std::ranges::reverse(list);
    list.resize(std::min(list.size(), count));
    for (const ModelEntry& entry : list) model_.erase(key, entry.name);
    if (!list.empty()) model_.tell(is_min ? "z:zpopmin" : "z:zpopmax", key);
    expect((is_min ? "ZPOPMIN " : "ZPOPMAX ") + key + " " + std::to_string(count),
           reply_of(list, true));
  }

  // ---- Ranges ----

  struct ScoreWords {
    std::string text;
    std::function<bool(double)> is_above;  // as a minimum
    std::function<bool(double)> is_below;  // as a maximum
  };
  ScoreWords some_bound() {
    const double bound = some_score();
    const bool is_open = below(2) == 0;
    return {(is_open ? "(" : "") + format_double(bound),
            [=](double score) { return is_open ? score > bound : score >= bound; },
            [=](double score) { return is_open ? score < bound : score <= bound; }};
  }

  // A range of ranks as a request has it, and what is in it.
  ModelEntries some_rank_range(ModelEntries list, std::string& words) {
    const auto size = static_cast<int>(list.size());
    const int start = static_cast<int>(below(12)) - 6;
    const int stop = static_cast<int>(below(12)) - 6;
    words = std::to_string(start) + " " + std::to_string(stop);
    const int from = std::max(start < 0 ? start + size : start, 0);
    const int to = std::min(stop < 0 ? stop + size : stop, size - 1);
    ModelEntries found;
    for (int i = from; i <= to; ++i) found.push_back(list[static_cast<std::size_t>(i)]);
    return found;
  }

  ModelEntries some_score_range(const ModelEntries& list, std::string& words, bool is_reverse) {
    const ScoreWords min = some_bound();
    const ScoreWords max = some_bound();
    words = is_reverse ? max.text + " " + min.text : min.text + " " + max.text;
    ModelEntries found;
    for (const ModelEntry& entry : list) {
      if (min.is_above(entry.score) && max.is_below(entry.score)) found.push_back(entry);
    }
    return found;
  }

  void zrange() {
    const std::string key = some_key();
    const bool is_reverse = below(2) == 0;
    model_.read(key);
    ModelEntries list = model_.entries(key);
    if (is_reverse) std::ranges::reverse(list);
    std::string words;
    std::string options = is_reverse ? " REV" : "";
    if (below(2) == 0) {
      list = some_rank_range(list, words);
    } else {
      list = some_score_range(list, words, is_reverse);
      options += " BYSCORE";
      if (below(2) == 0) {
        const std::size_t offset = below(3);
        const std::size_t count = below(4);
        options += " LIMIT " + std::to_string(offset) + " " + std::to_string(count);
        list.erase(list.begin(), list.begin() + static_cast<int>(std::min(offset, list.size())));
        list.resize(std::min(count, list.size()));
      }
    }
    const bool with_scores = below(2) == 0;
    expect("ZRANGE " + key + " " + words + options + (with_scores ? " WITHSCORES" : ""),
           reply_of(list, with_scores));
  }

  void zremrange() {
    const std::string key = some_key();
    const bool by_rank = below(2) == 0;
    std::string words;
    const ModelEntries all = model_.entries(key);
    const ModelEntries list =
        by_rank ? some_rank_range(all, words) : some_score_range(all, words, false);
    for (const ModelEntry& entry : list) model_.erase(key, entry.name);
    const std::string event = by_rank ? "zremrangebyrank" : "zremrangebyscore";
    if (!list.empty()) model_.tell("z:" + event, key);
    expect(event + " " + key + " " + words, integer(list.size()));
  }

  void zrangestore() {
    const std::string key = some_key();
    const std::string target = some_target();
    std::string words;
    model_.read(key);
    const ModelEntries list = some_score_range(model_.entries(key), words, false);
    model_.store(target, list, "zrangestore");
    expect("ZRANGESTORE " + target + " " + key + " " + words + " BYSCORE", integer(list.size()));
  }

  void count_and_rank() {
    const std::string key = some_key();
    const std::string name = some_name();
    std::string words;
    model_.read(key);
    const ModelEntries all = model_.entries(key);
    expect("ZCARD " + key, integer(all.size()));
    const ModelEntries counted = some_score_range(all, words, false);
    expect("ZCOUNT " + key + " " + words, integer(counted.size()));
    const auto found = std::ranges::find(all, name, &ModelEntry::name);
    const auto rank = static_cast<std::size_t>(found - all.begin());
    expect("ZRANK " + key + " " + name, found == all.end() ? "(nil)" : integer(rank));
    expect("ZREVRANK " + key + " " + name,
           found == all.end() ? "(nil)" : integer(all.size() - 1 - rank));
  }

  // ---- Several keys ----

  void combine() {
    const std::string first = some_key();
    const std::string second = some_key();
    const std::uint64_t kind = below(3);
    const std::string verb = Names{"ZUNION", "ZINTER", "ZDIFF"}[kind];
    model_.read(first);
    model_.read(second);
    ModelEntries list;
    const auto add = [](double a, double b) { return std::isnan(a + b) ? 0 : a + b; };
    for (const ModelEntry& entry : model_.entries(first)) {
      const ModelMember* const other = model_.find(second, entry.name);
      if (kind == 0)
        list.push_back({entry.name, other ? add(entry.score, other->score) : entry.score});
      if (kind == 1 && other) list.push_back({entry.name, add(entry.score, other->score)});
      if (kind == 2 && !other) list.push_back(entry);
    }
    for (const ModelEntry& entry : model_.entries(second)) {
      if (kind == 0 && !model_.find(first, entry.name)) list.push_back(entry);
    }
    ZsetModel::sort(list);
    const std::string keys = " 2 " + first + " " + second;
    if (below(2) == 0) return expect(verb + keys + " WITHSCORES", reply_of(list, true));
    const std::string target = some_target();
    std::string event;
    for (const char c : verb + "STORE") event += static_cast<char>(std::tolower(c));
    model_.store(target, list, event);
    expect(verb + "STORE " + target + keys, integer(list.size()));
  }

  void sweep_sometimes() {
    if (below(6) > 0) return zaddex();
    run("ZCARD none");  // forgets what was told before
    keyspace().sweep(context(), 1000);
    replica_.hear(propagated());
  }

  void step() {
    using Self = ZsetModelTest;
    static constexpr std::array kSteps = {
        &Self::zadd,        &Self::zadd,           &Self::zadd,    &Self::zincrby,
        &Self::zaddex,      &Self::zaddex,         &Self::zrem,    &Self::pop,
        &Self::zrange,      &Self::zrange,         &Self::zrange,  &Self::zremrange,
        &Self::zrangestore, &Self::count_and_rank, &Self::combine, &Self::sweep_sometimes,
        &Self::zpexpireat,  &Self::zpexpireat,
    };
    (this->*kSteps[below(kSteps.size())])();
  }

  int step_ = 0;
  Random random_;
  ZsetModel model_;
  ZsetReplica replica_;
  std::string told_;
};

TEST_P(ZsetModelTest, CommandsAgreeWithMaps) {
  for (step_ = 0; step_ < 4000 && !HasFatalFailure(); ++step_) {
    if (below(3) == 0) advance(Millis(static_cast<int>(below(12))));
    model_.begin(now());
    step();
    if (step_ % 8 != 0) continue;
    ASSERT_EQ(contents_of(database(), now()), model_.zsets) << "in step " << step_;
    ASSERT_EQ(replica_.contents(now()), model_.zsets) << "in step " << step_;
    ASSERT_EQ(database().check_invariants(), "") << "in step " << step_;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, ZsetModelTest,
                         testing::Values(Plan{128, 1}, Plan{128, 2}, Plan{0, 3}, Plan{0, 4},
                                         Plan{3, 5}, Plan{3, 6}),
                         [](const auto& plan) { return "seed" + std::to_string(plan.param.seed); });

}  // namespace zset_model_test
}  // namespace mayfly
