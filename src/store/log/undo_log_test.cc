// SPDX-License-Identifier: Apache-2.0
// The undo log as a file: what it gives back, and what it makes of damage.

#include "store/log/undo_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace mayfly::internal {
namespace undo_log_test {

constexpr std::uint32_t kPageSize = 4096;
using Pages = std::vector<std::uint64_t>;

class UndoLogTest : public testing::Test {
 protected:
  UndoLogTest() : folder_(make_folder()), store_(make_store()), log_(make_log()) {
    UndoHeader header = *log_.newest();
    header.generation = 2;
    header.is_open = true;
    header.first_sequence = control_.next_sequence;
    LmdbMeta meta;
    const std::uint32_t size = kPageSize;
    std::memcpy(meta.bytes.data() + 40, &size, sizeof size);
    header.meta = meta;
    EXPECT_TRUE(log_.write_header(header).ok());
    header_ = header;
    control_.confirmed = control_.captured = 2;
  }
  ~UndoLogTest() override { std::filesystem::remove_all(folder_); }

  static std::string make_folder() {
    std::string name = testing::TempDir() + "undo_log.XXXXXX";
    return ::mkdtemp(name.data());
  }
  // A store whose page n is full of the letter n, in a way.
  UndoFile make_store() const {
    UndoFile store = std::move(*UndoFile::create(folder_ + "/store"));
    for (std::uint64_t page = 0; page < 3000; ++page) {
      const std::vector<std::byte> image(kPageSize, letter(page));
      EXPECT_TRUE(store.write_at(page * kPageSize, image).ok());
    }
    return store;
  }
  UndoLog make_log() const { return std::move(*UndoLog::create(path(), "boot")); }
  static std::byte letter(std::uint64_t page) { return static_cast<std::byte>(page % 251); }
  std::string path() const { return folder_ + "/store-undo"; }

  void save(const Pages& pages) {
    EXPECT_TRUE(log_.append(control_, header_.salt, pages, store_, kPageSize).ok());
  }
  void damage(std::uint64_t offset) const {
    UndoFile file = std::move(**UndoFile::open(path()));
    const std::byte wrong[1] = {std::byte{0x5a}};
    EXPECT_TRUE(file.write_at(offset, wrong).ok());
  }
  // The pages that lead back to `header`, in order.
  Pages replayed(const UndoHeader& header) const {
    Pages pages;
    const Status status =
        log_.replay(header, [&](std::uint64_t page, std::span<const std::byte> image) {
          EXPECT_EQ(image.size(), kPageSize);
          EXPECT_EQ(image[0], letter(page));
          EXPECT_EQ(image[kPageSize - 1], letter(page));
          pages.push_back(page);
          return Status(Done{});
        });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return pages;
  }

  static constexpr std::uint64_t kSlot0 = 4 << 10;  // of generation 2
  static constexpr std::uint64_t kSlot1 = 8 << 10;
  static constexpr std::uint64_t kEvenArea = 16 << 10;

  const std::string folder_;
  UndoFile store_;
  UndoLog log_;
  UndoControl control_;
  UndoHeader header_;
};

TEST_F(UndoLogTest, ANewLogIsNotOpen) {
  Result<UndoLog> log = UndoLog::create(folder_ + "/other", "boot");

  EXPECT_FALSE(log->newest()->is_open);
  EXPECT_EQ(log->newest()->boot_id, "boot");
  EXPECT_EQ(log->control()->confirmed, log->newest()->generation);
}

TEST_F(UndoLogTest, ThereIsNoLogWhereThereIsNoFile) {
  EXPECT_TRUE(UndoLog::remove(path()).ok());

  EXPECT_FALSE((*UndoLog::open(path())).has_value());
  EXPECT_TRUE(UndoLog::remove(path()).ok());
}

TEST_F(UndoLogTest, GivesBackTheHeaderThatWasWritten) {
  EXPECT_EQ(*log_.newest(), header_);
  EXPECT_EQ(**log_.header(2), header_);
  EXPECT_FALSE((*log_.header(4)).has_value());
}

TEST_F(UndoLogTest, ATornHeaderGivesWayToTheOlderOne) {
  damage(kSlot0 + 100);

  EXPECT_EQ(log_.newest()->generation, 1u);
}

TEST_F(UndoLogTest, TwoDamagedHeadersAreAnError) {
  damage(kSlot0 + 100);
  damage(kSlot1 + 100);

  EXPECT_EQ(log_.newest().error().code, Code::corrupt);
}

TEST_F(UndoLogTest, ADamagedControlBlockIsAnError) {
  control_.ends = {7, 9};
  EXPECT_TRUE(log_.write_control(control_).ok());
  EXPECT_EQ(log_.control()->ends[1], 9u);

  damage(20);
  EXPECT_EQ(log_.control().error().code, Code::corrupt);
}

TEST_F(UndoLogTest, ReplaysPagesInTheOrderInWhichTheyWereSaved) {
  save({5, 6, 9});
  save({2, 5});

  EXPECT_EQ(replayed(header_), (Pages{5, 6, 9, 2, 5}));
}

TEST_F(UndoLogTest, BeginsWhereTheHeaderSays) {
  save({5});
  header_.start = control_.ends[0];
  header_.first_sequence = control_.next_sequence;
  save({6});

  EXPECT_EQ(replayed(header_), Pages{6});
}

TEST_F(UndoLogTest, KeepsMorePagesThanOneBatchOrOneTurnHolds) {
  Pages pages;
  for (std::uint64_t page = 0; page < 3000; ++page) pages.push_back(page);
  save(pages);
  control_.captured = 3;
  save(pages);

  pages.insert(pages.end(), pages.begin(), pages.end());
  EXPECT_EQ(replayed(header_), pages);
}

TEST_F(UndoLogTest, StopsAtABatchThatIsDamaged) {
  save({5});
  const std::uint64_t second = kEvenArea + control_.ends[0];
  save({6});
  damage(second + 2000);

  EXPECT_EQ(replayed(header_), Pages{5});
}

TEST_F(UndoLogTest, IgnoresBatchesOfAnOlderGeneration) {
  save({5});
  save({6});
  control_.ends[0] = 0;
  control_.confirmed = control_.captured = 4;
  header_.generation = 4;
  header_.first_sequence = control_.next_sequence;
  save({7});

  EXPECT_EQ(replayed(header_), Pages{7});
}

TEST_F(UndoLogTest, GoesOnWithTheBatchesOfTheCapturedGeneration) {
  save({5});
  control_.captured = 3;
  save({6});
  save({5});

  EXPECT_EQ(replayed(header_), (Pages{5, 6, 5}));
}

TEST_F(UndoLogTest, GoesOnAfterABatchThatWasWrittenButNeverConfirmed) {
  save({5});
  UndoControl lost = control_;
  EXPECT_TRUE(log_.append(lost, header_.salt, Pages{6}, store_, kPageSize).ok());
  control_.captured = 3;
  save({7});
  save({8});

  EXPECT_EQ(replayed(header_), (Pages{5, 6, 7, 8}));
}

TEST_F(UndoLogTest, MissingBatchesInBetweenAreAnError) {
  save({5});
  const std::uint64_t second = kEvenArea + control_.ends[0];
  save({6});
  control_.captured = 3;
  save({7});
  damage(second + 2000);

  const Status status = log_.replay(header_, [](auto, auto) -> Status { return Done{}; });
  EXPECT_EQ(status.error().code, Code::corrupt);
}

TEST_F(UndoLogTest, AnErrorOfTheCallerEndsTheReplay) {
  save({5});

  const Status status = log_.replay(header_, [](auto, auto) -> Status {
    return Error{Code::full, "no space"};
  });
  EXPECT_EQ(status.error().code, Code::full);
}

TEST_F(UndoLogTest, APageBeyondTheEndOfTheStoreIsAnError) {
  EXPECT_EQ(log_.append(control_, 0, Pages{5000}, store_, kPageSize).error().code, Code::corrupt);
}

TEST_F(UndoLogTest, SharedLocksAndThoseOfOtherBytesDoNotExcludeEachOther) {
  UndoFile other = std::move(**UndoFile::open(folder_ + "/store"));
  const Result<UndoFileLock> first = UndoFileLock::take(store_, 100, UndoFile::Lock::shared);

  EXPECT_TRUE(UndoFileLock::take(other, 100, UndoFile::Lock::shared).ok());
  EXPECT_TRUE(UndoFileLock::take(other, 101, UndoFile::Lock::exclusive).ok());
}

}  // namespace undo_log_test
}  // namespace mayfly::internal
