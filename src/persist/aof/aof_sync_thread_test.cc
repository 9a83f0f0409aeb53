// SPDX-License-Identifier: Apache-2.0
// Syncing in the background: the thread alone, and the append-only file with it. Time is a number
// that the test counts up; the disk holds syncs back and lets them go.

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "persist/aof/aof_fixture.h"
#include "persist/aof/aof_sync.h"

namespace mayfly {
namespace aof_sync_thread_test {

using Op = FakeDisk::Op;

const std::string kSet = command({"SET", "k", "v"});

TEST(BackgroundSync, SyncsAndTellsHowFar) {
  FakeDisk disk;
  const std::unique_ptr<DiskFile> file = std::move(*disk.create("log"));
  BackgroundSync sync;
  EXPECT_FALSE(sync.is_busy());
  sync.wait();
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(file->write("x"));
    sync.start(*file, i);
    ASSERT_TRUE(file->write("y"));
    sync.wait();
    EXPECT_EQ(sync.synced(), i);
    EXPECT_FALSE(sync.take_error());
  }
  EXPECT_EQ(disk.count(Op::sync), 100);
}

TEST(BackgroundSync, AFailureIsToldOnce) {
  FakeDisk disk;
  const std::unique_ptr<DiskFile> file = std::move(*disk.create("log"));
  BackgroundSync sync;
  disk.fail_next(Op::sync);
  sync.start(*file, 1);
  sync.wait();
  EXPECT_EQ(sync.synced(), 0u);
  EXPECT_TRUE(sync.take_error());
  EXPECT_FALSE(sync.take_error());
}

TEST(BackgroundSync, EndsWithTheSyncThatIsUnderWay) {
  FakeDisk disk;
  const std::unique_ptr<DiskFile> file = std::move(*disk.create("log"));
  disk.hold_syncs();
  std::jthread opener;
  {
    BackgroundSync sync;
    sync.start(*file, 1);
    disk.wait_until_a_sync_is_held();
    EXPECT_TRUE(sync.is_busy());
    opener = std::jthread([&] { disk.release_syncs(); });
  }
  EXPECT_EQ(disk.count(Op::sync), 1);
}

class EverysecTest : public ::testing::Test, protected AofFixture {
 protected:
  EverysecTest() {
    options.sync = AofSync::everysec;
    aof.emplace(disk, options);
    EXPECT_TRUE(aof->open());
    syncs_before = disk.count(Op::sync);
  }

  void set_and_flush(std::int64_t ms) {
    aof->append(0, kSet);
    ASSERT_TRUE(aof->flush(at(ms)));
  }

  std::size_t lines_in_file() { return lines().size(); }

  std::optional<Aof> aof;
  int syncs_before = 0;
};

TEST_F(EverysecTest, WritesAtOnceAndSyncsAtMostOnceASecond) {
  for (int i = 0; i < 100; ++i) {
    set_and_flush(i * 100);  // ten seconds
    EXPECT_EQ(lines_in_file(), static_cast<std::size_t>(i) + 1);
  }
  aof.reset();
  EXPECT_GE(disk.count(Op::sync) - syncs_before, 1);
  EXPECT_LE(disk.count(Op::sync) - syncs_before, 10);
}

TEST_F(EverysecTest, WhatIsWrittenDuringASyncIsSyncedByTheNext) {
  disk.hold_syncs();
  set_and_flush(0);
  disk.wait_until_a_sync_is_held();
  const std::uint64_t first = aof->written_offset();
  set_and_flush(500);
  EXPECT_EQ(lines_in_file(), 2u);
  EXPECT_EQ(aof->synced_offset(), 0u);
  EXPECT_EQ(aof->next_sync(), at(1'000));
  set_and_flush(1'999);  // it is under way for less than two seconds: nobody waits
  disk.release_syncs();
  ASSERT_TRUE(aof->flush(at(2'000)));  // waits, and begins the next
  EXPECT_GE(aof->synced_offset(), first);
  ASSERT_TRUE(aof->flush(at(4'000)));
  EXPECT_EQ(aof->synced_offset(), aof->appended_offset());
  EXPECT_EQ(aof->next_sync(), kNever);
}

TEST_F(EverysecTest, FlushWaitsForASyncThatTakesMoreThanTwoSeconds) {
  disk.hold_syncs();
  set_and_flush(0);
  disk.wait_until_a_sync_is_held();
  const std::jthread opener([&] { disk.release_syncs(); });
  aof->append(0, kSet);
  ASSERT_TRUE(aof->flush(at(2'000)));
  EXPECT_GT(aof->synced_offset(), 0u);
}

TEST_F(EverysecTest, AFlushWithNothingToWriteStillSyncs) {
  set_and_flush(0);
  set_and_flush(100);
  EXPECT_TRUE(aof->has_unsynced());
  EXPECT_EQ(aof->next_sync(), at(1'000));
  ASSERT_TRUE(aof->flush(at(2'000)));  // waits for the first, begins the second
  ASSERT_TRUE(aof->flush(at(4'000)));  // waits for that
  EXPECT_FALSE(aof->has_unsynced());
  EXPECT_EQ(aof->next_sync(), kNever);
}

TEST_F(EverysecTest, AClockThatIsSetBackDoesNotStopTheSyncs) {
  set_and_flush(10'000'000);
  ASSERT_TRUE(aof->flush(at(10'002'000)));
  set_and_flush(0);
  ASSERT_TRUE(aof->flush(at(1'000)));
  ASSERT_TRUE(aof->flush(at(3'000)));
  EXPECT_FALSE(aof->has_unsynced());
}

TEST_F(EverysecTest, AFailedSyncIsReportedAndOnlyARewriteMakesItGood) {
  disk.fail_next(Op::sync);
  set_and_flush(0);
  aof->append(0, kSet);
  const Status status = aof->flush(at(2'000));  // waits for it
  EXPECT_FALSE(status);
  EXPECT_TRUE(aof->is_doubtful());
  EXPECT_EQ(lines_in_file(), 2u);
  ASSERT_TRUE(aof->flush(at(4'000)));
  ASSERT_TRUE(aof->flush(at(6'000)));
  EXPECT_EQ(aof->synced_offset(), 0u);  // though the next sync went well

  const Result<std::string> base = aof->begin_rewrite();
  ASSERT_TRUE(base);
  ASSERT_TRUE((*disk.create(*base))->write("#base\r\n"));
  ASSERT_TRUE(aof->finish_rewrite());
  EXPECT_FALSE(aof->is_doubtful());
  EXPECT_FALSE(aof->has_unsynced());
}

TEST_F(EverysecTest, ARewriteBeginsWithEverythingSynced) {
  disk.hold_syncs();
  set_and_flush(0);
  disk.wait_until_a_sync_is_held();
  set_and_flush(10);
  const std::jthread opener([&] { disk.release_syncs(); });
  ASSERT_TRUE(aof->begin_rewrite());
  EXPECT_FALSE(aof->has_unsynced());
  set_and_flush(20);
  aof.reset();
  disk.power_cut();
  EXPECT_GE(lines_in_file(), 2u);
}

TEST_F(EverysecTest, ManyWritesRewritesAndSyncsAtOnce) {
  for (int i = 0; i < 500; ++i) {
    set_and_flush(i * 300);
    if (i % 50 != 49) continue;
    const Result<std::string> base = aof->begin_rewrite();
    ASSERT_TRUE(base);
    set_and_flush(i * 300 + 1);
    aof->abort_rewrite();
  }
  ASSERT_TRUE(aof->sync_now());
  aof.reset();
  disk.power_cut();
  EXPECT_EQ(lines_in_file(), 510u);
}

}  // namespace aof_sync_thread_test
}  // namespace mayfly
