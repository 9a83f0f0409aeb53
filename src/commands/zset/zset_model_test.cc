// SPDX-License-Identifier: Apache-2.0
// Random commands on sorted sets against a model: see members_model_steps.h. What is read by rank,
// score or order removes all that is due first; the model does so too.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "commands/members/members_model_steps.h"

namespace mayfly {
namespace zset_model_test {

class ZsetModelTest : public MembersModelSteps {
 protected:
  ZsetModelTest() : MembersModelSteps(ValueType::zset) {}

  double some_score() {
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return one_of(std::array{-kInfinity, -1.0, 0.0, 0.1, 0.2, 1.0, 2.5, 7.0, 1e20, kInfinity});
  }
  ModelMember some_payload() override { return {.score = some_score()}; }
  std::string item_words(const std::string& name, const ModelMember& payload) const override {
    return " " + format_double(payload.score) + " " + name;
  }
  std::string some_extra() override { return one_of(Names{"", "", " GT", " LT"}); }
  bool is_left(const ModelMember& found, const ModelMember& after,
               const std::string& line) const override {
    if (line.find(" GT") != line.npos && after.score <= found.score) return true;
    if (line.find(" LT") != line.npos && after.score >= found.score) return true;
    return found == after;
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
    const bool is_changed = !found || found->score != score;
    if (!found) model_.put(key, name, {.score = score});
    if (found) found->score = score;
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
    const bool is_there = model_.look_up(key);
    if (options.find("XX") == options.npos) model_.make(key);
    for (const std::string& name : some_names()) {
      const ModelMember member = some_payload();
      line += item_words(name, member);
      if (!is_there && options.find("XX") != options.npos) continue;
      const Put done = put(key, name, member.score, options);
      added += done.is_new;
      changed += done.is_changed;
    }
    model_.end(key, changed > 0 ? Names{"zadd"} : Names{});
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
    // A sum that is no number is left to other tests.
    const ModelMembers alive = model_.alive(key);
    const auto before = alive.find(name);
    if (before != alive.end() && std::isnan(before->second.score + step)) return;
    model_.look_up(key);
    if (options != " XX") model_.make(key);
    const Put done = put(key, name, step, options + " INCR");
    model_.end(key, done.is_changed ? Names{"zincr"} : Names{});
    expect(verb + format_double(step) + " " + name,
           done.is_refused ? "(nil)" : "\"" + format_double(done.score) + "\"");
  }

  // ZPOPMIN, ZPOPMAX and the forms with several keys, which are served by the first that exists.
  void pop() {
    const Names keys = {some_key(), some_key()};
    const bool is_min = below(2) == 0;
    const std::uint64_t form = below(3);  // one key, ZMPOP, BZPOPMIN
    const std::size_t count = form == 2 ? 1 : 1 + below(3);
    std::string served;
    for (const std::string& key : form == 0 ? Names{keys[0]} : keys) {
      if (served.empty() && model_.look_up(key)) served = key;
    }
    ModelEntries list;
    if (!served.empty()) {
      model_.reclaim(served);
      list = model_.entries(served);
      if (!is_min) std::ranges::reverse(list);
      list.resize(std::min(list.size(), count));
      for (const ModelEntry& entry : list) model_.erase(served, entry.name);
      model_.end(served, {is_min ? "zpopmin" : "zpopmax"});
    }
    expect(pop_line(form, keys, is_min, count), pop_reply(form, served, list));
  }
  static std::string pop_line(std::uint64_t form, const Names& keys, bool is_min,
                              std::size_t count) {
    const std::string where = is_min ? "MIN" : "MAX";
    if (form == 0) return "ZPOP" + where + " " + keys[0] + " " + std::to_string(count);
    if (form == 1) return with("ZMPOP 2", keys) + " " + where + " COUNT " + std::to_string(count);
    return with("BZPOP" + where, keys) + " 0";
  }
  static std::string pop_reply(std::uint64_t form, const std::string& key,
                               const ModelEntries& list) {
    const std::string flat = reply_of(list, true);
    if (form == 0) return flat;
    if (key.empty()) return "(nil)";
    if (form == 2) return "[\"" + key + "\", " + flat.substr(1);
    std::string nested;
    for (const ModelEntry& entry : list) {
      nested.append(nested.empty() ? "" : ", ").append(reply_of({entry}, true));
    }
    return "[\"" + key + "\", [" + nested + "]]";
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

  void read_in_order(const std::string& key) {
    model_.read(key);
    model_.reclaim(key);
    model_.end(key);
  }

  // A range of some key, and its reply.
  std::pair<std::string, std::string> some_zrange(const std::string& key, ModelEntries list) {
    const bool is_reverse = below(2) == 0;
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
    return {"ZRANGE " + key + " " + words + options + (with_scores ? " WITHSCORES" : ""),
            reply_of(list, with_scores)};
  }

  void zrange() {
    const std::string key = some_key();
    read_in_order(key);
    const auto [line, reply] = some_zrange(key, model_.entries(key));
    expect(line, reply);
  }

  void zremrange() {
    const std::string key = some_key();
    const bool by_rank = below(2) == 0;
    std::string words;
    model_.look_up(key);
    model_.reclaim(key);
    const ModelEntries all = model_.entries(key);
    const ModelEntries list =
        by_rank ? some_rank_range(all, words) : some_score_range(all, words, false);
    for (const ModelEntry& entry : list) model_.erase(key, entry.name);
    const std::string event = by_rank ? "zremrangebyrank" : "zremrangebyscore";
    model_.end(key, list.empty() ? Names{} : Names{event});
    expect(event + " " + key + " " + words, integer(list.size()));
  }

  static ModelMembers members_of(const ModelEntries& list) {
    ModelMembers members;
    for (const ModelEntry& entry : list) members[entry.name] = {.score = entry.score};
    return members;
  }

  void zrangestore() {
    const std::string key = some_key();
    const std::string target = some_target();
    const bool by_rank = below(2) == 0;
    std::string words;
    read_in_order(key);
    const ModelEntries all = model_.entries(key);
    const ModelEntries list =
        by_rank ? some_rank_range(all, words) : some_score_range(all, words, false);
    model_.store(target, members_of(list), "zrangestore");
    expect("ZRANGESTORE " + target + " " + key + " " + words + (by_rank ? "" : " BYSCORE"),
           integer(list.size()));
  }

  // ---- Reading ----

  void zmscore() {
    const std::string key = some_key();
    const Names names = some_names();
    model_.read(key);
    const std::string reply = each(names, [&](const std::string& name) {
      const ModelMember* const found = model_.find(key, name);
      return found ? "\"" + format_double(found->score) + "\"" : "(nil)";
    });
    model_.end(key);
    expect(with("ZMSCORE " + key, names), reply);
  }

  static std::string rank_in(const ModelEntries& all, const std::string& name, bool is_reverse) {
    const auto found = std::ranges::find(all, name, &ModelEntry::name);
    if (found == all.end()) return "(nil)";
    const auto rank = static_cast<std::size_t>(found - all.begin());
    return integer(is_reverse ? all.size() - 1 - rank : rank);
  }

  // A member that is not there is no reason to read the order.
  void zrank() {
    const std::string key = some_key();
    const std::string name = some_name();
    const bool is_reverse = below(2) == 0;
    model_.read(key);
    if (model_.find(key, name) != nullptr) model_.reclaim(key);
    model_.end(key);
    expect((is_reverse ? "ZREVRANK " : "ZRANK ") + key + " " + name,
           rank_in(model_.entries(key), name, is_reverse));
  }

  void zcount() {
    const std::string key = some_key();
    std::string words;
    read_in_order(key);
    const ModelEntries counted = some_score_range(model_.entries(key), words, false);
    expect("ZCOUNT " + key + " " + words, integer(counted.size()));
  }

  void count_and_list() override {
    const std::string key = some_key();
    model_.read(key);
    expect("ZCARD " + key, integer(model_.alive(key).size()));
    if (below(2) == 0) return;  // else what is due is gone after this
    model_.begin();
    read_in_order(key);
    expect("ZRANGE " + key + " 0 -1 WITHSCORES", reply_of(model_.entries(key), true));
  }

  // ---- Several keys ----

  // Looks the members of `from` up in `in`: those that are due there are removed.
  void look_members_up(const std::string& from, const std::string& in) {
    for (const auto& [name, member] : model_.alive(from)) model_.find(in, name);
    model_.end(in);
  }

  ModelEntries combined(std::uint64_t kind, const std::string& first, const std::string& second) {
    const auto add = [](double a, double b) { return std::isnan(a + b) ? 0 : a + b; };
    const ModelMembers others = model_.alive(second);
    ModelEntries list;
    for (const ModelEntry& entry : model_.entries(first)) {
      const auto other = others.find(entry.name);
      const bool is_common = other != others.end();
      const double sum = is_common ? add(entry.score, other->second.score) : entry.score;
      if (kind == 0 || (kind == 1 && is_common)) list.push_back({entry.name, sum});
      if (kind == 2 && !is_common) list.push_back(entry);
    }
    const ModelMembers firsts = model_.alive(first);
    for (const ModelEntry& entry : model_.entries(second)) {
      if (kind == 0 && !firsts.contains(entry.name)) list.push_back(entry);
    }
    MembersModel::sort(list);
    return list;
  }

  void combine() {
    const std::string first = some_key();
    const std::string second = some_key();
    const std::uint64_t kind = below(3);
    const std::string verb = Names{"ZUNION", "ZINTER", "ZDIFF"}[kind];
    model_.read(first);
    model_.read(second);
    const bool is_first_smaller = model_.alive(first).size() <= model_.alive(second).size();
    if (first != second && kind == 2) look_members_up(first, second);
    if (first != second && kind == 1) {
      look_members_up(is_first_smaller ? first : second, is_first_smaller ? second : first);
    }
    const ModelEntries list = combined(kind, first, second);
    const std::string keys = " 2 " + first + " " + second;
    if (below(2) == 0) return expect(verb + keys + " WITHSCORES", reply_of(list, true));
    const std::string target = some_target();
    std::string event;
    for (const char c : verb + "STORE") event += static_cast<char>(std::tolower(c));
    model_.store(target, members_of(list), event);
    expect(verb + "STORE " + target + keys, integer(list.size()));
  }

  // ---- The replica ----

  void check_replica(const std::string& key, Time time) override {
    const ModelEntries all = model_.entries(key, time);
    const auto ask = [&](const std::string& line, const std::string& reply) {
      ASSERT_EQ(replica_.ask(line, time), reply) << line << " in step " << step_;
    };
    ask("ZCARD " + key, integer(all.size()));
    ask("ZRANGE " + key + " 0 -1 WITHSCORES", reply_of(all, true));
    const std::string name = some_name();
    ask("ZRANK " + key + " " + name, rank_in(all, name, false));
    ask("ZREVRANK " + key + " " + name, rank_in(all, name, true));
    std::string words;
    const ModelEntries counted = some_score_range(all, words, false);
    ask("ZCOUNT " + key + " " + words, integer(counted.size()));
    const auto [line, reply] = some_zrange(key, all);
    ask(line, reply);
  }

  std::vector<Step> own_steps() {
    return {
        [&] { zadd(); },        [&] { zadd(); },   [&] { zadd(); },      [&] { zincrby(); },
        [&] { pop(); },         [&] { zrange(); }, [&] { zrange(); },    [&] { zremrange(); },
        [&] { zrangestore(); }, [&] { zrank(); },  [&] { combine(); },   [&] { zmscore(); },
        [&] { combine(); },     [&] { zcount(); }, [&] { zremrange(); },
    };
  }
};

TEST_P(ZsetModelTest, CommandsAgreeWithMaps) { run_steps(5000, own_steps()); }

INSTANTIATE_TEST_SUITE_P(Plans, ZsetModelTest, kModelPlans, plan_name);

}  // namespace zset_model_test
}  // namespace mayfly
