// SPDX-License-Identifier: Apache-2.0
// The append-only file being written: what is on the disk when, and what is left after failures.

#include "persist/aof/aof.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "persist/aof/aof_fixture.h"

namespace mayfly {
namespace aof_test {

using Op = FakeDisk::Op;
using Lines = std::vector<std::string>;

const std::string kSet = command({"SET", "k", "v"});

class AofTest : public ::testing::Test, protected AofFixture {
 protected:
  // A base that holds nothing but a remark.
  void write_base(const std::string& to, std::string_view bytes = "#base\r\n") {
    ASSERT_TRUE((*disk.create(to))->write(bytes));
  }

  void rewrite(Aof& aof) {
    const Result<std::string> base = aof.begin_rewrite();
    ASSERT_TRUE(base) << base.error().message;
    write_base(*base);
    ASSERT_TRUE(aof.finish_rewrite());
  }

  std::string manifest() { return disk.bytes(manifest_path(options)); }
};

TEST_F(AofTest, ANewLogBeginsWithAnEmptyIncrement) {
  Aof aof(disk, options);
  EXPECT_FALSE(aof.is_open());
  ASSERT_TRUE(aof.open());
  EXPECT_TRUE(aof.is_open());
  EXPECT_TRUE(aof.is_in_force());
  EXPECT_EQ(manifest(), "file appendonly.aof.1.incr.aof seq 1 type i\n");
  EXPECT_EQ(aof.size(), 0u);
}

TEST_F(AofTest, WritesNothingBeforeFlush) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  EXPECT_EQ(disk.bytes(path("appendonly.aof.1.incr.aof")), "");
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(disk.bytes(path("appendonly.aof.1.incr.aof")), command({"SELECT", "0"}) + kSet);
  EXPECT_EQ(aof.size(), aof.appended_offset());
  EXPECT_EQ(aof.buffered(), 0u);
}

TEST_F(AofTest, SelectsOnlyWhenTheDatabaseChanges) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  for (const int database : {3, 3, 12, 3}) aof.append(database, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(disk.bytes(path("appendonly.aof.1.incr.aof")), command({"SELECT", "3"}) + kSet + kSet +
                                                               command({"SELECT", "12"}) + kSet +
                                                               command({"SELECT", "3"}) + kSet);
  EXPECT_EQ(lines(), (Lines{"3: SET k v", "3: SET k v", "12: SET k v", "3: SET k v"}));
}

TEST_F(AofTest, GoesOnWhereTheLastOneEnded) {
  for (int i = 0; i < 3; ++i) {
    Aof aof(disk, options);
    ASSERT_TRUE(aof.open());
    EXPECT_EQ(aof.base_size(), aof.size());
    aof.append(i, kSet);
    ASSERT_TRUE(aof.flush(at(0)));
  }
  EXPECT_EQ(lines(), (Lines{"0: SET k v", "1: SET k v", "2: SET k v"}));
}

TEST_F(AofTest, IgnoresCommandsWhileItIsClosed) {
  Aof aof(disk, options);
  aof.append(0, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(aof.appended_offset(), 0u);
  EXPECT_EQ(aof.next_sync(), kNever);
  EXPECT_FALSE(aof.has_unsynced());
}

// ---- Policies ----

TEST_F(AofTest, AlwaysSyncsEveryFlushThatHasSomething) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  const int before = disk.count(Op::sync);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(disk.count(Op::sync), before);
  aof.append(0, kSet);
  EXPECT_TRUE(aof.has_unsynced());
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(disk.count(Op::sync), before + 1);
  EXPECT_EQ(aof.synced_offset(), aof.appended_offset());
}

TEST_F(AofTest, NoNeverSyncsByItself) {
  options.sync = AofSync::no;
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  const int before = disk.count(Op::sync);
  for (int i = 0; i < 10; ++i) {
    aof.append(0, kSet);
    ASSERT_TRUE(aof.flush(at(i * 1'000)));
    EXPECT_EQ(aof.next_sync(), kNever);
  }
  EXPECT_EQ(disk.count(Op::sync), before);
  EXPECT_TRUE(aof.has_unsynced());
  ASSERT_TRUE(aof.sync_now());
  EXPECT_FALSE(aof.has_unsynced());
}

TEST_F(AofTest, APolicyMayBeChangedAtAnyTime) {
  options.sync = AofSync::no;
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  aof.set_sync(AofSync::always);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_FALSE(aof.has_unsynced());
}

TEST_F(AofTest, WithNoSyncOnRewriteTheDiskIsLeftToTheChild) {
  options.no_sync_on_rewrite = true;
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  ASSERT_TRUE(aof.begin_rewrite());
  const int before = disk.count(Op::sync);
  aof.append(0, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(disk.count(Op::sync), before);
  aof.abort_rewrite();
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_FALSE(aof.has_unsynced());
}

// ---- Failures ----

TEST_F(AofTest, AFullDiskLosesAndDoublesNothing) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  const std::uint64_t whole = aof.size();

  disk.set_room(10);
  aof.append(0, command({"SET", "k", "w"}));
  const Status full = aof.flush(at(0));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::full);
  EXPECT_EQ(aof.size(), whole);
  aof.append(0, command({"SET", "k", "x"}));
  EXPECT_FALSE(aof.flush(at(0)));
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));

  disk.heal();
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(lines(), (Lines{"0: SET k v", "0: SET k w", "0: SET k x"}));
  EXPECT_EQ(aof.synced_offset(), aof.appended_offset());
}

TEST_F(AofTest, WhatCouldNotBeCutOffIsCutBeforeTheNextWrite) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  disk.set_room(10);
  disk.fail_next(Op::truncate, 2);
  aof.append(0, kSet);
  EXPECT_FALSE(aof.flush(at(0)));
  EXPECT_EQ(aof.size(), 10u);
  EXPECT_FALSE(aof.flush(at(0)));
  disk.heal();
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));
}

TEST_F(AofTest, WithAlwaysASyncThatFailedIsMadeGoodByWritingAnew) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  disk.fail_next(Op::sync);
  aof.append(0, kSet);
  EXPECT_FALSE(aof.flush(at(0)));
  EXPECT_TRUE(aof.has_unsynced());
  EXPECT_FALSE(aof.is_doubtful());
  ASSERT_TRUE(aof.flush(at(0)));
  disk.power_cut();
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));
}

TEST_F(AofTest, OpenFailsWhereTheLogCannotBeUnderstood) {
  disk.put(manifest_path(options), "nonsense");
  Aof aof(disk, options);
  EXPECT_FALSE(aof.open());
  EXPECT_FALSE(aof.is_open());
  EXPECT_FALSE(aof.begin_rewrite());
}

// ---- Rewriting ----

TEST_F(AofTest, ARewriteReplacesTheOldFiles) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  const Result<std::string> base = aof.begin_rewrite();
  ASSERT_TRUE(base);
  EXPECT_EQ(manifest(),
            "file appendonly.aof.1.incr.aof seq 1 type i\n"
            "file appendonly.aof.2.incr.aof seq 2 type i\n");
  aof.append(0, command({"SET", "k", "meanwhile"}));
  ASSERT_TRUE(aof.flush(at(0)));
  write_base(*base, command({"SET", "k", "base"}));
  ASSERT_TRUE(aof.finish_rewrite());
  EXPECT_FALSE(aof.is_rewriting());
  EXPECT_EQ(manifest(),
            "file appendonly.aof.1.base.aof seq 1 type b\n"
            "file appendonly.aof.2.incr.aof seq 2 type i\n");
  EXPECT_EQ(*disk.list("data/aof"), (Lines{"appendonly.aof.1.base.aof", "appendonly.aof.2.incr.aof",
                                           "appendonly.aof.manifest"}));
  EXPECT_EQ(lines(), (Lines{"0: SET k base", "0: SET k meanwhile"}));
  EXPECT_EQ(aof.size(), disk.bytes(path("appendonly.aof.1.base.aof")).size() +
                            disk.bytes(path("appendonly.aof.2.incr.aof")).size());
  EXPECT_EQ(aof.base_size(), aof.size());
}

TEST_F(AofTest, BasesAreNamedByTheirFormat) {
  options.rdb_preamble = true;
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  const Result<std::string> base = aof.begin_rewrite();
  ASSERT_TRUE(base);
  aof.set_rdb_preamble(false);  // too late for this one
  write_base(*base);
  ASSERT_TRUE(aof.finish_rewrite());
  EXPECT_EQ(aof.manifest().base->name, "appendonly.aof.1.base.rdb");
}

TEST_F(AofTest, AnAbortedRewriteKeepsEverything) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  for (int i = 0; i < 3; ++i) {
    aof.append(i, kSet);
    const Result<std::string> base = aof.begin_rewrite();
    ASSERT_TRUE(base);
    write_base(*base);
    aof.abort_rewrite();
    EXPECT_FALSE(disk.exists(*base));
  }
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(lines(), (Lines{"0: SET k v", "1: SET k v", "2: SET k v"}));
}

TEST_F(AofTest, RewritesWithoutAWriteBetweenThemShareAnIncrement) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(aof.begin_rewrite());
    aof.abort_rewrite();
  }
  EXPECT_EQ(aof.manifest().increments.size(), 1u);
  rewrite(aof);
  rewrite(aof);
  EXPECT_EQ(manifest(),
            "file appendonly.aof.2.base.aof seq 2 type b\n"
            "file appendonly.aof.1.incr.aof seq 1 type i\n");
}

TEST_F(AofTest, ABaseThatIsMissingAbortsTheRewrite) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  ASSERT_TRUE(aof.begin_rewrite());
  EXPECT_FALSE(aof.finish_rewrite());
  EXPECT_FALSE(aof.is_rewriting());
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));
}

TEST_F(AofTest, AManifestThatCannotBeWrittenAbortsTheRewrite) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  const Result<std::string> base = aof.begin_rewrite();
  ASSERT_TRUE(base);
  write_base(*base);
  disk.set_room(0);
  EXPECT_FALSE(aof.finish_rewrite());
  disk.heal();
  EXPECT_FALSE(aof.is_rewriting());
  EXPECT_FALSE(aof.manifest().base);
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));
  rewrite(aof);
  EXPECT_EQ(lines(), Lines{});
}

TEST_F(AofTest, ARewriteThatCannotBeginLeavesTheLogAsItWas) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  for (const Op op : {Op::write, Op::sync, Op::create, Op::sync_directory, Op::rename}) {
    disk.fail_next(op);
    EXPECT_FALSE(aof.begin_rewrite());
    EXPECT_FALSE(aof.is_rewriting());
    EXPECT_EQ(aof.manifest().increments.size(), 1u);
  }
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));
}

TEST_F(AofTest, NothingIsWrittenToAnIncrementThatAPowerCutCouldForget) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  aof.append(0, kSet);
  disk.fail_next(Op::sync_directory, 2, 1);  // the manifest is renamed, but that is not durable
  EXPECT_FALSE(aof.begin_rewrite());
  EXPECT_EQ(aof.manifest().increments.size(), 2u);
  aof.append(1, kSet);
  EXPECT_FALSE(aof.flush(at(0)));
  EXPECT_EQ(disk.bytes(path("appendonly.aof.2.incr.aof")), "");
  ASSERT_TRUE(aof.flush(at(0)));
  disk.power_cut();
  EXPECT_EQ(lines(), (Lines{"0: SET k v", "1: SET k v"}));
}

TEST_F(AofTest, NothingOldIsRemovedBeforeTheNewManifestIsDurable) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    FakeDisk cut_disk(seed);
    cut_disk.put("data/dump.rdb", "");
    Aof aof(cut_disk, options);
    ASSERT_TRUE(aof.open());
    aof.append(0, kSet);
    const Result<std::string> base = aof.begin_rewrite();
    ASSERT_TRUE(base);
    ASSERT_TRUE((*cut_disk.create(*base))->write(kSet));
    cut_disk.fail_next(Op::sync_directory, 3, 1);
    EXPECT_FALSE(aof.finish_rewrite());
    EXPECT_FALSE(aof.is_rewriting());
    cut_disk.power_cut();
    const Loaded loaded = load_aof(cut_disk, options);
    ASSERT_EQ(loaded.error, "") << seed;
    ASSERT_EQ(loaded.lines, (Lines{"0: SET k v"})) << seed;
  }
}

TEST_F(AofTest, OpenMakesSafeWhatAProcessThatWasKilledHasWritten) {
  options.sync = AofSync::no;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    FakeDisk cut_disk(seed);
    cut_disk.put("data/dump.rdb", "");
    {
      Aof killed(cut_disk, options);
      ASSERT_TRUE(killed.open());
      cut_disk.fail_next(Op::sync_directory, 1, 1);
      killed.append(0, kSet);
      EXPECT_FALSE(killed.begin_rewrite());  // the new manifest is there, but not durable
    }
    Aof aof(cut_disk, options);
    ASSERT_TRUE(aof.open());
    aof.append(1, kSet);
    ASSERT_TRUE(aof.sync_now());
    cut_disk.power_cut();
    ASSERT_EQ(load_aof(cut_disk, options).lines, (Lines{"0: SET k v", "1: SET k v"})) << seed;
  }
}

TEST_F(AofTest, HistoryThatACrashHasLeftIsRemovedByOpen) {
  disk.put(path("appendonly.aof.2.base.aof"), "");
  disk.put(path("appendonly.aof.1.base.aof"), "old");
  disk.put(path("temp-appendonly.aof.3.base.aof"), "half");
  disk.put(path("other"), "not ours");
  disk.put(manifest_path(options),
           "file appendonly.aof.2.base.aof seq 2 type b\n"
           "file appendonly.aof.1.base.aof seq 1 type h\n");
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  EXPECT_EQ(*disk.list("data/aof"), (Lines{"appendonly.aof.1.incr.aof", "appendonly.aof.2.base.aof",
                                           "appendonly.aof.manifest", "other"}));
  EXPECT_EQ(manifest(),
            "file appendonly.aof.2.base.aof seq 2 type b\n"
            "file appendonly.aof.1.incr.aof seq 1 type i\n");
}

TEST_F(AofTest, ALogSwitchedOnWithKeysIsNotInForceBeforeItsBaseIs) {
  Aof aof(disk, options);
  const Result<std::string> base = aof.begin_rewrite();
  ASSERT_TRUE(base);
  EXPECT_TRUE(aof.is_open());
  EXPECT_FALSE(aof.is_in_force());
  aof.append(0, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_TRUE(aof.has_unsynced());
  EXPECT_EQ(aof.synced_offset(), 0u);
  EXPECT_FALSE(load().report.found);

  write_base(*base, command({"SET", "k", "base"}));
  ASSERT_TRUE(aof.finish_rewrite());
  EXPECT_TRUE(aof.is_in_force());
  EXPECT_FALSE(aof.has_unsynced());
  EXPECT_EQ(lines(), (Lines{"0: SET k base", "0: SET k v"}));
}

TEST_F(AofTest, ALogSwitchedOnAgainLeavesTheOldOneUntilItsBaseIsThere) {
  {
    Aof aof(disk, options);
    ASSERT_TRUE(aof.open());
    aof.append(0, kSet);
    ASSERT_TRUE(aof.flush(at(0)));
  }
  Aof aof(disk, options);
  ASSERT_TRUE(aof.begin_rewrite());
  aof.append(5, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));
  aof.abort_rewrite();
  EXPECT_FALSE(aof.is_open());
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));

  rewrite(aof);
  EXPECT_EQ(lines(), Lines{});
  EXPECT_EQ(manifest(),
            "file appendonly.aof.1.base.aof seq 1 type b\n"
            "file appendonly.aof.2.incr.aof seq 2 type i\n");
}

TEST_F(AofTest, WhatAnAbortedBeginningDroppedCastsNoDoubt) {
  Aof aof(disk, options);
  ASSERT_TRUE(aof.begin_rewrite());
  aof.append(0, kSet);
  aof.abort_rewrite();
  EXPECT_EQ(aof.synced_offset(), 0u);
  const Result<std::string> base = aof.begin_rewrite();
  ASSERT_TRUE(base);
  aof.append(0, kSet);
  disk.fail_next(Op::sync);
  EXPECT_FALSE(aof.flush(at(0)));
  EXPECT_FALSE(aof.is_doubtful());
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(aof.synced_offset(), 0u);
  write_base(*base);
  ASSERT_TRUE(aof.finish_rewrite());
  EXPECT_EQ(aof.synced_offset(), aof.appended_offset());
}

// ---- The file of a Redis before 7 ----

TEST_F(AofTest, AnOldFileIsTakenOverAsTheBase) {
  disk.put("data/appendonly.aof", kSet);
  EXPECT_EQ(lines(), (Lines{"0: SET k v"}));
  Aof aof(disk, options);
  ASSERT_TRUE(aof.open());
  EXPECT_EQ(aof.size(), kSet.size());
  EXPECT_FALSE(disk.exists("data/appendonly.aof"));
  EXPECT_EQ(manifest(),
            "file appendonly.aof seq 1 type b\n"
            "file appendonly.aof.1.incr.aof seq 1 type i\n");
  aof.append(1, kSet);
  ASSERT_TRUE(aof.flush(at(0)));
  EXPECT_EQ(lines(), (Lines{"0: SET k v", "1: SET k v"}));
  rewrite(aof);
  EXPECT_FALSE(disk.exists(path("appendonly.aof")));
}

TEST_F(AofTest, APowerCutWhileAnOldFileIsTakenOverLosesNothing) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    FakeDisk cut_disk(seed);
    cut_disk.put("data/appendonly.aof", kSet);
    const Op failing = static_cast<Op>(seed % 7);
    cut_disk.fail_next(failing);
    Aof aof(cut_disk, options);
    (void)aof.open();
    cut_disk.heal();
    cut_disk.power_cut();
    const Loaded loaded = load_aof(cut_disk, options);
    ASSERT_EQ(loaded.error, "") << seed;
    ASSERT_EQ(loaded.lines, (Lines{"0: SET k v"})) << seed;
  }
}

}  // namespace aof_test
}  // namespace mayfly
