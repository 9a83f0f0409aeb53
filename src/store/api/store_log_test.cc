// SPDX-License-Identifier: Apache-2.0
// What a store promises of its redo log: when there is one, whose it is, what it keeps out of LMDB,
// and that nobody can tell from outside whether an entry is in the one or in the other.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "mayfly/internal/stopwatch.h"
#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/api/store_model_server.h"
#include "store/check/store_damage.h"
#include "store/rows/stored_key.h"
#include "store/txn/catalog.h"

namespace mayfly::internal {
namespace store_log_test {

using namespace std::chrono_literals;
using Rows = std::vector<Shown>;

class StoreLogTest : public OpenStoreFixture {
 protected:
  StoreLogTest() { reopen(); }

  // With a log that is copied and compared soon.
  void reopen(StoreOptions options = {}) {
    options.log_segment_bytes = 4 * kLogSegmentBytesMin;
    OpenStoreFixture::reopen(options);
  }

  std::filesystem::path beside(const char* suffix) const { return path_.string() + suffix; }
  bool has(const char* suffix) const { return std::filesystem::exists(beside(suffix)); }
  StoreStats stats() const { return must(store_.stats()); }

  // The first commit goes straight into LMDB, the second one makes the log.
  void make_log() {
    must(store_.put("first", "1"));
    must(store_.put("first", "2"));
    EXPECT_TRUE(has("-wal"));
  }

  // What a process leaves that has the store open and dies: `path` and its log, as they are now.
  std::filesystem::path copy_as_it_is(const std::string& name, bool with_log = true) const {
    std::filesystem::copy_file(path_, folder_ / name);
    if (with_log) std::filesystem::copy_file(beside("-wal"), folder_ / (name + "-wal"));
    return folder_ / name;
  }

  // The rows of a table of LMDB, of a copy of the file.
  std::map<std::string, std::string> table(const char* name) const {
    const std::filesystem::path copy = folder_ / "looked at";
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    MDB_cursor* cursor = nullptr;
    EXPECT_EQ(mdb_env_create(&env), 0);
    EXPECT_EQ(mdb_env_set_maxdbs(env, 100), 0);
    EXPECT_EQ(mdb_env_open(env, copy.c_str(), MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK, 0600), 0);
    EXPECT_EQ(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
    std::map<std::string, std::string> rows;
    if (mdb_dbi_open(txn, name, 0, &dbi) == 0 && mdb_cursor_open(txn, dbi, &cursor) == 0) {
      MDB_val key{};
      MDB_val value{};
      while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
        rows.emplace(to_view(key), to_view(value));
      mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return rows;
  }

  // Compares all that a reader sees with `expected`: in the log, in LMDB, and in a store that was
  // closed and opened.
  void expect_everywhere(const Rows& expected, Family family = {}) {
    const std::size_t timed = static_cast<std::size_t>(
        std::ranges::count_if(expected, [](const Shown& row) { return row.deadline != kNever; }));
    for (int place = 0; place < 3; ++place) {
      if (place == 1) must(store_.checkpoint());
      if (place == 2) reopen();
      EXPECT_EQ(rows_of(store_, family), expected) << place;
      EXPECT_EQ(count(family).live, expected.size()) << place;
      EXPECT_EQ(count(family).with_ttl, timed) << place;
      for (const Shown& row : expected) {
        EXPECT_EQ(value(row.key, family), row.value) << place;
        EXPECT_EQ(deadline(row.key, family), row.deadline) << place;
      }
      std::vector<Expiring> expiring =
          must(store_.expiring(clock_.now(), kNever, SIZE_MAX, family));
      EXPECT_EQ(expiring.size(), timed) << place;
      EXPECT_TRUE(std::ranges::is_sorted(expiring, {}, &Expiring::deadline)) << place;
      expect_sound();
    }
  }
};

// --- The file ------------------------------------------------------------------------------------

TEST_F(StoreLogTest, AppearsWithTheSecondCommitAndIsGoneAfterACleanClose) {
  EXPECT_FALSE(has("-wal"));
  EXPECT_TRUE(has("-shm"));
  must(store_.put("first", "1"));
  EXPECT_FALSE(has("-wal"));
  must(store_.get("first"));
  EXPECT_FALSE(must(store_.erase("none")));
  EXPECT_FALSE(has("-wal")) << "nothing was committed";
  must(store_.put("second", "2"));
  EXPECT_TRUE(has("-wal"));
  EXPECT_GT(stats().log_bytes, 0u);
  EXPECT_LE(stats().log_bytes, std::filesystem::file_size(beside("-wal")));
  {
    Store other = open();
    must(other.close());
    EXPECT_TRUE(has("-wal")) << "somebody has it open still";
  }
  must(store_.close());
  EXPECT_FALSE(has("-wal"));
  EXPECT_FALSE(has("-shm"));
  EXPECT_TRUE(has("-lock"));
  store_ = open();
  EXPECT_EQ(rows_of(store_), (Rows{{"first", "1"}, {"second", "2"}}));
  EXPECT_FALSE(has("-wal")) << "opening and reading makes none";
}

TEST_F(StoreLogTest, OfADeadProcessIsReplayed) {
  make_log();
  must(store_.put("timed", "value", 10s));
  must(store_.put("short", "value", 1s));
  EXPECT_TRUE(must(store_.erase("first")));
  const Store copy = must(Store::open(copy_as_it_is("copy"), clock_));
  EXPECT_EQ(rows_of(copy),
            (Rows{{"short", "value", kStart + 1s}, {"timed", "value", kStart + 10s}}));
  EXPECT_TRUE(must(copy.check()).ok());
}

TEST_F(StoreLogTest, ThatIsMissingIsAnErrorThatSaysSo) {
  make_log();
  const auto copy = copy_as_it_is("copy", false);
  for (const bool read_only : {false, true}) {
    const auto opened = Store::open(copy, clock_, {.read_only = read_only});
    EXPECT_EQ(code_of(opened), Code::corrupt);
    EXPECT_NE(message_of(opened).find("missing"), std::string::npos) << message_of(opened);
    EXPECT_NE(message_of(opened).find("copy-wal"), std::string::npos) << message_of(opened);
  }
  std::filesystem::copy_file(beside("-wal"), folder_ / "copy-wal");
  EXPECT_EQ(value_of(must(Store::open(copy, clock_)), "first"), "2") << "nothing was spoilt";
}

TEST_F(StoreLogTest, ThatIsOfAnotherStoreIsAnErrorThatSaysSo) {
  make_log();
  const auto copy = copy_as_it_is("copy", false);
  {
    Store other =
        must(Store::open(folder_ / "other", clock_, {.log_segment_bytes = kLogSegmentBytesMin}));
    must(other.put("foreign", "1"));
    must(other.put("foreign", "2"));
    std::filesystem::copy_file(folder_ / "other-wal", folder_ / "copy-wal");
  }
  const std::string log = file_bytes(folder_ / "copy-wal");
  const auto opened = Store::open(copy, clock_);
  EXPECT_EQ(code_of(opened), Code::corrupt);
  EXPECT_NE(message_of(opened).find("another"), std::string::npos) << message_of(opened);
  EXPECT_TRUE(file_bytes(folder_ / "copy-wal") == log) << "it is left as it is";
}

// An earlier log of the same store has another id, too.
TEST_F(StoreLogTest, ThatIsOfAnEarlierLifeIsNotReplayed) {
  make_log();
  std::filesystem::copy_file(beside("-wal"), folder_ / "earlier");
  reopen();
  must(store_.put("first", "3"));
  must(store_.put("first", "4"));
  const auto copy = copy_as_it_is("copy", false);
  std::filesystem::copy_file(folder_ / "earlier", folder_ / "copy-wal");
  EXPECT_EQ(code_of(Store::open(copy, clock_)), Code::corrupt);
}

TEST_F(StoreLogTest, BesideAStoreThatNamesNoneIsRemovedAndNotReplayed) {
  make_log();
  std::filesystem::copy_file(beside("-wal"), folder_ / "stale");
  must(store_.put("first", "3"));
  must(store_.backup(folder_ / "backup"));
  must(store_.close());
  for (const char* const name : {"store", "backup"}) {
    const std::string log = (folder_ / name).string() + "-wal";
    std::filesystem::copy_file(folder_ / "stale", log);
    const Store opened = must(Store::open(folder_ / name, clock_));
    EXPECT_EQ(rows_of(opened), (Rows{{"first", "3"}}));
    EXPECT_FALSE(std::filesystem::exists(log));
  }
}

TEST_F(StoreLogTest, WithAStrangeHeaderIsAnErrorAndLeftAlone) {
  make_log();
  const auto copy = copy_as_it_is("copy");
  const std::string log = file_bytes(folder_ / "copy-wal");
  for (const std::string& bad : {std::string(), std::string(5'000, 'x'), log.substr(0, 4'000)}) {
    std::ofstream(folder_ / "copy-wal", std::ios::binary | std::ios::trunc) << bad;
    EXPECT_EQ(code_of(Store::open(copy, clock_)), Code::corrupt) << bad.size();
    EXPECT_EQ(std::filesystem::file_size(folder_ / "copy-wal"), bad.size());
  }
}

// --- What goes into LMDB, and when ---------------------------------------------------------------

TEST_F(StoreLogTest, WhatDiesBeforeTheCheckpointIsNeverWrittenToLmdb) {
  make_log();
  must(store_.checkpoint());
  const StoreStats before = stats();
  for (int i = 0; i < 20; ++i) must(store_.put("young" + std::to_string(i), "value", 1s));
  must(store_.put("old", "value", 10s));
  must(store_.put("plain", "value"));
  clock_.advance(1s);
  EXPECT_EQ(count().expired, 20u) << "they are there until somebody removes them";
  must(store_.checkpoint());

  EXPECT_EQ(count().stored, 3u);
  EXPECT_EQ(stats().expired_unwritten, before.expired_unwritten + 20);
  EXPECT_EQ(stats().tree_entries, before.tree_entries + 2);
  EXPECT_EQ(stats().checkpoints, before.checkpoints + 1);
  EXPECT_EQ(table("t1").size(), 3u);
  EXPECT_EQ(table("t2").size(), 1u);
  EXPECT_EQ(table("t3").size(), 1u);
  expect_sound();
}

TEST_F(StoreLogTest, WhatDiesBeforeTheCloseIsNeverWrittenEither) {
  make_log();
  for (int i = 0; i < 20; ++i) must(store_.put("young" + std::to_string(i), "value", 1s));
  clock_.advance(1s);
  reopen();
  EXPECT_EQ(stored(), 1u);
  EXPECT_EQ(table("t1").size(), 1u);
  EXPECT_TRUE(table("t2").empty());
}

TEST_F(StoreLogTest, NothingIsInLmdbBeforeTheCheckpoint) {
  make_log();
  must(store_.checkpoint());
  must(store_.put("key", "value", 10s));
  EXPECT_EQ(table("t1").count("key"), 0u);
  EXPECT_GT(stats().pending_bytes, 0u);
  must(store_.checkpoint());
  EXPECT_EQ(table("t1").at("key"), "value");
  EXPECT_EQ(table("t2").at("key"), encode_deadline(kStart + 10s).view());
  EXPECT_EQ(stats().pending_bytes, 0u);
  EXPECT_EQ(value("key"), "value");
}

// An entry that LMDB has is erased there, if it is due at a later cut.
TEST_F(StoreLogTest, ACutRemovesAnEntryThatLmdbHasIfItWasChangedSince) {
  make_log();
  must(store_.put("changed", "value", 1s));
  must(store_.put("left", "value", 1s));
  must(store_.checkpoint());
  EXPECT_TRUE(must(store_.expire("changed", 2s)));
  clock_.advance(2s);
  must(store_.checkpoint());
  EXPECT_EQ(table("t1").count("changed"), 0u);
  EXPECT_EQ(table("t1").count("left"), 1u) << "that is for a purge, or for a read";
  EXPECT_EQ(count().expired, 1u);
  EXPECT_EQ(must(store_.purge_expired()).removed, 1u);
  must(store_.checkpoint());
  EXPECT_EQ(table("t1").size(), 1u);
  EXPECT_TRUE(table("t2").empty());
  EXPECT_TRUE(table("t3").empty());
  expect_sound();
}

TEST_F(StoreLogTest, ACheckpointWithNothingToDoDoesNothing) {
  must(store_.checkpoint());
  must(store_.put("first", "1"));
  must(store_.checkpoint());
  EXPECT_FALSE(has("-wal"));
  must(store_.put("first", "2"));
  must(store_.checkpoint());
  const std::uint64_t before = transaction_of(store_);
  const std::uint64_t logged = stats().logged_bytes;
  must(store_.checkpoint());
  EXPECT_EQ(transaction_of(store_), before);
  EXPECT_EQ(stats().logged_bytes, logged);
}

TEST_F(StoreLogTest, OverwritesReachLmdbOnce) {
  make_log();
  must(store_.checkpoint());
  const std::uint64_t before = stats().tree_entries;
  for (int i = 0; i < 3'000; ++i) must(store_.put("key", std::to_string(i)));
  must(store_.checkpoint());
  EXPECT_EQ(stats().tree_entries, before + 1);
  must(store_.close());
  EXPECT_LT(std::filesystem::file_size(path_), 100'000u);
}

// --- Reads ---------------------------------------------------------------------------------------

TEST_F(StoreLogTest, AReadOfAnExpiredKeyCommitsNothing) {
  make_log();
  must(store_.put("in LMDB", "value", 1s));
  must(store_.checkpoint());
  must(store_.put("in the log", "value", 1s));
  clock_.advance(1s);
  const std::uint64_t transaction = transaction_of(store_);
  const std::string log = file_bytes(beside("-wal"));
  const StoreStats before = stats();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(value("in LMDB"), "(none)");
    EXPECT_EQ(value("in the log"), "(none)");
    EXPECT_EQ(rows_of(store_).size(), 1u);
  }
  EXPECT_EQ(transaction_of(store_), transaction);
  EXPECT_EQ(stats().logged_bytes, before.logged_bytes);
  EXPECT_EQ(stats().commits, before.commits);
  EXPECT_TRUE(file_bytes(beside("-wal")) == log);
  EXPECT_EQ(count().expired, 2u);

  must(store_.put("first", "3"));
  EXPECT_EQ(count().expired, 0u) << "the next commit removes them";
  EXPECT_EQ(stats().expired_lazily, before.expired_lazily + 2);
  expect_sound();
}

// What was put anew since the read stays.
TEST_F(StoreLogTest, ACommitLooksAgainAtWhatAReadHasFound) {
  make_log();
  must(store_.put("again", "old", 1s));
  must(store_.put("extended", "old", 1s));
  must(store_.put("gone", "old", 1s));
  clock_.advance(1s);
  for (const char* const key : {"again", "extended", "gone"}) EXPECT_EQ(value(key), "(none)");
  clock_.set(kStart);
  {
    auto txn = must(store_.write());
    txn.put("again", "new");
    EXPECT_TRUE(txn.expire("extended", 5s));
    must(txn.commit());
  }
  clock_.set(kStart + 1s);
  must(store_.put("first", "3"));
  expect_everywhere({{"again", "new"}, {"extended", "old", kStart + 5s}, {"first", "3"}});
}

TEST_F(StoreLogTest, AReadOnlyHandleNotesNothing) {
  make_log();
  must(store_.put("key", "value", 1s));
  clock_.advance(1s);
  {
    const Store reader = open({.read_only = true});
    EXPECT_EQ(value_of(reader, "key"), "(none)");
  }
  must(store_.put("first", "3"));
  EXPECT_EQ(count().expired, 1u);
}

// --- Snapshots -----------------------------------------------------------------------------------

TEST_F(StoreLogTest, SnapshotsDoNotMoveWhateverIsCutOrApplied) {
  make_log();
  const std::string long_key(900, 'k');
  must(store_.put("in LMDB", "1", 5s));
  must(store_.put(long_key, "1", 7s));
  must(store_.checkpoint());
  must(store_.put("in the log", "2", 6s));
  EXPECT_TRUE(must(store_.expire("in LMDB", 8s)));
  std::vector<std::pair<ReadTxn, std::string>> kept;
  const auto keep = [&] {
    ReadTxn txn = must(store_.read());
    std::string text = describe(txn, {}, true);
    kept.emplace_back(std::move(txn), std::move(text));
  };
  keep();
  clock_.advance(6s);
  must(store_.checkpoint());
  keep();
  EXPECT_TRUE(must(store_.persist(long_key)));
  must(store_.put("in the log", "3"));
  keep();
  clock_.advance(6s);
  must(store_.checkpoint());
  must(store_.purge_expired());
  keep();
  must(store_.create_family("family"));
  keep();
  must(store_.clear());
  keep();
  for (int i = 0; i < 50; ++i) must(store_.put("key" + std::to_string(i), "value", 1s));
  clock_.advance(1s);
  must(store_.checkpoint());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(describe(kept[i].first, {}, true), kept[i].second) << i;
  }
}

TEST_F(StoreLogTest, ACursorOfTheStoreGoesOnThroughACut) {
  make_log();
  for (int i = 10; i < 90; ++i) {
    must(store_.put("key" + std::to_string(i), "value", i % 2 == 0 ? Expiry(1s) : Expiry()));
    if (i == 40) must(store_.checkpoint());
  }
  Cursor cursor = must(store_.cursor({.prefix = "key"}));
  EXPECT_TRUE(cursor.first());
  int seen = 1;
  clock_.advance(1s);
  must(store_.checkpoint());
  must(store_.purge_expired());
  must(store_.clear());
  while (cursor.next()) ++seen;
  EXPECT_EQ(seen, 80);
  EXPECT_TRUE(cursor.last());
  while (cursor.prev()) --seen;
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(stored(), 0u);
}

// Between a cut and its checkpoint, what the cut dropped is gone for all that come after it.
TEST_F(StoreLogTest, ACutCountsBeforeItsCheckpoint) {
  make_log();
  must(store_.put("in LMDB", "value", 1s));
  must(store_.checkpoint());
  must(store_.put("dropped", "value", 1s));
  must(store_.put("extended", "value", 2s));
  must(store_.put("plain", "value"));
  auto before = std::make_optional(must(store_.read()));
  const std::string shown = describe(*before, {}, true);
  clock_.advance(1s);
  const std::uint64_t transaction = transaction_of(store_);
  cut_log(path_, clock_.now());
  EXPECT_EQ(transaction_of(store_), transaction) << "not a checkpoint";
  EXPECT_EQ(describe(*before, {}, true), shown);
  before.reset();
  EXPECT_EQ(count().stored, 4u);
  EXPECT_EQ(count().expired, 1u) << "what LMDB has was not dropped";
  EXPECT_TRUE(must(store_.expire("extended", 10s)));
  must(store_.put("dropped", "again", 10s));
  clock_.set(kStart);
  const Rows expected{{"dropped", "again", kStart + 11s},
                      {"extended", "value", kStart + 11s},
                      {"first", "2"},
                      {"in LMDB", "value", kStart + 1s},
                      {"plain", "value"}};
  EXPECT_EQ(rows_of(store_), expected);
  {
    Store copy = must(Store::open(copy_as_it_is("copy"), clock_));
    EXPECT_EQ(rows_of(copy), expected) << "the cut is replayed";
    EXPECT_EQ(must(copy.count()).stored, 5u);
    EXPECT_TRUE(must(copy.check()).ok());
    must(copy.close());
  }
  expect_everywhere(expected);
}

// LMDB may lose its last commit, if that was not durable: then a replay begins before the range of
// the cut, and finds entries that the cut has left alone.
TEST_F(StoreLogTest, ACutDropsOnlyWhatIsInItsRange) {
  make_log();
  must(store_.put("before", "value", 1s));
  const auto copy = copy_as_it_is("copy", false);
  with_environment(path_, LogTestAccess::apply_all);
  must(store_.put("in its range", "value", 1s));
  clock_.advance(1s);
  cut_log(path_, clock_.now());
  std::filesystem::copy_file(beside("-wal"), folder_ / "copy-wal");
  clock_.set(kStart);
  const Rows expected{{"before", "value", kStart + 1s}, {"first", "2"}};
  EXPECT_EQ(rows_of(store_), expected);
  EXPECT_EQ(rows_of(must(Store::open(copy, clock_))), expected);
}

// --- Deadlines -----------------------------------------------------------------------------------

TEST_F(StoreLogTest, ChangesOfADeadlineAloneKeepTheValueWhereverItIs) {
  make_log();
  const std::string long_key(1'200, 'l');
  for (const std::string& key : {std::string("expire"), std::string("touch"),
                                 std::string("persist"), std::string("timed"), long_key}) {
    must(store_.put(key, "value", 10s));
  }
  for (int round = 0; round < 3; ++round) {  // the values are in the log, in LMDB, in a table
    const Millis ttl = 20s + Millis(round);
    EXPECT_TRUE(must(store_.expire("expire", ttl)));
    EXPECT_TRUE(must(store_.expire(long_key, ttl)));
    EXPECT_TRUE(must(store_.touch("touch", ttl)));
    EXPECT_EQ(must(store_.persist("persist")), round == 0);
    if (round == 1) must(store_.put("timed", "other", 30s));
    const Rows expected{
        {"expire", "value", kStart + ttl},
        {"first", "2"},
        {long_key, "value", kStart + ttl},
        {"persist", "value"},
        {"timed", round == 0 ? "value" : "other", kStart + (round == 0 ? 10s : 30s)},
        {"touch", "value", kStart + ttl}};
    expect_everywhere(expected);
    must(store_.put("first", "2"));  // so that the next changes go into the log
    must(store_.put("first", "2"));
  }
  clock_.advance(25s);
  expect_everywhere({{"first", "2"}, {"persist", "value"}, {"timed", "other", kStart + 30s}});
}

// A transaction that began before the deadline may extend it, although it is over at the commit.
TEST_F(StoreLogTest, AnExtensionByATransactionThatBeganInTimeCounts) {
  make_log();
  must(store_.put("key", "value", 1s));
  {
    auto txn = must(store_.write());
    clock_.advance(2s);
    EXPECT_TRUE(txn.expire("key", 10s));
    must(txn.commit());
  }
  must(store_.checkpoint());
  expect_everywhere({{"first", "2"}, {"key", "value", kStart + 10s}});
}

TEST_F(StoreLogTest, AClockThatIsSetBackShowsWhatWasNotCut) {
  make_log();
  must(store_.put("applied", "value", 2s));
  must(store_.checkpoint());
  must(store_.put("cut", "value", 2s));
  must(store_.put("long", "value", 10s));
  clock_.advance(2s);
  must(store_.checkpoint());
  must(store_.put("later", "value", 1s));
  clock_.advance(1s);
  EXPECT_EQ(rows_of(must(store_.read())), (Rows{{"first", "2"}, {"long", "value", kStart + 10s}}));
  clock_.set(kStart);
  expect_everywhere({{"applied", "value", kStart + 2s},
                     {"first", "2"},
                     {"later", "value", kStart + 3s},
                     {"long", "value", kStart + 10s}});
}

TEST_F(StoreLogTest, WhatIsDueInTheLogCountsUntilItIsRemoved) {
  make_log();
  must(store_.put("a", "value", 1s));
  must(store_.put("b", "value", 2s));
  clock_.advance(1s);
  EXPECT_EQ(count().expired, 1u);
  EXPECT_EQ(count().stored, 3u);
  EXPECT_EQ(must(store_.next_deadline()), kStart + 1s);
  EXPECT_EQ(must(store_.purge_expired()).removed, 1u);
  EXPECT_EQ(must(store_.next_deadline()), kStart + 2s);
  EXPECT_EQ(count().stored, 2u);
  must(store_.checkpoint());
  EXPECT_EQ(stats().expired_unwritten, 0u) << "a purge removed it, not the cut";
  expect_everywhere({{"b", "value", kStart + 2s}, {"first", "2"}});
}

TEST_F(StoreLogTest, ExpiringIsInOrderAcrossLmdbTablesAndTheTransactionItself) {
  make_log();
  std::vector<std::pair<Time, std::string>> expected;
  const auto put = [&](auto& target, int i) {
    const std::string key = (i % 3 == 0 ? std::string(600, 'k') : "key") + std::to_string(i);
    const Time deadline = kStart + Millis(i * 7919 % 1'000 + 1);
    if constexpr (std::is_same_v<decltype(target), Store&>)
      must(target.put(key, "value", deadline));
    if constexpr (!std::is_same_v<decltype(target), Store&>) target.put(key, "value", deadline);
    expected.emplace_back(deadline, key);
  };
  for (int i = 0; i < 60; ++i) {
    put(store_, i);
    if (i == 20) must(store_.checkpoint());
  }
  auto txn = must(store_.write());
  for (int i = 60; i < 80; ++i) put(txn, i);
  std::ranges::sort(expected);
  std::vector<std::pair<Time, std::string>> seen;
  for (const Expiring& each : must(txn.expiring(kStart, kNever))) {
    seen.emplace_back(each.deadline, each.key);
  }
  EXPECT_EQ(seen, expected);
  const auto few = must(txn.expiring(expected[10].first, expected[20].first, 5));
  ASSERT_EQ(few.size(), 5u);
  EXPECT_EQ(few[0].deadline, expected[10].first);
  EXPECT_EQ(few[4].key, expected[14].second);
}

// --- Families, and what goes straight into LMDB --------------------------------------------------

TEST_F(StoreLogTest, FamiliesComeAndGoBetweenLoggedCommits) {
  make_log();
  const Family users = must(store_.create_family("users"));
  must(store_.put("u", "1", 10s, users));
  must(store_.put("d", "1", 10s));
  const Family carts = must(store_.create_family("carts"));
  must(store_.put("c", "1", {}, carts));
  EXPECT_EQ(value("u", users), "1");
  must(store_.put("u", "2", 20s, users));
  must(store_.clear(carts));
  EXPECT_EQ(stored(carts), 0u) << "older versions in the log hide nothing, and show nothing";
  must(store_.put("c2", "2", {}, carts));
  must(store_.drop_family("users"));
  const Family again = must(store_.create_family("users"));
  EXPECT_EQ(stored(again), 0u);
  must(store_.put("u", "3", {}, again));
  must(store_.set_default_ttl(Millis(5s), carts));
  must(store_.put("c3", "3", {}, carts));
  EXPECT_EQ(code_of(store_.get("u", users)), Code::not_found);
  EXPECT_EQ(rows_of(store_, again), (Rows{{"u", "3"}}));
  expect_everywhere({{"c2", "2"}, {"c3", "3", kStart + 5s}}, carts);
  EXPECT_EQ(rows_of(store_), (Rows{{"d", "1", kStart + 10s}, {"first", "2"}}));
  EXPECT_EQ(rows_of(store_, again), (Rows{{"u", "3"}}));
}

// Of a family that was dropped, records may be in the log still.
TEST_F(StoreLogTest, ADroppedFamilyStaysGoneAfterAReplay) {
  make_log();
  const Family users = must(store_.create_family("users"));
  must(store_.put("u", "1", 10s, users));
  must(store_.drop_family("users"));
  must(store_.put("key", "value"));
  const Store copy = must(Store::open(copy_as_it_is("copy"), clock_));
  EXPECT_TRUE(must(copy.families()).empty());
  EXPECT_EQ(rows_of(copy), (Rows{{"first", "2"}, {"key", "value"}}));
  EXPECT_TRUE(must(copy.check()).ok());
}

TEST_F(StoreLogTest, LongKeysThatDifferAtTheEndOnlyAreKeptApart) {
  make_log();
  Rows expected{{"first", "2"}};
  for (const std::size_t length : {502u, 503u, 504u, 2'000u, 65'536u}) {
    for (const char last : {'a', 'b'}) {
      const std::string key = std::string(length - 1, 'k') + last;
      must(store_.put(key, std::to_string(length) + last, last == 'a' ? Expiry(10s) : Expiry()));
      expected.push_back({key, std::to_string(length) + last, last == 'a' ? kStart + 10s : kNever});
    }
    if (length == 503) must(store_.checkpoint());
  }
  std::ranges::sort(expected, {}, &Shown::key);
  expect_everywhere(expected);
  must(store_.put("first", "2"));
  std::erase_if(expected, [&](const Shown& row) {
    return row.key.ends_with("b") && must(store_.erase(row.key));
  });
  expect_everywhere(expected);
}

// --- Durability and numbers ----------------------------------------------------------------------

TEST_F(StoreLogTest, SyncIsOfTheLog) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    reopen({.durability = durability, .sync_interval = 1h});
    make_log();
    must(store_.sync());
    const std::uint64_t before = stats().log_syncs;
    must(store_.put("key", "value"));
    EXPECT_EQ(stats().log_syncs - before, durability == Durability::full ? 1u : 0u);
    must(store_.sync());
    EXPECT_EQ(stats().log_syncs - before, 1u) << "at full there is nothing left to do";
    must(store_.sync());
    EXPECT_EQ(stats().log_syncs - before, 1u) << "nothing was written since";
  }
}

TEST_F(StoreLogTest, ASyncOfOneProcessIsOneForAllOfThem) {
  must(store_.close());
  StoreOptions options{.durability = Durability::off};
  store_ = open(options);
  make_log();
  must(store_.checkpoint());
  const pid_t child = fork();
  if (child == 0) {  // has never seen a record of the log
    const bool done = [&] {
      auto other = Store::open(path_, clock_, options);
      return other.ok() && other->sync().ok() && other->put("other", "1").ok() &&
             other->sync().ok() && other->stats()->log_syncs > 0;
    }();
    _exit(done ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(value("other"), "1");
  const std::uint64_t before = stats().log_syncs;
  must(store_.sync());
  EXPECT_EQ(stats().log_syncs, before);
}

// The thread syncs after a compaction as it did before.
TEST_F(StoreLogTest, TheThreadGoesOnAfterACompaction) {
  reopen({.sync_interval = 1ms});
  for (int round = 0; round < 5; ++round) {
    make_log();
    must(store_.compact());
    must(store_.put("key", "value"));
    const std::uint64_t before = stats().log_syncs;
    const std::int64_t end = monotonic_ns() + 30'000'000'000;  // does not hang if it is broken
    while (stats().log_syncs == before && monotonic_ns() < end) std::this_thread::yield();
    ASSERT_GT(stats().log_syncs, before);
  }
}

TEST_F(StoreLogTest, StatisticsTellWhatIsInTheLog) {
  EXPECT_EQ(stats().log_bytes + stats().logged_bytes + stats().pending_bytes, 0u);
  make_log();
  const StoreStats before = stats();
  must(store_.put("key", std::string(1'000, 'v'), 10s));
  const StoreStats after = stats();
  const std::uint64_t logged = after.logged_bytes - before.logged_bytes;
  EXPECT_GE(logged, 1'000u);
  EXPECT_LE(logged, 1'100u);
  EXPECT_EQ(after.pending_bytes, before.pending_bytes + logged);
  EXPECT_GT(after.table_bytes, 1'000u);
  EXPECT_GT(after.log_bytes, 0u);
  EXPECT_EQ(after.tree_bytes, before.tree_bytes);
  must(store_.checkpoint());
  EXPECT_EQ(stats().pending_bytes, 0u);
  EXPECT_GT(stats().tree_bytes, before.tree_bytes);
  EXPECT_EQ(stats().checkpoints, before.checkpoints + 1);
  EXPECT_EQ(stats().stalls, 0u);
}

TEST_F(StoreLogTest, AReadOnlyStoreWritesNothing) {
  make_log();
  must(store_.put("key", "value", 1s));
  const auto copy = copy_as_it_is("copy");
  const std::string file = file_bytes(copy);
  const std::string log = file_bytes(copy.string() + "-wal");
  clock_.advance(1s);
  {
    Store reader = must(Store::open(copy, clock_, {.read_only = true}));
    EXPECT_EQ(rows_of(reader), (Rows{{"first", "2"}}));
    EXPECT_EQ(must(reader.count()).expired, 1u);
    EXPECT_EQ(value_of(reader, "key"), "(none)");
    EXPECT_EQ(code_of(reader.checkpoint()), Code::denied);
    EXPECT_EQ(code_of(reader.put("key", "value")), Code::denied);
    EXPECT_TRUE(must(reader.check()).ok());
    must(reader.backup(folder_ / "backup"));
    must(reader.close());
  }
  EXPECT_TRUE(file_bytes(copy) == file);
  EXPECT_TRUE(file_bytes(copy.string() + "-wal") == log);
  clock_.set(kStart);
  EXPECT_EQ(value_of(must(Store::open(folder_ / "backup", clock_)), "key"), "value");
  EXPECT_EQ(value_of(must(Store::open(copy, clock_)), "key"), "value");
}

// The backup is a store of its own: it names no log.
TEST_F(StoreLogTest, ABackupHasWhatIsInTheLogAndIsAnotherStore) {
  make_log();
  must(store_.put("a", "1", 10s));
  must(store_.checkpoint());
  must(store_.put("b", std::string(3'000, 'b'), 20s));
  EXPECT_TRUE(must(store_.persist("a")));
  EXPECT_TRUE(must(store_.erase("first")));
  const std::uint64_t before = stats().checkpoints;
  must(store_.backup(folder_ / "backup"));
  EXPECT_EQ(stats().checkpoints, before) << "it needs none";
  {
    const Store copy = must(Store::open(folder_ / "backup", clock_));
    EXPECT_EQ(rows_of(copy), rows_of(store_));
    EXPECT_EQ(must(copy.count()).with_ttl, 1u);
    EXPECT_TRUE(must(copy.check()).ok());
  }
  must(store_.close());
  const std::string mine = RawFile(path_).get(nullptr, "log");
  const std::string copied = RawFile(folder_ / "backup").get(nullptr, "log");
  EXPECT_NE(mine.substr(0, 16), copied.substr(0, 16)) << "the id of the store";
  EXPECT_EQ(copied.substr(16, 16), std::string(16, '\0')) << "the id of the log";
}

// --- Forks ---------------------------------------------------------------------------------------

TEST_F(StoreLogTest, AChildLeavesTheLogOfItsParentAlone) {
  make_log();
  must(store_.put("key", "value", 10s));
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = code_of(store_.put("key", "child")) == Code::invalid &&
                         code_of(store_.checkpoint()) == Code::invalid &&
                         code_of(store_.sync()) == Code::invalid;
    static_cast<void>(store_.close());
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(has("-wal"));
  EXPECT_TRUE(has("-shm"));
  must(store_.put("more", "value"));
  expect_everywhere({{"first", "2"}, {"key", "value", kStart + 10s}, {"more", "value"}});
}

}  // namespace store_log_test
}  // namespace mayfly::internal
