// SPDX-License-Identifier: Apache-2.0
// Maintenance of a store: backups, compaction, checks that find what does not agree, syncs and
// statistics.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/check/store_damage.h"
#include "store/rows/stored_key.h"

namespace mayfly::internal {
namespace store_maintenance_test {

using namespace std::chrono_literals;

class StoreMaintenanceTest : public OpenStoreFixture {
 protected:
  void put_many(int number, Expiry expires, Family family = {}) {
    auto txn = must(store_.write());
    for (int i = 0; i < number; ++i) {
      txn.put("key" + std::to_string(i), std::string(200, 'v'), expires, family);
    }
    must(txn.commit());
  }
};

// --- Backups -------------------------------------------------------------------------------------

TEST_F(StoreMaintenanceTest, ABackupIsACopyOfOneMoment) {
  const Family users = must(store_.create_family("users"));
  must(store_.put("key", "value", 10s));
  must(store_.put("key", "user", {}, users));
  must(store_.put(std::string(5'000, 'k'), "long", 20s));
  must(store_.set_default_ttl(60s, users));
  auto txn = must(store_.write());
  txn.put("later", "value");
  must(store_.backup(folder_ / "copy"));
  must(txn.commit());

  Store copy = must(Store::open(folder_ / "copy", clock_));
  EXPECT_EQ(rows_of(copy).size(), 2u);
  EXPECT_EQ(must(copy.deadline("key")), kStart + 10s);
  EXPECT_EQ(must(copy.deadline(std::string(5'000, 'k'))), kStart + 20s);
  const Family same = must(copy.family("users"));
  EXPECT_EQ(value_of(copy, "key", same), "user");
  EXPECT_EQ(must(copy.default_ttl(same)), Millis(60s));
  EXPECT_TRUE(must(copy.check()).ok());
  must(copy.put("key", "changed"));
  EXPECT_EQ(value("key"), "value");
}

TEST_F(StoreMaintenanceTest, ABackupNeverOverwrites) {
  must(store_.put("key", "value"));
  must(store_.backup(folder_ / "copy"));
  EXPECT_EQ(code_of(store_.backup(folder_ / "copy")), Code::invalid);
  EXPECT_EQ(code_of(store_.backup(path_)), Code::invalid);
  EXPECT_EQ(code_of(store_.backup(folder_.path())), Code::invalid);
  EXPECT_EQ(code_of(store_.backup("")), Code::invalid);
  EXPECT_EQ(code_of(store_.backup(folder_ / "none" / "copy")), Code::not_found);
  EXPECT_EQ(value("key"), "value");
  EXPECT_EQ(value_of(must(Store::open(folder_ / "copy", clock_)), "key"), "value");
}

TEST_F(StoreMaintenanceTest, ABackupHasNoOtherNameWhileItIsMade) {
  const auto names = [this] {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  };
  std::ofstream(folder_ / "copy.part") << "of a user";
  const auto before = names();
  must(store_.backup(folder_ / "copy"));
  EXPECT_EQ(names(), before + 1);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "copy.part"), 9u);
}

TEST_F(StoreMaintenanceTest, ABackupIsCompact) {
  put_many(5'000, 10s);
  must(store_.clear());
  must(store_.put("key", "value"));
  must(store_.backup(folder_ / "copy"));
  EXPECT_LT(std::filesystem::file_size(folder_ / "copy"), 200'000u);
}

// --- Compaction ----------------------------------------------------------------------------------

TEST_F(StoreMaintenanceTest, CompactShrinksTheFileAndKeepsEverything) {
  const Family users = must(store_.create_family("users"));
  put_many(5'000, 10s);
  put_many(20, 20s, users);
  must(store_.set_default_ttl(60s, users));
  const std::vector<Shown> before = rows_of(store_, users);
  const std::uint64_t large = must(store_.stats()).file_bytes;
  clock_.advance(10s);
  EXPECT_EQ(must(store_.purge_expired()).removed, 5'000u);
  must(store_.compact());

  EXPECT_LT(must(store_.stats()).file_bytes, large / 4);
  EXPECT_EQ(rows_of(store_, users), before);
  EXPECT_EQ(must(store_.default_ttl(users)), Millis(60s));
  must(store_.put("key", "value", 10s));
  expect_sound();
  reopen();
  EXPECT_EQ(rows_of(store_, users), before);
  EXPECT_EQ(value("key"), "value");
}

TEST_F(StoreMaintenanceTest, CompactNeedsTheStoreForItself) {
  must(store_.put("key", "value"));
  {
    const auto reader = must(store_.read());
    EXPECT_EQ(code_of(store_.compact()), Code::busy);
    EXPECT_EQ(value_of(reader, "key"), "value");
  }
  {
    const auto cursor = must(store_.cursor());
    EXPECT_EQ(code_of(store_.compact()), Code::busy);
  }
  {
    auto writer = must(store_.write());
    EXPECT_EQ(code_of(store_.compact()), Code::busy);
    writer.put("key", "new");
    must(writer.commit());
  }
  must(store_.compact());
  EXPECT_EQ(value("key"), "new");
}

TEST_F(StoreMaintenanceTest, CompactServesTheOtherHandlesOfTheProcess) {
  Store other = open();
  must(other.put("key", "value", 10s));
  must(store_.compact());
  EXPECT_EQ(value_of(other, "key"), "value");
  must(other.put("more", "value", 10s));
  EXPECT_EQ(value("more"), "value");
  EXPECT_EQ(count().with_ttl, 2u);
}

// --- Checks --------------------------------------------------------------------------------------

TEST_F(StoreMaintenanceTest, ACheckLooksAtEverything) {
  const Family users = must(store_.create_family("users"));
  put_many(100, 10s);
  put_many(50, {}, users);
  EXPECT_TRUE(must(store_.check()).ok());
  EXPECT_GE(must(store_.check()).entries, 150u) << "in the log";
  must(store_.checkpoint());
  const CheckReport report = must(store_.check());
  EXPECT_TRUE(report.ok());
  EXPECT_GE(report.entries, 150u);
  EXPECT_GT(report.pages, 5u);
}

// Lesson E8: in SNKV a check did not see that data and indexes had come apart.
TEST_F(StoreMaintenanceTest, ACheckFindsWhatDoesNotAgree) {
  const std::string deadline(encode_deadline(kStart + 10s).view());
  const std::string other(encode_deadline(kStart + 11s).view());
  const auto after = [&](auto damage) {
    store_ = open();
    must(store_.clear());
    must(store_.put("a", "1", 10s));
    must(store_.put("b", "2", 10s));
    must(store_.put("c", "3"));
    must(store_.close());
    {
      RawFile raw(path_);
      damage(raw);
    }
    store_ = open();
    return must(store_.check()).problems.size();
  };

  EXPECT_EQ(after([](RawFile&) {}), 0u);
  EXPECT_GT(after([](RawFile& raw) { raw.erase("t1", "a"); }), 0u) << "data is gone";
  EXPECT_GT(after([](RawFile& raw) { raw.erase("t2", "a"); }), 0u) << "a deadline is gone";
  EXPECT_GT(after([&](RawFile& raw) { raw.erase("t3", deadline + "a"); }), 0u) << "a row is gone";
  EXPECT_GT(after([&](RawFile& raw) { raw.put("t2", "a", other); }), 0u) << "another deadline";
  EXPECT_GT(after([](RawFile& raw) { raw.put("t2", "a", "short"); }), 0u) << "no deadline at all";
  EXPECT_GT(after([&](RawFile& raw) { raw.put("t2", "x", deadline); }), 0u) << "a key too many";
  EXPECT_GT(after([&](RawFile& raw) { raw.put("t3", other + "a", ""); }), 0u) << "two rows";
  EXPECT_GT(after([&](RawFile& raw) { raw.put("t3", other + "x", ""); }), 0u) << "a stray row";
  EXPECT_GT(after([](RawFile& raw) { raw.put("t3", "short", ""); }), 0u) << "no row at all";
  EXPECT_GT(after([](RawFile& raw) { raw.put("t1", std::string(503, 'k'), "x"); }), 0u)
      << "a long key without its key";
}

TEST_F(StoreMaintenanceTest, IndexesThatDoNotAgreeStopNoCheckpoint) {
  const std::string deadline(encode_deadline(kStart + 10s).view());
  must(store_.put("a", "1", 10s));
  must(store_.put("b", "2", 10s));
  must(store_.close());
  {
    RawFile raw(path_);
    raw.erase("t3", deadline + "a");
    raw.erase("t1", "b");
  }
  store_ = open();
  EXPECT_EQ(value("a"), "1");
  EXPECT_EQ(must(store_.check()).problems.size(), 2u);
  must(store_.put("a", "new"));
  EXPECT_TRUE(must(store_.erase("a")));
  must(store_.put("other", "value"));
  must(store_.put("a", "new", 20s));
  must(store_.checkpoint());
  clock_.advance(10s);
  must(store_.purge_expired());  // of b there are only rows in the indexes
  must(store_.close());
  store_ = open();
  const std::vector<Shown> left{{"a", "new", kStart + 20s}, {"other", "value"}};
  EXPECT_EQ(rows_of(store_), left);
  expect_sound();
}

// --- Syncs and statistics ------------------------------------------------------------------------

TEST_F(StoreMaintenanceTest, SyncWorksAtEveryLevelAlsoWithAWriterAbout) {
  for (const Durability durability : {Durability::off, Durability::normal, Durability::full}) {
    reopen({.durability = durability});
    must(store_.put("key", "value"));
    must(store_.sync());
    auto writer = must(store_.write());
    writer.put("key", "mine");
    must(store_.sync());
    writer.rollback();
    EXPECT_EQ(value("key"), "value") << "a sync commits nothing (lesson C4)";
    EXPECT_EQ(must(store_.stats()).syncs, 2u);
  }
}

TEST_F(StoreMaintenanceTest, StatisticsCountWhatWasDone) {
  must(store_.put("a", "12345", 10s));
  must(store_.put("bb", "123"));
  must(store_.get("a"));
  must(store_.get("none"));
  must(store_.get_entry("bb"));
  must(store_.erase("bb"));
  must(store_.erase("none"));
  rows_of(store_);
  must(store_.sync());
  EXPECT_FALSE(store_.put("", "x").ok());
  const StoreStats stats = must(store_.stats());

  EXPECT_EQ(stats.puts, 2u);
  EXPECT_EQ(stats.gets, 2u);
  EXPECT_EQ(stats.erases, 1u);
  EXPECT_EQ(stats.cursors, 1u);
  EXPECT_EQ(stats.syncs, 1u);
  EXPECT_EQ(stats.errors, 1u);
  EXPECT_EQ(stats.bytes_read, 8u);
  EXPECT_EQ(stats.bytes_written, 11u);
  EXPECT_GE(stats.commits, 3u);
  EXPECT_EQ(stats.expired_lazily + stats.purged, 0u);
  EXPECT_GT(stats.pages, 2u);
  EXPECT_GE(stats.page_bytes, 4'096u);
  EXPECT_GE(stats.file_bytes, stats.page_bytes * 3);
  EXPECT_GT(stats.map_bytes, 0u);
  store_.reset_stats();
  EXPECT_EQ(must(store_.stats()).puts, 0u);
  EXPECT_EQ(must(store_.stats()).bytes_read, 0u);
}

TEST_F(StoreMaintenanceTest, StatisticsTellWhoKeepsOldPages) {
  must(store_.put("key", "0"));
  must(store_.sync());
  const std::size_t others = must(store_.stats()).readers.size();
  const auto reader = must(store_.read());
  const std::uint64_t before = transaction_of(store_);
  for (int i = 0; i < 5; ++i) {
    must(store_.put("key", std::to_string(i)));
    must(store_.checkpoint());
  }
  const std::vector<StoreReader> readers = must(store_.stats()).readers;
  EXPECT_GE(transaction_of(store_), before + 5) << "a checkpoint is a transaction of LMDB";

  ASSERT_EQ(readers.size(), others + 1);
  const bool found = std::ranges::any_of(readers, [&](const StoreReader& each) {
    return each.process == getpid() && each.snapshot == before &&
           each.behind == transaction_of(store_) - before;
  });
  EXPECT_TRUE(found);
}

TEST_F(StoreMaintenanceTest, StatisticsAreOfOneHandleAndTheRestOfTheFile) {
  const Store other = open();
  must(store_.put("key", "value"));
  EXPECT_EQ(must(other.stats()).puts, 0u);
  EXPECT_EQ(transaction_of(other), transaction_of(store_));
  EXPECT_EQ(must(other.stats()).pages, must(store_.stats()).pages);
}

// --- One file, many names ------------------------------------------------------------------------

TEST_F(StoreMaintenanceTest, AllPathsToAFileLeadToOneStore) {
  std::filesystem::create_symlink(path_, folder_ / "link");
  std::filesystem::create_directory(folder_ / "sub");
  for (const auto& path :
       {folder_ / "link", folder_ / "sub" / ".." / "store", std::filesystem::relative(path_)}) {
    Store other = must(Store::open(path, clock_, {.busy_timeout = 0ms}));
    must(store_.put("key", path.string(), 10s));
    EXPECT_EQ(value_of(other, "key"), path.string());
    auto writer = must(store_.write());
    EXPECT_EQ(code_of(other.put("key", "value")), Code::busy);
  }
}

// Other processes find the locks by the name of the file, so there must be one name only.
TEST_F(StoreMaintenanceTest, ALinkToAStoreHasNoFilesOfItsOwn) {
  must(store_.put("key", "value"));
  must(store_.close());
  std::filesystem::create_symlink("store", folder_ / "link");
  std::filesystem::create_symlink(folder_ / "link", folder_ / "link of a link");
  store_ = must(Store::open(folder_ / "link of a link", clock_));
  EXPECT_EQ(value("key"), "value");
  must(store_.put("key", "more"));
  must(store_.compact());
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(entry.is_symlink(), name.starts_with("link")) << name;
  }
  reopen();
  EXPECT_EQ(value("key"), "more");
}

TEST_F(StoreMaintenanceTest, ALinkToNothingMakesWhatItLeadsTo) {
  std::filesystem::create_symlink("new", folder_ / "link");
  const Store made = must(Store::open(folder_ / "link", clock_));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "new"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "new-lock"));
  std::filesystem::create_symlink("circle", folder_ / "circle");
  EXPECT_EQ(code_of(Store::open(folder_ / "circle", clock_)), Code::invalid);
}

TEST_F(StoreMaintenanceTest, TheFileIsSmallWhenItHoldsLittle) {
  must(store_.put("key", "value", 10s));
  EXPECT_LT(must(store_.stats()).file_bytes, 100'000u);
  EXPECT_LT(std::filesystem::file_size(path_), 100'000u);
}

// TTL churn with purges reuses pages; the file does not grow with what has passed through it.
TEST_F(StoreMaintenanceTest, ChurnDoesNotGrowTheFileForEver) {
  std::uint64_t after_some = 0;
  for (int round = 0; round < 60; ++round) {
    put_many(200, 10ms);
    clock_.advance(10ms);
    EXPECT_EQ(must(store_.purge_expired()).removed, 200u);
    must(store_.sync());
    if (round == 20) after_some = must(store_.stats()).file_bytes;
  }
  EXPECT_LE(must(store_.stats()).file_bytes, after_some * 3 / 2);
}

}  // namespace store_maintenance_test
}  // namespace mayfly::internal
