// SPDX-License-Identifier: Apache-2.0
// The disk of the tests must be as unkind as it says.

#include "persist/disk/fake_disk.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mayfly {
namespace fake_disk_test {

using Op = FakeDisk::Op;

// All that a file may hold after a power cut, whatever the lot.
template <class Prepare>
std::set<std::string> outcomes(Prepare prepare, const std::string& path = "d/a") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    FakeDisk disk(seed);
    disk.put("d/a", "old");
    prepare(disk);
    disk.power_cut();
    seen.insert(disk.exists(path) ? disk.bytes(path) : "none");
  }
  return seen;
}

using Outcomes = std::set<std::string>;

TEST(FakeDisk, WhatWasSyncedStaysAndTheRestIsAnyPrefix) {
  EXPECT_EQ(outcomes([](FakeDisk& disk) {
              const auto file = std::move(*disk.append("d/a"));
              EXPECT_TRUE(file->write("12"));
              EXPECT_TRUE(file->sync());
              EXPECT_TRUE(file->write("34"));
            }),
            (Outcomes{"old12", "old123", "old1234"}));
}

TEST(FakeDisk, ATruncationIsNotSafeBeforeASync) {
  EXPECT_EQ(outcomes([](FakeDisk& disk) {
              const auto file = std::move(*disk.append("d/a"));
              EXPECT_TRUE(file->truncate(1));
              EXPECT_TRUE(file->write("x"));
            }),
            (Outcomes{"o", "old", "ox"}));
}

TEST(FakeDisk, ARenamedFileIsThereOrNotUntilTheDirectoryIsSynced) {
  const auto rename = [](FakeDisk& disk) {
    EXPECT_TRUE((*disk.create("d/b"))->write("new"));
    EXPECT_TRUE((*disk.append("d/b"))->sync());
    EXPECT_TRUE(disk.rename("d/b", "d/a"));
  };
  EXPECT_EQ(outcomes(rename), (Outcomes{"new", "old"}));
  EXPECT_EQ(outcomes([&](FakeDisk& disk) {
              rename(disk);
              EXPECT_TRUE(disk.sync_directory("d"));
            }),
            (Outcomes{"new"}));
}

TEST(FakeDisk, SyncingAFileDoesNotSyncItsName) {
  EXPECT_EQ(outcomes(
                [](FakeDisk& disk) {
                  const auto file = std::move(*disk.create("d/b"));
                  EXPECT_TRUE(file->write("new"));
                  EXPECT_TRUE(file->sync());
                },
                "d/b"),
            (Outcomes{"new", "none"}));
}

TEST(FakeDisk, ANewDirectoryMayVanishWithAllThatIsInIt) {
  EXPECT_EQ(outcomes(
                [](FakeDisk& disk) {
                  EXPECT_TRUE(disk.make_directory("d/e"));
                  EXPECT_TRUE(disk.create("d/e/f"));
                  EXPECT_TRUE(disk.sync_directory("d/e"));
                },
                "d/e/f"),
            (Outcomes{"", "none"}));
}

TEST(FakeDisk, WhatAFailedSyncLostIsNotSavedByTheNext) {
  EXPECT_EQ(outcomes([](FakeDisk& disk) {
              const auto file = std::move(*disk.append("d/a"));
              EXPECT_TRUE(file->write("12"));
              disk.fail_next(Op::sync);
              EXPECT_FALSE(file->sync());
              EXPECT_TRUE(file->write("3"));
              EXPECT_TRUE(file->sync());
            }),
            (Outcomes{std::string("old\0\0"
                                  "3",
                                  6)}));
}

TEST(FakeDisk, AFullDiskTakesAPart) {
  FakeDisk disk;
  disk.put("d/a", "old");
  disk.set_room(2);
  const auto file = std::move(*disk.append("d/a"));
  const Status status = file->write("123");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::full);
  EXPECT_EQ(disk.bytes("d/a"), "old12");
  ASSERT_TRUE(file->truncate(3));
  ASSERT_TRUE(file->write("12"));
}

TEST(FakeDisk, FailuresComeWhenTheyWereAskedFor) {
  FakeDisk disk;
  disk.put("d/a", "old");
  disk.fail_next(Op::sync_directory, 2, 1);
  EXPECT_TRUE(disk.sync_directory("d"));
  EXPECT_FALSE(disk.sync_directory("d"));
  EXPECT_FALSE(disk.sync_directory("d"));
  EXPECT_TRUE(disk.sync_directory("d"));
  EXPECT_EQ(disk.count(Op::sync_directory), 4);
}

}  // namespace fake_disk_test
}  // namespace mayfly
