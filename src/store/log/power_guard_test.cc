// SPDX-License-Identifier: Apache-2.0
// What any power cut may leave is tested by tests/power_cut_test.py; here are the single steps.

#include "store/log/power_guard.h"

#include <sys/resource.h>

#include <csignal>

#include "store/log/power_guard_fixture.h"

namespace mayfly::internal {
namespace power_guard_test {

std::optional<std::uint64_t> just(std::uint64_t n) { return n; }

TEST_F(PowerGuardTest, APowerCutGoesBackToTheLastSync) {
  store_->put_many(100);
  ASSERT_TRUE(store_->guard().sync().ok());
  store_->put_many(500);

  EXPECT_EQ(state_after_power_cut(), just(100));
  EXPECT_EQ(store_->state(), just(600));
}

TEST_F(PowerGuardTest, EverySyncCounts) {
  for (std::uint64_t n = 50; n <= 500; n += 50) {
    store_->put_many(49);
    ASSERT_TRUE(store_->put().ok());
    ASSERT_TRUE(store_->guard().sync().ok());
    EXPECT_EQ(state_after_power_cut(), just(n));
  }
}

TEST_F(PowerGuardTest, TheFirstWriteOpensAPeriodBeforeIt) {
  store_->put_many(1);

  EXPECT_EQ(state_after_power_cut(), just(0));
}

TEST_F(PowerGuardTest, NothingIsLostIfOnlyTheProcessDies) {
  store_->put_many(300);
  store_.reset();
  ASSERT_TRUE(PowerGuard::recover(path(), options_).ok());
  open();

  EXPECT_EQ(store_->state(), just(300));
  store_->put_many(300);
  EXPECT_EQ(state_after_power_cut(), just(0)) << "the old recovery point still counts";
  ASSERT_TRUE(store_->guard().sync().ok());
  EXPECT_EQ(state_after_power_cut(), just(600));
}

TEST_F(PowerGuardTest, AStoreThatWasClosedIsWhole) {
  store_->put_many(300);
  ASSERT_TRUE(store_->guard().close(true).ok());

  EXPECT_FALSE(std::filesystem::exists(undo_path()));
  EXPECT_EQ(state_after_power_cut(), just(300));
}

TEST_F(PowerGuardTest, ClosingBesideOthersSyncsButLeavesThePeriodOpen) {
  store_->put_many(300);
  ASSERT_TRUE(store_->guard().close(false).ok());

  EXPECT_TRUE(std::filesystem::exists(undo_path()));
  EXPECT_EQ(state_after_power_cut(), just(300));
}

TEST_F(PowerGuardTest, TheFileStaysSmallWithoutASync) {
  store_->put_many(200);
  ASSERT_TRUE(store_->guard().sync().ok());
  const std::uint64_t before = store_->pages();
  store_->put_many(5000);

  EXPECT_LT(store_->pages(), before + 3 * options_.growth_bytes / 4096);
  EXPECT_EQ(state_after_power_cut(), just(200));
}

TEST_F(PowerGuardTest, ALongLogIsCutByACheckpoint) {
  options_.undo_bytes = 64 << 10;
  options_.growth_bytes = 16 << 10;
  store_.reset();
  open();
  store_->put_many(100);
  ASSERT_TRUE(store_->guard().sync().ok());
  store_->put_many(2000);

  EXPECT_GT(*state_after_power_cut(), 100u);
}

TEST_F(PowerGuardTest, FullWritesAloneNeedNoLog) {
  ASSERT_TRUE(store_->put_full().ok());

  EXPECT_FALSE(std::filesystem::exists(undo_path()));
  EXPECT_EQ(store_->readers(), 0);
}

TEST_F(PowerGuardTest, AFullWriteSurvivesAPowerCutInAPeriod) {
  store_->put_many(100);
  ASSERT_TRUE(store_->put_full().ok());
  store_->put_many(100);

  EXPECT_EQ(state_after_power_cut(), just(101));
}

TEST_F(PowerGuardTest, AFullWriteKnowsOfAPeriodThatAnotherProcessOpened) {
  store_->put_many(100);
  store_.reset();
  open();
  ASSERT_TRUE(store_->put_full().ok());

  EXPECT_EQ(state_after_power_cut(), just(101));
}

TEST_F(PowerGuardTest, AWriteWithoutAPromiseDoesNotSpoilAPeriod) {
  store_->put_many(100);
  ASSERT_TRUE(store_->guard().sync().ok());
  store_.reset();
  open();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(store_->put_off().ok());

  EXPECT_EQ(store_->state(), just(600));
  EXPECT_EQ(state_after_power_cut(), just(100));
}

TEST_F(PowerGuardTest, AnAbortedWriteLetsTheNextOneIn) {
  ASSERT_TRUE(store_->guard().before_full_write().ok());
  store_->guard().after_abort();
  ASSERT_TRUE(store_->guard().before_write().ok());
  store_->guard().after_abort();
  store_->put_many(10);

  EXPECT_EQ(store_->state(), just(10));
}

TEST_F(PowerGuardTest, ADamagedLogIsReportedAndTheStoreLeftAlone) {
  store_->put_many(100);
  store_.reset();
  std::filesystem::resize_file(undo_path(), 100);
  const auto written = std::filesystem::last_write_time(path());
  options_.boot_id = "second";

  EXPECT_EQ(PowerGuard::recover(path(), options_).error().code, Code::corrupt);
  EXPECT_EQ(std::filesystem::last_write_time(path()), written);
}

TEST_F(PowerGuardTest, TheLogOfARemovedStoreIsRemoved) {
  store_->put_many(100);
  store_.reset();
  std::filesystem::remove(path());

  EXPECT_TRUE(PowerGuard::recover(path(), options_).ok());
  EXPECT_FALSE(std::filesystem::exists(undo_path()));
}

TEST_F(PowerGuardTest, WithoutSpaceForTheLogItSaysSoAndGoesOnLater) {
  store_->put_many(100);
  ASSERT_TRUE(store_->guard().sync().ok());  // the next batches lie beyond the first MiB
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{1 << 20, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  Status status = Done{};
  for (int i = 0; status && i < 2000; ++i) status = store_->put();
  ::setrlimit(RLIMIT_FSIZE, &before);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::full);
  EXPECT_EQ(state_after_power_cut(), just(100));
  const std::uint64_t n = *store_->state();
  store_->put_many(1000);
  EXPECT_EQ(store_->state(), just(n + 1000));
  EXPECT_EQ(state_after_power_cut(), just(100));
}

// The process died after it had written a header, and before anybody knew that it was on disk.
TEST_F(PowerGuardTest, ACheckpointThatWasInterruptedIsCompleted) {
  store_->put_many(100);
  ASSERT_TRUE(store_->guard().sync().ok());
  UndoLog log = std::move(**UndoLog::open(undo_path()));
  UndoControl control = *log.control();
  --control.confirmed;
  ASSERT_TRUE(log.write_control(control).ok());
  store_->put_many(500);
  EXPECT_EQ(state_after_power_cut(), just(100));

  ASSERT_TRUE(store_->guard().sync().ok());
  EXPECT_EQ(state_after_power_cut(), just(600));
  EXPECT_EQ(log.control()->confirmed, log.control()->captured);
}

TEST_F(PowerGuardTest, APageThatWasSavedTwiceGetsItsFirstImageBack) {
  store_->put_many(100);
  ASSERT_TRUE(store_->guard().sync().ok());
  std::vector<std::uint64_t> pages;
  for (std::uint64_t page = 2; page < store_->pages(); ++page) pages.push_back(page);
  store_.reset();
  UndoFile file = std::move(**UndoFile::open(path()));
  UndoLog log = std::move(**UndoLog::open(undo_path()));
  UndoControl control = *log.control();
  const UndoHeader header = *log.newest();
  ASSERT_TRUE(log.append(control, header.salt, pages, file, 4096).ok());
  const std::vector<std::byte> zeros(pages.size() * 4096);
  ASSERT_TRUE(file.write_at(2 * 4096, zeros).ok());
  ASSERT_TRUE(log.append(control, header.salt, pages, file, 4096).ok());

  EXPECT_EQ(state_after_power_cut(), just(100));
}

TEST_F(PowerGuardTest, AfterAFailedSyncNobodyTrustsTheStoreAnyMore) {
  store_->put_many(100);
  UndoLog log = std::move(**UndoLog::open(undo_path()));
  UndoControl control = *log.control();
  control.has_failed = 1;
  ASSERT_TRUE(log.write_control(control).ok());

  EXPECT_EQ(store_->guard().sync().error().code, Code::io);
  EXPECT_EQ(store_->guard().sync().error().code, Code::io);
}

}  // namespace power_guard_test
}  // namespace mayfly::internal
