// SPDX-License-Identifier: Apache-2.0
// Random commands on lists against deques: replies, events, and what a replica makes of what is
// propagated.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/call_fixture.h"
#include "commands/members/members_model_fixture.h"
#include "mayfly/random.h"

namespace mayfly {
namespace list_model_test {

using Elements = std::deque<std::string>;
using Texts = std::vector<std::string>;

struct ListPlan {
  int fill;
  std::uint64_t seed;
};

class ListModelTest : public CallFixture, public testing::WithParamInterface<ListPlan> {
 protected:
  ListModelTest() : CallFixture(options()), random_(GetParam().seed), replica_(options()) {}

  static KeyspaceOptions options() {
    KeyspaceOptions options;
    options.list_limits.fill = GetParam().fill;
    return options;
  }

  // ---- Chance ----

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool is_lucky() { return below(2) == 0; }
  std::string some_key() { return std::string(1, static_cast<char>('k' + below(3))); }
  // Short texts and numbers, each several times in a list; seldom a large one.
  std::string some_element() {
    static const Texts kTexts = {"a", "b", "c", "1", "2", "-7", "007", "123456789012"};
    if (below(60) == 0) return std::string(below(10'000), 'x') + "y";
    return kTexts[below(kTexts.size())];
  }
  Texts some_elements() {
    Texts texts(1 + below(below(8) == 0 ? 40 : 4));
    for (std::string& text : texts) text = some_element();
    return texts;
  }
  std::int64_t some_index() { return static_cast<std::int64_t>(below(24)) - 12; }
  static std::string joined(const Texts& texts) {
    std::string line;
    for (const std::string& text : texts) line += " " + text;
    return line;
  }

  // ---- The model ----

  bool has(const std::string& key) { return lists_.contains(key); }
  static std::string bulk(const std::string& text) { return "\"" + text + "\""; }
  static std::string number(std::int64_t value) { return "(integer) " + std::to_string(value); }
  template <class List, class Write>
  static std::string array(const List& list, Write write) {
    std::string text = "[";
    for (const auto& item : list) text += (text.size() > 1 ? ", " : "") + write(item);
    return text + "]";
  }
  template <class List>
  static std::string bulks(const List& list) {
    return array(list, bulk);
  }
  void event(const std::string& name, const std::string& key) {
    expected_ += (expected_.empty() ? "" : " ") + name + ":" + key;
  }

  Elements& make(const std::string& key) {
    if (!has(key)) event("n:new", key);
    return lists_[key];
  }
  void remove_if_empty(const std::string& key) {
    if (!lists_[key].empty()) return;
    lists_.erase(key);
    event("g:del", key);
  }
  static void add(Elements& list, bool is_left, const std::string& text) {
    is_left ? list.push_front(text) : list.push_back(text);
  }
  static std::string take(Elements& list, bool is_left) {
    const std::string text = is_left ? list.front() : list.back();
    is_left ? list.pop_front() : list.pop_back();
    return text;
  }
  Texts take_some(const std::string& key, bool is_left, std::size_t count) {
    Texts taken;
    while (taken.size() < count && !lists_[key].empty())
      taken.push_back(take(lists_[key], is_left));
    event(is_left ? "l:lpop" : "l:rpop", key);
    remove_if_empty(key);
    return taken;
  }
  // The elements from start to stop: the index of the first, and of the one behind the last.
  static std::pair<std::int64_t, std::int64_t> range(const Elements& list, std::int64_t start,
                                                     std::int64_t stop) {
    const auto size = static_cast<std::int64_t>(list.size());
    if (start < 0) start = std::max<std::int64_t>(start + size, 0);
    if (stop < 0) stop += size;
    stop = std::min(stop, size - 1);
    return start > stop ? std::pair{size, size} : std::pair{start, stop + 1};
  }

  // ---- Comparing ----

  void miss(const std::string& key) {
    if (!has(key)) event("m:keymiss", key);
  }
  void expect(const std::string& line, const std::string& reply) {
    ASSERT_EQ(run(line), reply) << shortened(line);
    ASSERT_EQ(events(), expected_) << shortened(line);
    replica_.hear(propagated());
  }
  static std::string shortened(const std::string& line) { return line.substr(0, 200); }

  void check_contents() {
    for (const std::string key : {"k", "l", "m"}) {
      const std::string expected = bulks(lists_.contains(key) ? lists_[key] : Elements{});
      ASSERT_EQ(run("LRANGE " + key + " 0 -1"), expected);
      ASSERT_EQ(replica_.ask("LRANGE " + key + " 0 -1", now()), expected);
    }
    for (const auto& [key, list] : lists_) ASSERT_FALSE(list.empty()) << key;
    ASSERT_EQ(database().stored(), lists_.size());
    ASSERT_EQ(database().check_invariants(), "");
  }

  // ---- Steps ----

  void push() {
    const std::string key = some_key();
    const bool is_left = is_lucky();
    const bool needs_key = below(4) == 0;
    const Texts texts = some_elements();
    const std::string line = (is_left ? "LPUSH" : "RPUSH") + std::string(needs_key ? "X " : " ");
    if (needs_key && !has(key)) return expect(line + key + joined(texts), number(0));
    Elements& list = make(key);
    for (const std::string& text : texts) add(list, is_left, text);
    event(is_left ? "l:lpush" : "l:rpush", key);
    expect(line + key + joined(texts), number(static_cast<std::int64_t>(list.size())));
  }

  void pop() {
    const std::string key = some_key();
    const bool is_left = is_lucky();
    const bool has_count = is_lucky();
    const std::size_t count = has_count ? below(12) : 1;
    const std::string line = (is_left ? "LPOP " : "RPOP ") + key;
    const std::string words = line + (has_count ? " " + std::to_string(count) : "");
    if (!has(key)) return expect(words, "(nil)");
    if (count == 0) return expect(words, "[]");
    const Texts taken = take_some(key, is_left, count);
    expect(words, has_count ? bulks(taken) : bulk(taken[0]));
  }

  void pop_any() {
    const std::string first = some_key();
    const std::string second = some_key();
    const bool is_left = is_lucky();
    const std::uint64_t kind = below(3);
    const std::size_t count = kind == 0 ? 1 : 1 + below(6);
    const std::string end =
        first + " " + second + (is_left ? " LEFT COUNT " : " RIGHT COUNT ") + std::to_string(count);
    const std::string line = kind == 0
                                 ? (is_left ? "BLPOP " : "BRPOP ") + first + " " + second + " 0"
                             : kind == 1 ? "LMPOP 2 " + end
                                         : "BLMPOP 0 2 " + end;
    const std::string key = has(first) ? first : second;
    if (!has(key)) return expect(line, "(nil)");
    const Texts taken = take_some(key, is_left, count);
    expect(line, "[" + bulk(key) + ", " + (kind == 0 ? bulk(taken[0]) : bulks(taken)) + "]");
  }

  void move() {
    const std::string from = some_key();
    const std::string to = some_key();
    const bool is_short = is_lucky();
    const bool is_blocking = is_lucky();
    const bool takes_left = !is_short && is_lucky();
    const bool adds_left = is_short || is_lucky();
    std::string line = is_blocking ? "B" : "";
    line += (is_short ? "RPOPLPUSH " : "LMOVE ") + from + " " + to;
    if (!is_short) line += takes_left ? " LEFT" : " RIGHT";
    if (!is_short) line += adds_left ? " LEFT" : " RIGHT";
    if (is_blocking) line += " 0";
    if (!has(from)) return expect(line, "(nil)");
    const std::string text = take(lists_[from], takes_left);
    add(make(to), adds_left, text);
    event(adds_left ? "l:lpush" : "l:rpush", to);
    event(takes_left ? "l:lpop" : "l:rpop", from);
    remove_if_empty(from);
    expect(line, bulk(text));
  }

  void set() {
    const std::string key = some_key();
    const std::int64_t index = some_index();
    const std::string text = some_element();
    const std::string line = "LSET " + key + " " + std::to_string(index) + " " + text;
    if (!has(key)) return expect(line, "(error) ERR no such key");
    Elements& list = lists_[key];
    const auto size = static_cast<std::int64_t>(list.size());
    if (index >= size || index < -size) return expect(line, "(error) ERR index out of range");
    list[static_cast<std::size_t>(index < 0 ? index + size : index)] = text;
    event("l:lset", key);
    expect(line, "OK");
  }

  void insert() {
    const std::string key = some_key();
    const bool is_after = is_lucky();
    const std::string pivot = some_element();
    const std::string text = some_element();
    const std::string line =
        "LINSERT " + key + (is_after ? " AFTER " : " BEFORE ") + pivot + " " + text;
    if (!has(key)) return expect(line, number(0));
    Elements& list = lists_[key];
    auto at = std::ranges::find(list, pivot);
    if (at == list.end()) return expect(line, number(-1));
    list.insert(is_after ? at + 1 : at, text);
    event("l:linsert", key);
    expect(line, number(static_cast<std::int64_t>(list.size())));
  }

  void remove() {
    const std::string key = some_key();
    const std::string text = some_element();
    const std::int64_t count = static_cast<std::int64_t>(below(7)) - 3;
    const std::string line = "LREM " + key + " " + std::to_string(count) + " " + text;
    if (!has(key)) return expect(line, number(0));
    Elements& list = lists_[key];
    if (count < 0) std::ranges::reverse(list);
    std::int64_t removed = 0;
    const std::int64_t most = count == 0 ? 1'000'000 : std::abs(count);
    std::erase_if(list, [&](const std::string& element) {
      return element == text && removed < most && ++removed > 0;
    });
    if (count < 0) std::ranges::reverse(list);
    if (removed > 0) event("l:lrem", key);
    if (removed > 0) remove_if_empty(key);
    expect(line, number(removed));
  }

  void trim() {
    const std::string key = some_key();
    const std::int64_t start = some_index();
    const std::int64_t stop = is_lucky() ? some_index() : -1;
    const std::string line =
        "LTRIM " + key + " " + std::to_string(start) + " " + std::to_string(stop);
    if (!has(key)) return expect(line, "OK");
    Elements& list = lists_[key];
    const auto [first, end] = range(list, start, stop);
    list = Elements(list.begin() + first, list.begin() + end);
    event("l:ltrim", key);
    remove_if_empty(key);
    expect(line, "OK");
  }

  void read() {
    const std::string key = some_key();
    const std::int64_t start = some_index();
    const std::int64_t stop = some_index();
    const Elements list = has(key) ? lists_[key] : Elements{};
    miss(key);
    switch (below(3)) {
      case 0:
        return expect("LLEN " + key, number(static_cast<std::int64_t>(list.size())));
      case 1: {
        const auto [first, end] = range(list, start, start);
        const bool is_there = start >= -static_cast<std::int64_t>(list.size()) && first < end;
        return expect("LINDEX " + key + " " + std::to_string(start),
                      is_there ? bulk(list[static_cast<std::size_t>(first)]) : "(nil)");
      }
      default: {
        const auto [first, end] = range(list, start, stop);
        expect("LRANGE " + key + " " + std::to_string(start) + " " + std::to_string(stop),
               bulks(Elements(list.begin() + first, list.begin() + end)));
      }
    }
  }

  void find() {
    const std::string key = some_key();
    const std::string text = some_element();
    const bool is_backward = is_lucky();
    const std::size_t rank = 1 + below(3);
    const std::size_t most = below(8);
    const bool has_count = is_lucky();
    const std::size_t count = has_count ? below(4) : 1;
    std::string line = "LPOS " + key + " " + text + " RANK " + (is_backward ? "-" : "");
    line += std::to_string(rank) + " MAXLEN " + std::to_string(most);
    if (has_count) line += " COUNT " + std::to_string(count);
    const Elements list = has(key) ? lists_[key] : Elements{};
    miss(key);
    std::vector<std::int64_t> found;
    std::size_t matches = 0;
    for (std::size_t i = 0; i < list.size() && (most == 0 || i < most); ++i) {
      const std::size_t index = is_backward ? list.size() - 1 - i : i;
      if (list[index] != text || ++matches < rank) continue;
      if (count == 0 || found.size() < count) found.push_back(static_cast<std::int64_t>(index));
    }
    const auto none = [&] { return found.empty() ? "(nil)" : number(found[0]); };
    expect(line, has_count ? array(found, number) : none());
  }

  void sort() {
    const std::string from = some_key();
    const bool sorts = is_lucky();
    const bool is_descending = is_lucky();
    const std::size_t first = below(4);
    const std::size_t count = below(10);
    std::string line = "SORT " + from + (sorts ? " ALPHA" : " BY nosort");
    if (is_descending) line += " DESC";
    line += " LIMIT " + std::to_string(first) + " " + std::to_string(count);
    Elements list = has(from) ? lists_[from] : Elements{};
    miss(from);
    if (sorts) std::ranges::sort(list);
    if (is_descending) std::ranges::reverse(list);
    list.erase(list.begin(), list.begin() + static_cast<int>(std::min(first, list.size())));
    list.resize(std::min(count, list.size()));
    if (is_lucky()) return expect(line, bulks(list));
    const std::string to = some_key();
    if (list.empty()) {
      if (lists_.erase(to) > 0) event("g:del", to);
    } else {
      make(to) = list;
      event("l:sortstore", to);
    }
    expect(line + " STORE " + to, number(static_cast<std::int64_t>(list.size())));
  }

  Random random_;
  std::map<std::string, Elements> lists_;
  std::string expected_;
  ModelReplica replica_;
};

TEST_P(ListModelTest, CommandsAgreeWithDeques) {
  const std::vector<std::function<void()>> steps = {
      [&] { push(); },   [&] { push(); },   [&] { push(); }, [&] { pop(); },  [&] { pop_any(); },
      [&] { move(); },   [&] { move(); },   [&] { set(); },  [&] { set(); },  [&] { insert(); },
      [&] { insert(); }, [&] { remove(); }, [&] { trim(); }, [&] { read(); }, [&] { read(); },
      [&] { find(); },   [&] { sort(); },
  };
  for (int step = 0; step < 4000; ++step) {
    expected_.clear();
    steps[below(steps.size())]();
    if (step % 20 == 0) check_contents();
    ASSERT_FALSE(HasFatalFailure()) << "in step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, ListModelTest,
                         testing::Values(ListPlan{-2, 1}, ListPlan{-1, 2}, ListPlan{1, 3},
                                         ListPlan{4, 4}, ListPlan{16, 5}),
                         [](const auto& plan) { return "plan_" + std::to_string(plan.index); });

}  // namespace list_model_test
}  // namespace mayfly
