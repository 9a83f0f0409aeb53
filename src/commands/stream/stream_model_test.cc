// SPDX-License-Identifier: Apache-2.0
// Random commands on a stream with groups against a model, and against a replica that runs what is
// propagated, at another time.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "commands/stream/stream_fixture.h"
#include "mayfly/random.h"

namespace mayfly {
namespace stream_model_test {

// Ids are n-0, and an entry has the field f with the value n.
struct ModelPending {
  std::string consumer;
  std::int64_t delivered;
  int deliveries;
};

struct ModelGroup {
  int last = 0;
  std::set<std::string> consumers;
  std::map<int, ModelPending> pending;
};

struct Model {
  std::set<int> entries;
  int last = 0;
  std::map<std::string, ModelGroup> groups;
};

std::string id_text(int n) { return std::to_string(n) + "-0"; }
std::string entry_text(int n) { return "[" + id_text(n) + " [f " + std::to_string(n) + "]]"; }

std::string list_text(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? " " : "") + item;
  return text + "]";
}

// Runs what the other one propagates.
class StreamReplica : public StreamFixture {
 public:
  StreamReplica() : StreamFixture(with_block_entries(7)) {
    context().policy = Policy::show;
    advance(Millis(-12'345));
  }
  void TestBody() override {}
  void apply(const std::string& line) { EXPECT_FALSE(flat(line).starts_with("(error)")) << line; }
  std::string state() { return without_times(flat("XINFO STREAM s FULL COUNT 0")); }

  // Blocks need not be the same, nor when consumers were seen.
  static std::string without_times(std::string text) {
    for (const std::string_view name :
         {"radix-tree-keys ", "radix-tree-nodes ", "seen-time ", "active-time "}) {
      for (std::size_t at = 0; (at = text.find(name, at)) != text.npos;) {
        at += name.size();
        text.erase(at, text.find(' ', at) - at);
      }
    }
    return text;
  }
};

class StreamModelTest : public StreamFixture {
 protected:
  StreamModelTest() : StreamFixture(with_block_entries(4)) {}

  // ---- Chance ----

  int below(int bound) { return static_cast<int>(random_.below(static_cast<unsigned>(bound))); }
  int some_id() { return std::max(1, model_.last - 12 + below(14)); }
  std::vector<int> some_ids() {
    std::vector<int> ids(static_cast<std::size_t>(1 + below(3)));
    for (int& id : ids) id = some_id();
    return ids;
  }
  static std::string joined(const std::vector<int>& ids) {
    std::string text;
    for (const int id : ids) text += " " + id_text(id);
    return text;
  }
  std::string some_group() { return std::string(1, static_cast<char>('g' + below(2))); }
  std::string some_consumer() { return std::string(1, static_cast<char>('A' + below(3))); }
  std::int64_t now_ms() const { return now().time_since_epoch().count(); }

  // The group, which is in the model, or null after checking that the command fails.
  ModelGroup* group_or_error(const std::string& name, const std::string& line) {
    const auto found = model_.groups.find(name);
    if (found != model_.groups.end()) return &found->second;
    const std::string reply = flat(line);
    EXPECT_TRUE(reply.starts_with("(error) NOGROUP")) << line << ": " << reply;
    return nullptr;
  }

  void expect(const std::string& line, const std::string& reply) {
    EXPECT_EQ(flat(line), reply) << line;
    std::string propagated_lines = propagated();
    while (!propagated_lines.empty()) {
      const std::size_t end = std::min(propagated_lines.find("; "), propagated_lines.size());
      replica_.apply(propagated_lines.substr(0, end));
      propagated_lines.erase(0, end + 2);
    }
  }

  // ---- Entries ----

  void add() {
    const int id = ++model_.last;
    model_.entries.insert(id);
    std::string trim;
    if (below(4) == 0) {
      const int keep = below(20);
      trim = " MAXLEN " + std::to_string(keep);
      while (static_cast<int>(model_.entries.size()) > keep) {
        model_.entries.erase(model_.entries.begin());
      }
    }
    const std::string value = std::to_string(id);
    expect("XADD s" + trim + " " + value + " f " + value, id_text(id));
  }

  void remove() {
    int removed = 0;
    const std::vector<int> ids = some_ids();
    for (const int id : ids) removed += static_cast<int>(model_.entries.erase(id));
    expect("XDEL s" + joined(ids), std::to_string(removed));
  }

  // The model is told what a trim by `~` has removed.
  void trim() {
    const int least = some_id();
    const std::size_t before = model_.entries.size();
    flat("XTRIM s MINID ~ " + std::to_string(least));
    const std::string told = propagated();
    if (told.empty()) return;
    replica_.apply(told);
    while (!model_.entries.empty() && *model_.entries.begin() < least) {
      const std::string first = id_text(*model_.entries.begin());
      if (flat("XRANGE s " + first + " " + first) != "[]") break;
      model_.entries.erase(model_.entries.begin());
    }
    EXPECT_LT(model_.entries.size(), before);
  }

  // ---- Groups ----

  void make_group() {
    const std::string name = some_group();
    const int last = some_id();
    const bool is_new = model_.groups.try_emplace(name, ModelGroup{last, {}, {}}).second;
    expect("XGROUP CREATE s " + name + " " + id_text(last),
           is_new ? "OK" : "(error) BUSYGROUP Consumer Group name already exists");
  }

  void change_group() {
    const std::string name = some_group();
    const int last = some_id();
    const std::string line = "XGROUP SETID s " + name + " " + id_text(last);
    ModelGroup* const group = group_or_error(name, line);
    if (group == nullptr) return;
    group->last = last;
    expect(line, "OK");
  }

  void remove_group() {
    const std::string name = some_group();
    expect("XGROUP DESTROY s " + name, model_.groups.erase(name) > 0 ? "1" : "0");
  }

  void remove_consumer() {
    const std::string name = some_group();
    const std::string consumer = some_consumer();
    const std::string line = "XGROUP DELCONSUMER s " + name + " " + consumer;
    ModelGroup* const group = group_or_error(name, line);
    if (group == nullptr) return;
    group->consumers.erase(consumer);
    const auto removed = std::erase_if(
        group->pending, [&](const auto& item) { return item.second.consumer == consumer; });
    expect(line, std::to_string(removed));
  }

  // ---- Delivery ----

  void read_new() {
    const std::string name = some_group();
    const std::string consumer = some_consumer();
    const bool acknowledges = below(4) == 0;
    const std::size_t most = static_cast<std::size_t>(1 + below(4));
    const std::string line = "XREADGROUP GROUP " + name + " " + consumer + " COUNT " +
                             std::to_string(most) + (acknowledges ? " NOACK" : "") + " STREAMS s >";
    ModelGroup* const group = group_or_error(name, line);
    if (group == nullptr) return;
    group->consumers.insert(consumer);
    std::vector<std::string> read;
    for (auto next = model_.entries.upper_bound(group->last);
         next != model_.entries.end() && read.size() < most; ++next) {
      read.push_back(entry_text(*next));
      group->last = *next;
      if (!acknowledges) group->pending[*next] = {consumer, now_ms(), 1};
    }
    expect(line, read.empty() ? "(nil)" : "[[s " + list_text(read) + "]]");
  }

  void read_history() {
    const std::string name = some_group();
    const std::string consumer = some_consumer();
    const int after = some_id();
    const std::string line =
        "XREADGROUP GROUP " + name + " " + consumer + " COUNT 3 STREAMS s " + id_text(after);
    ModelGroup* const group = group_or_error(name, line);
    if (group == nullptr) return;
    group->consumers.insert(consumer);
    std::vector<std::string> read;
    for (auto next = group->pending.upper_bound(after);
         next != group->pending.end() && read.size() < 3; ++next) {
      auto& [id, pending] = *next;
      if (pending.consumer != consumer) continue;
      if (model_.entries.contains(id)) {
        pending = {consumer, now_ms(), pending.deliveries + 1};
        read.push_back(entry_text(id));
      } else {
        read.push_back("[" + id_text(id) + " (nil)]");
      }
    }
    expect(line, "[[s " + list_text(read) + "]]");
  }

  void acknowledge() {
    const std::string name = some_group();
    const std::vector<int> ids = some_ids();
    const auto group = model_.groups.find(name);
    std::size_t count = 0;
    for (const int id : ids) {
      if (group != model_.groups.end()) count += group->second.pending.erase(id);
    }
    expect("XACK s " + name + joined(ids), std::to_string(count));
  }

  void claim() {
    const std::string name = some_group();
    const std::string consumer = some_consumer();
    const int idle = below(2) * below(30);
    const bool forces = below(3) == 0;
    const bool replies_ids = below(2) == 0;
    const int retry = below(3) == 0 ? below(9) : -1;
    const int shift = below(3) == 0 ? below(20) : 0;
    const std::vector<int> ids = some_ids();
    const std::string line = "XCLAIM s " + name + " " + consumer + " " + std::to_string(idle) +
                             joined(ids) + (forces ? " FORCE" : "") +
                             (replies_ids ? " JUSTID" : "") +
                             (retry >= 0 ? " RETRYCOUNT " + std::to_string(retry) : "") +
                             (shift > 0 ? " IDLE " + std::to_string(shift) : "");
    ModelGroup* const group = group_or_error(name, line);
    if (group == nullptr) return;
    group->consumers.insert(consumer);
    std::vector<std::string> claimed;
    for (const int id : ids) {
      const auto found = group->pending.find(id);
      const bool is_pending = found != group->pending.end();
      if (!model_.entries.contains(id)) {
        group->pending.erase(id);
        continue;
      }
      if (is_pending ? now_ms() - found->second.delivered < idle : !forces) continue;
      int deliveries = is_pending ? found->second.deliveries : 1;
      if (!replies_ids) ++deliveries;
      if (retry >= 0) deliveries = retry;
      group->pending[id] = {consumer, now_ms() - shift, deliveries};
      claimed.push_back(replies_ids ? id_text(id) : entry_text(id));
    }
    expect(line, list_text(claimed));
  }

  void claim_all() {
    const std::string name = some_group();
    const std::string consumer = some_consumer();
    const int idle = below(2) * below(30);
    const int from = some_id();
    int left = 1 + below(3);
    const std::string line = "XAUTOCLAIM s " + name + " " + consumer + " " + std::to_string(idle) +
                             " " + id_text(from) + " COUNT " + std::to_string(left);
    ModelGroup* const group = group_or_error(name, line);
    if (group == nullptr) return;
    group->consumers.insert(consumer);
    std::vector<std::string> claimed;
    std::vector<std::string> lost;
    auto next = group->pending.lower_bound(from);
    for (int looks = 10 * left; looks > 0 && left > 0 && next != group->pending.end(); --looks) {
      const auto here = next++;
      auto& [id, pending] = *here;
      if (!model_.entries.contains(id)) {
        lost.push_back(id_text(id));
        group->pending.erase(here);
        --left;
      } else if (now_ms() - pending.delivered >= idle) {
        pending = {consumer, now_ms(), pending.deliveries + 1};
        claimed.push_back(entry_text(id));
        --left;
      }
    }
    const std::string cursor = next == group->pending.end() ? "0-0" : id_text(next->first);
    expect(line, "[" + cursor + " " + list_text(claimed) + " " + list_text(lost) + "]");
  }

  // Any of these.
  void step() {
    struct Choice {
      int weight;
      void (StreamModelTest::*step)();
    };
    constexpr Choice kChoices[] = {
        {30, &StreamModelTest::add},
        {4, &StreamModelTest::remove},
        {2, &StreamModelTest::trim},
        {4, &StreamModelTest::make_group},
        {3, &StreamModelTest::change_group},
        {1, &StreamModelTest::remove_group},
        {2, &StreamModelTest::remove_consumer},
        {25, &StreamModelTest::read_new},
        {10, &StreamModelTest::read_history},
        {8, &StreamModelTest::acknowledge},
        {10, &StreamModelTest::claim},
        {8, &StreamModelTest::claim_all},
    };
    int chance = 0;
    for (const Choice& choice : kChoices) chance += choice.weight;
    chance = below(chance);
    for (const Choice& choice : kChoices) {
      if ((chance -= choice.weight) < 0) return (this->*choice.step)();
    }
  }

  // ---- Checks ----

  void check() {
    std::vector<std::string> entries;
    for (const int id : model_.entries) entries.push_back(entry_text(id));
    ASSERT_EQ(flat("XRANGE s - +"), list_text(entries));
    std::reverse(entries.begin(), entries.end());
    ASSERT_EQ(flat("XREVRANGE s + -"), list_text(entries));
    for (const auto& [name, group] : model_.groups) {
      std::vector<std::string> pending;
      for (const auto& [id, item] : group.pending) {
        pending.push_back("[" + id_text(id) + " " + item.consumer + " " +
                          std::to_string(now_ms() - item.delivered) + " " +
                          std::to_string(item.deliveries) + "]");
      }
      ASSERT_EQ(flat("XPENDING s " + name + " - + 1000"), list_text(pending));
      const std::string info = flat("XINFO GROUPS s");
      const std::string shown =
          "[name " + name + " consumers " + std::to_string(group.consumers.size()) + " pending " +
          std::to_string(group.pending.size()) + " last-delivered-id " + id_text(group.last) + " ";
      ASSERT_NE(info.find(shown), info.npos) << info << " lacks " << shown;
    }
    ASSERT_EQ(StreamReplica::without_times(flat("XINFO STREAM s FULL COUNT 0")), replica_.state());
    ASSERT_EQ(database().check_invariants(), "");
  }

  Random random_{7};
  Model model_;
  StreamReplica replica_;
};

TEST_F(StreamModelTest, GroupsAndPendingEntriesAreThoseOfTheModelAndOfTheReplica) {
  add();
  for (int i = 0; i < 5000 && !HasFailure(); ++i) {
    step();
    if (below(5) == 0) advance(Millis(below(20)));
    if (i % 5 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(check());
  }
}

}  // namespace stream_model_test
}  // namespace mayfly
