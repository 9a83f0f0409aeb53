// SPDX-License-Identifier: Apache-2.0
// A window over LMDB's state shows what a replay of the whole log would: by key, in order, by
// deadline, and in numbers.

#include "store/table/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/table/window_cursor.h"

namespace mayfly::internal {
namespace window_test {

using State = InTables::State;

Time at(std::int64_t ms) { return Time(Millis(ms)); }

Operation put(std::string_view key, std::string_view value, Time deadline = kNever) {
  return {.family = 1, .deadline = deadline, .key = key, .value = value};
}
Operation erase(std::string_view key) {
  return {.family = 1, .kind = OperationKind::erase, .was_there = true, .key = key, .value = {}};
}
Operation touch(std::string_view key, Time deadline) {
  return {.family = 1,
          .kind = OperationKind::deadline,
          .was_there = true,
          .deadline = deadline,
          .key = key,
          .value = {}};
}

// The tables of one process, which follows the log.
class Tables {
 public:
  explicit Tables(Position begin) { set_->tables.push_back(table_at(begin)); }

  void add(const Operation& operation, Position position) {
    set_->tables.back().table->add(operation, position);
  }
  // Ends the last table and begins another.
  void cut(const Cut& cut, Position end) {
    set_ = make_ref<TableSet>(*set_);
    set_->tables.back().cut = cut;
    set_->tables.push_back(table_at(end));
  }
  // Gives up what LMDB has.
  void forget(Position applied) {
    set_ = make_ref<TableSet>(*set_);
    std::erase_if(set_->tables, [applied](const TableEntry& entry) {
      return entry.cut && entry.cut->position < applied;
    });
  }
  Window window(Position applied, Position tail) const { return {set_, applied, tail}; }

 private:
  static TableEntry table_at(Position begin) {
    return {.table = make_ref<MemTable>(begin), .begin = begin};
  }

  Ref<TableSet> set_ = make_ref<TableSet>();
};

std::vector<std::string> keys_of(const Window& window) {
  std::vector<std::string> keys;
  WindowKeys cursor(window, 1);
  for (bool more = cursor.first(); more; more = cursor.next()) keys.emplace_back(cursor.key());
  return keys;
}

std::vector<std::string> deadlines_of(const Window& window, Time from = at(0)) {
  std::vector<std::string> keys;
  WindowDeadlines cursor(window, 1);
  for (bool more = cursor.seek(from); more; more = cursor.next()) keys.emplace_back(cursor.key());
  return keys;
}

using Names = std::vector<std::string>;

TEST(WindowTest, EmptyWindowKnowsNothing) {
  Tables tables(10);
  tables.add(put("a", "1", at(5)), 10);
  for (const Window& window : {Window(), tables.window(10, 10), tables.window(20, 20)}) {
    EXPECT_TRUE(window.empty());
    EXPECT_EQ(window.find(1, "a").state, State::unknown);
    EXPECT_EQ(window.find(1, "a").newest, nullptr);
    EXPECT_EQ(window.count(1).entries, 0);
    WindowKeys keys(window, 1);
    EXPECT_TRUE(keys.empty());
    EXPECT_FALSE(keys.first() || keys.last() || keys.seek("") || keys.seek_before("z"));
    EXPECT_FALSE(keys.next() || keys.prev());
    EXPECT_EQ(deadlines_of(window), Names());
  }
  WindowKeys none;
  EXPECT_FALSE(none.first() || none.last() || none.seek("") || none.next() || none.prev());
  WindowDeadlines no_deadlines;
  EXPECT_FALSE(no_deadlines.seek(at(0)) || no_deadlines.next());
}

TEST(WindowTest, RecordsBeforeAppliedDoNotCount) {
  Tables tables(10);
  tables.add(put("a", "1", at(5)), 10);
  tables.add(put("b", "2", at(5)), 20);
  const Window window = tables.window(20, 30);
  EXPECT_EQ(window.find(1, "a").state, State::unknown);
  EXPECT_EQ(window.find(1, "b").state, State::there);
  EXPECT_EQ(window.count(1).entries, 1);
  EXPECT_EQ(window.count(1).with_deadline, 1);
  EXPECT_EQ(keys_of(window), Names({"b"}));
  EXPECT_EQ(deadlines_of(window), Names({"b"}));
}

TEST(WindowTest, RecordsFromTheTailOnDoNotCount) {
  Tables tables(10);
  tables.add(put("a", "1", at(5)), 10);
  tables.add(put("a", "2", at(7)), 20);
  tables.add(put("b", "3", at(5)), 20);
  const Window window = tables.window(10, 20);
  ASSERT_EQ(window.find(1, "a").state, State::there);
  EXPECT_EQ(window.find(1, "a").value->value(), "1");
  EXPECT_EQ(window.find(1, "b").state, State::unknown);
  EXPECT_EQ(window.count(1).entries, 1);
  EXPECT_EQ(keys_of(window), Names({"a"}));
  EXPECT_EQ(deadlines_of(window), Names({"a"}));
}

TEST(WindowTest, CutErasesWhatIsDueForThoseBehindIt) {
  Tables tables(10);
  tables.add(put("due", "1", at(50)), 10);
  tables.add(put("later", "2", at(51)), 10);
  tables.add(put("never", "3"), 10);
  const Window before = tables.window(10, 20);
  tables.cut({.position = 20, .since = 10, .moment = at(50)}, 30);
  for (const Window& window : {before, tables.window(10, 20)}) {
    EXPECT_EQ(window.find(1, "due").state, State::there);
    EXPECT_EQ(window.count(1).entries, 3);
    EXPECT_EQ(deadlines_of(window), Names({"due", "later"}));
  }
  const Window behind = tables.window(10, 30);
  EXPECT_EQ(behind.find(1, "due").state, State::absent);
  EXPECT_NE(behind.find(1, "due").newest, nullptr);
  EXPECT_EQ(behind.find(1, "later").state, State::there);
  EXPECT_EQ(behind.find(1, "never").state, State::there);
  EXPECT_EQ(behind.count(1).entries, 2);
  EXPECT_EQ(behind.count(1).with_deadline, 1);
  EXPECT_EQ(keys_of(behind), Names({"due", "later", "never"}));
  EXPECT_EQ(deadlines_of(behind), Names({"later"}));
}

TEST(WindowTest, CutSparesWhatLiesBeforeItsRange) {
  Tables tables(10);
  tables.add(put("a", "1", at(5)), 10);
  tables.add(put("b", "2", at(5)), 20);
  tables.cut({.position = 30, .since = 20, .moment = at(9)}, 40);
  const Window window = tables.window(10, 40);
  EXPECT_EQ(window.find(1, "a").state, State::there);
  EXPECT_EQ(window.find(1, "b").state, State::absent);
  EXPECT_EQ(window.count(1).entries, 1);
  EXPECT_EQ(deadlines_of(window), Names({"a"}));
}

TEST(WindowTest, CutSparesWhatLivesOnByItsNewestVersion) {
  Tables tables(10);
  tables.add(put("a", "1", at(5)), 10);
  tables.add(touch("a", at(20)), 20);
  tables.cut({.position = 30, .since = 10, .moment = at(9)}, 40);
  const Window window = tables.window(10, 40);
  EXPECT_EQ(window.find(1, "a").state, State::there);
  EXPECT_EQ(window.find(1, "a").deadline, at(20));
  EXPECT_EQ(window.count(1).entries, 1);
  EXPECT_EQ(deadlines_of(window), Names({"a"}));
}

TEST(WindowTest, ChangedDeadlineHasTheValueOfTheNewestPut) {
  Tables tables(10);
  tables.add(put("a", "old"), 10);
  tables.add(put("a", "new", at(30)), 20);
  tables.cut({.position = 30, .since = 10, .moment = at(9)}, 40);
  tables.add(touch("a", at(40)), 40);
  tables.add(touch("a", at(50)), 50);
  const Window window = tables.window(10, 60);
  const InTables found = window.find(1, "a");
  EXPECT_EQ(found.state, State::there);
  EXPECT_EQ(found.deadline, at(50));
  ASSERT_NE(found.value, nullptr);
  EXPECT_EQ(found.value->value(), "new");
  EXPECT_EQ(found.newest->position, 50u);
  // LMDB has the value.
  for (const Window& later : {tables.window(30, 60), tables.window(50, 60)}) {
    EXPECT_EQ(later.find(1, "a").state, State::there);
    EXPECT_EQ(later.find(1, "a").deadline, at(50));
    EXPECT_EQ(later.find(1, "a").value, nullptr);
  }
}

TEST(WindowTest, OwnChangesComeFirst) {
  Tables tables(10);
  tables.add(put("a", "1", at(30)), 10);
  tables.add(put("b", "2"), 10);
  tables.add(put("d", "4"), 10);
  Window window = tables.window(10, 20);
  MemTable own(1);
  window.set_own(&own);
  own.add(touch("a", at(20)), 1);
  own.add(erase("b"), 2);
  own.add(put("c", "3", at(10)), 3);
  EXPECT_EQ(window.find(1, "a").deadline, at(20));
  ASSERT_NE(window.find(1, "a").value, nullptr);
  EXPECT_EQ(window.find(1, "a").value->value(), "1");
  EXPECT_EQ(window.find(1, "b").state, State::absent);
  EXPECT_EQ(window.find(1, "c").state, State::there);
  EXPECT_EQ(window.count(1).entries, 3);
  EXPECT_EQ(keys_of(window), Names({"a", "b", "c", "d"}));
  EXPECT_EQ(deadlines_of(window), Names({"c", "a"}));
  EXPECT_EQ(deadlines_of(window, at(11)), Names({"a"}));

  // Its positions count, wherever the window lies, even if it is empty.
  Window empty = tables.window(500, 500);
  empty.set_own(&own);
  EXPECT_EQ(keys_of(empty), Names({"a", "b", "c"}));
  EXPECT_EQ(empty.find(1, "a").value, nullptr);
}

TEST(WindowTest, CountsOfOneTableDifferByApplied) {
  Tables tables(10);
  for (Position position = 10; position < 50; position += 10) {
    tables.add(put(std::to_string(position), "", at(5)), position);
  }
  tables.cut({.position = 50, .since = 10, .moment = at(5)}, 60);
  for (int round = 0; round < 2; ++round) {
    for (Position applied = 10; applied < 60; applied += 10) {
      // What the window has, the cut drops; before it, it is there.
      EXPECT_EQ(tables.window(applied, 60).count(1).entries, 0);
      EXPECT_EQ(tables.window(applied, 50).count(1).entries,
                static_cast<std::int64_t>((50 - applied) / 10));
      EXPECT_EQ(tables.window(applied, 60).count(2).entries, 0);
    }
  }
}

TEST(WindowTest, CursorOnAKeyOfSeveralTablesTurns) {
  Tables tables(10);
  tables.add(put("a", "1"), 10);
  tables.add(put("b", "1"), 10);
  tables.cut({.position = 20, .since = 10, .moment = at(5)}, 30);
  tables.add(put("b", "2"), 30);
  tables.add(put("c", "2"), 30);
  tables.add(put("bb", "not yet"), 40);
  WindowKeys keys(tables.window(10, 40), 1);
  ASSERT_TRUE(keys.seek("aa"));
  EXPECT_EQ(keys.key(), "b");
  EXPECT_EQ(keys.what().value->value(), "2");
  ASSERT_TRUE(keys.prev());
  EXPECT_EQ(keys.key(), "a");
  ASSERT_TRUE(keys.next());
  EXPECT_EQ(keys.key(), "b");
  ASSERT_TRUE(keys.next());
  EXPECT_EQ(keys.key(), "c");
  ASSERT_TRUE(keys.prev());
  EXPECT_EQ(keys.key(), "b");
  ASSERT_TRUE(keys.seek_before("bz"));
  EXPECT_EQ(keys.key(), "b");
  ASSERT_TRUE(keys.last());
  EXPECT_FALSE(keys.next());
  EXPECT_FALSE(keys.valid());
  EXPECT_FALSE(keys.prev());
}

// ---- The model: a log as a list, and its replay into a map.

using Key = std::pair<std::uint32_t, std::string>;  // with the family

struct Entry {
  std::string value;
  Time deadline = kNever;
  Position newest = 0;  // where its newest version stands; 0: in LMDB
};
using Entries = std::map<Key, Entry>;

struct Change {
  OperationKind kind{};
  Key key;
  std::string value;
  Time deadline = kNever;
  bool was_there = false, had_deadline = false;

  Operation operation() const {
    return {key.first, kind, was_there, had_deadline, deadline, key.second, value};
  }
};

struct Record {
  RecordType type{};
  Position position = 0, end = 0;
  std::vector<Change> changes{};  // of a transaction
  Cut cut{};
  Entries direct{};  // of a barrier: LMDB behind it
};

void redo(Entries& entries, const Change& change, Position position) {
  if (change.kind == OperationKind::erase) {
    entries.erase(change.key);
    return;
  }
  Entry& entry = entries[change.key];
  entry.deadline = change.deadline;
  entry.newest = position;
  if (change.kind == OperationKind::put) entry.value = change.value;
}

void redo(Entries& entries, const Record& record) {
  if (record.type == RecordType::barrier) entries = record.direct;
  for (const Change& change : record.changes) redo(entries, change, record.position);
  if (record.type != RecordType::cut) return;
  std::erase_if(entries, [&cut = record.cut](const auto& entry) {
    return entry.second.newest >= cut.since && is_due(entry.second.deadline, cut.moment);
  });
}

const std::vector<std::string>& names() {
  using namespace std::string_literals;
  static const std::vector<std::string> all{"",   "a",    "a\0"s, "a\0b"s, "aa",       "ab",  "b",
                                            "ba", "\x7f", "\x80", "\xff",  "\xff\xff", "long"};
  return all;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  Time moment() { return at(static_cast<std::int64_t>(below(30))); }

  // A change that somebody who sees `entries` can make.
  Change change(const Entries& entries) {
    Change change;
    change.key = {static_cast<std::uint32_t>(1 + below(2)), names()[below(names().size())]};
    const auto old = entries.find(change.key);
    change.was_there = old != entries.end();
    change.had_deadline = change.was_there && old->second.deadline != kNever;
    const std::size_t kind = below(10);
    change.kind = !change.was_there || kind < 5 ? OperationKind::put
                  : kind < 8                    ? OperationKind::deadline
                                                : OperationKind::erase;
    if (change.kind == OperationKind::put) change.value = std::to_string(random_());
    if (change.kind != OperationKind::erase && !one_in(4)) change.deadline = moment();
    return change;
  }

 private:
  std::mt19937_64 random_;
};

// Grows by one random record after another.
class Log {
 public:
  static constexpr Position kBegin = 64;

  void step(Dice& dice) {
    Record record{.position = tail_, .end = tail_ + 8 * (1 + dice.below(4))};
    const std::size_t choice = dice.below(40);
    if (choice < 34) {
      record.type = RecordType::transaction;
      Entries seen = entries_;
      for (std::size_t left = 1 + dice.below(4); left > 0; --left) {
        record.changes.push_back(dice.change(seen));
        redo(seen, record.changes.back(), record.position);
      }
    } else if (choice < 39) {
      record.type = RecordType::cut;
      record.cut = {.position = tail_, .since = since_, .moment = dice.moment()};
    } else {
      record.type = RecordType::barrier;
      record.direct = entries_;
      for (auto& [key, entry] : record.direct) entry = {"direct", dice.moment(), 0};
      if (dice.one_in(2)) record.direct.clear();
    }
    tail_ = record.end;
    redo(entries_, record);
    // A checkpoint without a cut may follow anything.
    if (record.type != RecordType::transaction || dice.one_in(12)) {
      since_ = tail_;
      checkpoints_.push_back(tail_);
    }
    records_.push_back(std::move(record));
  }

  const std::vector<Record>& records() const { return records_; }
  const std::vector<Position>& checkpoints() const { return checkpoints_; }
  Position tail() const { return tail_; }
  Entries replay(Position end) const {
    Entries entries;
    for (const Record& record : records_) {
      if (record.position < end) redo(entries, record);
    }
    return entries;
  }
  bool has_barrier(Position begin, Position end) const {
    return std::ranges::any_of(records_, [&](const Record& record) {
      return record.type == RecordType::barrier && record.position >= begin &&
             record.position < end;
    });
  }

 private:
  std::vector<Record> records_;
  std::vector<Position> checkpoints_{kBegin};  // where LMDB can stand
  Position tail_ = kBegin, since_ = kBegin;
  Entries entries_;
};

// A window, and what it has to show over LMDB's state.
struct Snapshot {
  Window window;
  Entries lmdb;
  Entries now;
  std::set<Key> touched{};  // keys that have a version in the window
  std::set<Key> values{};   // those of them that have a put
  std::unique_ptr<MemTable> own{};

  void add(const Change& change) {
    touched.insert(change.key);
    if (change.kind == OperationKind::put) values.insert(change.key);
  }
};

Snapshot make_snapshot(const Log& log, const Tables& tables, Position applied, Position tail,
                       Dice& dice) {
  Snapshot snapshot{tables.window(applied, tail), log.replay(applied), log.replay(tail)};
  for (const Record& record : log.records()) {
    if (record.position < applied || record.position >= tail) continue;
    for (const Change& change : record.changes) snapshot.add(change);
  }
  if (!dice.one_in(3)) return snapshot;
  snapshot.own = std::make_unique<MemTable>(7);
  snapshot.window.set_own(snapshot.own.get());
  for (std::size_t i = 0, end = dice.below(8); i < end; ++i) {
    const Change change = dice.change(snapshot.now);
    snapshot.own->add(change.operation(), i);
    snapshot.add(change);
    redo(snapshot.now, change, i);
  }
  return snapshot;
}

void check_finds(const Snapshot& snapshot) {
  for (std::uint32_t family = 1; family <= 2; ++family) {
    for (const std::string& name : names()) {
      const Key key{family, name};
      const InTables found = snapshot.window.find(family, name);
      const auto now = snapshot.now.find(key);
      if (!snapshot.touched.contains(key)) {
        ASSERT_EQ(found.state, State::unknown);
        ASSERT_EQ(found.newest, nullptr);
        ASSERT_EQ(now != snapshot.now.end(), snapshot.lmdb.contains(key));
        continue;
      }
      ASSERT_NE(found.newest, nullptr);
      ASSERT_EQ(found.state, now == snapshot.now.end() ? State::absent : State::there);
      if (found.state == State::absent) continue;
      ASSERT_EQ(found.deadline, now->second.deadline);
      ASSERT_EQ(found.newest->position, now->second.newest);
      if (found.value != nullptr) {
        ASSERT_EQ(found.value->value(), now->second.value);
      } else {
        ASSERT_FALSE(snapshot.values.contains(key));
        ASSERT_EQ(snapshot.lmdb.at(key).value, now->second.value);
      }
    }
  }
}

void check_counts(const Snapshot& snapshot) {
  for (std::uint32_t family = 1; family <= 3; ++family) {
    CountChange expected;
    const auto add = [&](const Entries& entries, int sign) {
      for (const auto& [key, entry] : entries) {
        if (key.first != family) continue;
        expected.entries += sign;
        if (entry.deadline != kNever) expected.with_deadline += sign;
      }
    };
    add(snapshot.now, 1);
    add(snapshot.lmdb, -1);
    const CountChange change = snapshot.window.count(family);
    ASSERT_EQ(change.entries, expected.entries);
    ASSERT_EQ(change.with_deadline, expected.with_deadline);
  }
}

// Moves a cursor and an index in a list alike; the index is the size of the list if nowhere.
void check_keys(const Snapshot& snapshot, std::uint32_t family, Dice& dice) {
  std::vector<std::string> keys;
  for (const auto& [of, name] : snapshot.touched) {
    if (of == family) keys.push_back(name);
  }
  WindowKeys cursor(snapshot.window, family);
  const std::size_t nowhere = keys.size();
  std::size_t index = nowhere;
  for (int step = 0; step < 40; ++step) {
    bool moved = false;
    const std::string& name = names()[dice.below(names().size())];
    const std::size_t choice = dice.below(14);
    if (choice == 0) {
      moved = cursor.first();
      index = 0;
    } else if (choice == 1) {
      moved = cursor.last();
      index = keys.empty() ? nowhere : keys.size() - 1;
    } else if (choice == 2) {
      moved = cursor.seek(name);
      index = static_cast<std::size_t>(std::ranges::lower_bound(keys, name) - keys.begin());
    } else if (choice == 3) {
      moved = cursor.seek_before(name);
      index = static_cast<std::size_t>(std::ranges::upper_bound(keys, name) - keys.begin());
      index = index == 0 ? nowhere : index - 1;
    } else if (choice < 9) {
      moved = cursor.next();
      if (index != nowhere) ++index;
    } else {
      moved = cursor.prev();
      if (index != nowhere) index = index == 0 ? nowhere : index - 1;
    }
    ASSERT_EQ(moved, index != nowhere);
    ASSERT_EQ(cursor.valid(), moved);
    if (!moved) continue;
    ASSERT_EQ(cursor.key(), keys[index]);
    ASSERT_EQ(cursor.what().newest, snapshot.window.find(family, keys[index]).newest);
  }
}

void check_deadlines(const Snapshot& snapshot, std::uint32_t family, Time from) {
  std::set<std::pair<Time, std::string>> expected;
  for (const auto& [key, entry] : snapshot.now) {
    if (key.first == family && snapshot.touched.contains(key) && entry.deadline != kNever &&
        entry.deadline >= from) {
      expected.emplace(entry.deadline, key.second);
    }
  }
  WindowDeadlines cursor(snapshot.window, family);
  bool more = cursor.seek(from);
  for (const auto& [deadline, key] : expected) {
    ASSERT_TRUE(more);
    ASSERT_EQ(cursor.deadline(), deadline);
    ASSERT_EQ(cursor.key(), key);
    more = cursor.next();
  }
  ASSERT_FALSE(more || cursor.valid() || cursor.next());
}

void check(const Snapshot& snapshot, Dice& dice) {
  ASSERT_NO_FATAL_FAILURE(check_finds(snapshot));
  ASSERT_NO_FATAL_FAILURE(check_counts(snapshot));
  for (std::uint32_t family = 1; family <= 3; ++family) {
    ASSERT_NO_FATAL_FAILURE(check_keys(snapshot, family, dice));
    ASSERT_NO_FATAL_FAILURE(check_deadlines(snapshot, family, at(0)));
    ASSERT_NO_FATAL_FAILURE(check_deadlines(snapshot, family, dice.moment()));
  }
}

// A process that joined at some position and has followed up to another.
struct Follower {
  Position begin;
  Position end = begin;
  Tables tables{begin};

  void follow(const Log& log, Position upto) {
    for (const Record& record : log.records()) {
      if (record.position < end || record.end > upto) continue;
      for (const Change& change : record.changes) tables.add(change.operation(), record.position);
      if (record.type == RecordType::cut) tables.cut(record.cut, record.end);
      end = record.end;
    }
  }
};

template <class T>
const T& one_of(const std::vector<T>& all, Dice& dice) {
  return all[dice.below(all.size())];
}

// A snapshot that somebody could have: LMDB stands at a checkpoint from which on the follower has
// the log, and no direct commit lies between it and the tail.
std::optional<Snapshot> any_snapshot(const Log& log, const Follower& follower, Dice& dice) {
  const Position applied = one_of(log.checkpoints(), dice);
  const Position tail = dice.one_in(3) ? follower.end : one_of(log.records(), dice).end;
  if (applied < follower.begin || applied > tail || tail > follower.end) return std::nullopt;
  if (log.has_barrier(applied, tail)) return std::nullopt;
  return make_snapshot(log, follower.tables, applied, tail, dice);
}

void run_model(std::uint64_t seed, std::size_t& snapshots) {
  Dice dice(seed);
  Log log;
  std::vector<Follower> followers{{.begin = Log::kBegin}};
  std::vector<Snapshot> kept;
  for (int step = 0; step < 120; ++step) {
    log.step(dice);
    if (dice.one_in(20)) followers.push_back({.begin = one_of(log.checkpoints(), dice)});
    Follower& follower = followers[dice.below(followers.size())];
    follower.follow(log, dice.one_in(2) ? log.tail() : one_of(log.records(), dice).end);
    if (dice.one_in(20)) {
      const Position applied = one_of(log.checkpoints(), dice);
      if (applied > follower.begin && applied <= follower.end) {
        follower.tables.forget(applied);
        follower.begin = applied;
      }
    }
    std::optional<Snapshot> snapshot = any_snapshot(log, follower, dice);
    if (!snapshot) continue;
    ++snapshots;
    ASSERT_NO_FATAL_FAILURE(check(*snapshot, dice)) << "step " << step;
    if (dice.one_in(4)) kept.push_back(std::move(*snapshot));
  }
  // Whatever came since, a snapshot shows the same.
  for (const Snapshot& snapshot : kept) ASSERT_NO_FATAL_FAILURE(check(snapshot, dice));
}

TEST(WindowModelTest, WindowOverLmdbIsTheReplayOfTheLog) {
  std::size_t snapshots = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    ASSERT_NO_FATAL_FAILURE(run_model(seed, snapshots)) << "seed " << seed;
  }
  EXPECT_GT(snapshots, 1000u);
}

}  // namespace window_test
}  // namespace mayfly::internal
