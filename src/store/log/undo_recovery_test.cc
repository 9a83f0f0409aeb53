// SPDX-License-Identifier: Apache-2.0
// The recovery of stores of version 1: of files that version 1 has left (tests/golden/store_v1),
// and of undo logs made here, batch by batch.

#include "store/log/undo_recovery.h"

#include <gtest/gtest.h>
#include <lmdb.h>
#include <xxhash.h>

#include <fstream>
#include <map>

#include "store/api/store_fixture.h"
#include "store/check/page_check.h"
#include "store/lmdb/page_format.h"

namespace mayfly::internal {
namespace undo_recovery_test {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAreas = 4 * kPage;    // of the log, after its headers
constexpr std::size_t kTurn = 1 << 20;       // of an area, before one of the other
constexpr std::size_t kHeaderBytes = 248;    // with the checksum in the last 8
constexpr std::size_t kSlot0 = kPage;        // the header of the even generations
constexpr std::size_t kFailedOffset = 72;    // in the control block
constexpr std::size_t kControlBytes = 88;    // with the checksum in the last 8
constexpr std::size_t kBatchHeadBytes = 48;  // likewise
constexpr char kGolden[] = "tests/golden/store_v1/";

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void set_word(std::string& bytes, std::size_t offset, std::uint64_t word) {
  std::memcpy(bytes.data() + offset, &word, sizeof word);
}

std::uint64_t word_at(std::string_view bytes, std::size_t offset) {
  return load<std::uint64_t>(std::as_bytes(std::span(bytes)), offset);
}

// Writes the checksum of a block at its end.
void seal(std::string& bytes, std::size_t offset, std::size_t size) {
  set_word(bytes, offset + size - 8, XXH3_64bits(bytes.data() + offset, size - 8));
}

std::string boot_id() { return read_bytes("/proc/sys/kernel/random/boot_id").substr(0, 36); }

// As if the log had been written since the machine was started.
std::string of_this_boot(std::string log) {
  for (const std::size_t slot : {kSlot0, kSlot0 + kPage}) {
    log.replace(slot + 48, 36, boot_id());
    seal(log, slot, kHeaderBytes);
  }
  return log;
}

bool is_sound(std::string_view store) {
  return check_pages(std::as_bytes(std::span(store)), 0).problems.empty();
}

std::string escaped(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = bytes.empty() ? "\\" : "";
  for (const char byte : bytes) {
    if (byte > ' ' && byte <= '~' && byte != '\\') {
      text += byte;
    } else {
      text.append("\\x") += kDigits[static_cast<unsigned char>(byte) >> 4];
      text += kDigits[static_cast<unsigned char>(byte) & 15];
    }
  }
  return text;
}

using Table = std::map<std::string, std::string>;

Table rows_in(MDB_txn* txn, const char* name) {
  Table rows;
  MDB_dbi table = 0;
  MDB_cursor* cursor = nullptr;
  EXPECT_EQ(mdb_dbi_open(txn, name, 0, &table), 0);
  EXPECT_EQ(mdb_cursor_open(txn, table, &cursor), 0);
  MDB_val key{};
  MDB_val value{};
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
    rows.emplace(std::string(static_cast<char*>(key.mv_data), key.mv_size),
                 std::string(static_cast<char*>(value.mv_data), value.mv_size));
  }
  mdb_cursor_close(cursor);
  return rows;
}

// All rows of a store as LMDB shows them, in the form of the golden files.
std::string tables_of(const std::string& path) {
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  EXPECT_EQ(mdb_env_create(&env), 0);
  EXPECT_EQ(mdb_env_set_maxdbs(env, 100), 0);
  EXPECT_EQ(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK, 0600), 0);
  EXPECT_EQ(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
  std::string text;
  const auto add = [&](const std::string& table, const Table& rows) {
    for (const auto& [key, value] : rows) {
      text.append(table).append(" ").append(escaped(key)).append(" ");
      text.append(escaped(value)).append("\n");
    }
  };
  Table main = rows_in(txn, nullptr);
  add("main", {{"mayfly", main["mayfly"]}});
  main.erase("mayfly");
  for (const auto& [name, record] : main) add(name, rows_in(txn, name.c_str()));
  mdb_txn_abort(txn);
  mdb_env_close(env);
  return text;
}

class UndoRecoveryTest : public testing::Test {
 protected:
  static std::string golden(const std::string& name) { return read_bytes(kGolden + name); }

  void place(std::string_view store, std::string_view log) const {
    write_bytes(path_, store);
    write_bytes(undo_, log);
  }
  std::string store() const { return read_bytes(path_); }
  bool has_log() const { return std::filesystem::exists(undo_); }

  // Puts `log` beside a store that needs it; it must be refused, and everything left as it was.
  void expect_refused(const std::string& log, Code code) const {
    const std::string cut = golden("cut");
    place(cut, log);
    EXPECT_EQ(code_of(recover_version_1(path_)), code);
    EXPECT_EQ(store(), cut);
    EXPECT_EQ(read_bytes(undo_), log);
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "store").string();
  const std::string undo_ = path_ + "-undo";
};

// --- Golden files --------------------------------------------------------------------------------

TEST_F(UndoRecoveryTest, APowerCutIsUndone) {
  place(golden("cut"), golden("cut-undo"));
  ASSERT_FALSE(is_sound(store())) << "or else this would prove nothing";
  EXPECT_TRUE(must(needs_version_1_recovery(path_)));

  must(recover_version_1(path_));
  EXPECT_TRUE(is_sound(store()));
  EXPECT_EQ(tables_of(path_), golden("cut.tables"));
  EXPECT_FALSE(has_log());
  EXPECT_FALSE(must(needs_version_1_recovery(path_)));
}

TEST_F(UndoRecoveryTest, IfOnlyTheProcessDiedNothingIsUndone) {
  place(golden("killed"), of_this_boot(golden("killed-undo")));
  EXPECT_FALSE(must(needs_version_1_recovery(path_)));

  must(recover_version_1(path_));
  EXPECT_EQ(store(), golden("killed"));
  EXPECT_EQ(tables_of(path_), golden("killed.same_boot.tables"));
  EXPECT_FALSE(has_log());
}

TEST_F(UndoRecoveryTest, IfTheMachineStoppedAfterThatItGoesBackToTheLastSync) {
  place(golden("killed"), golden("killed-undo"));
  EXPECT_TRUE(must(needs_version_1_recovery(path_)));

  must(recover_version_1(path_));
  EXPECT_TRUE(is_sound(store()));
  EXPECT_EQ(tables_of(path_), golden("killed.other_boot.tables"));
  EXPECT_FALSE(has_log());
}

TEST_F(UndoRecoveryTest, WithoutALogThereIsNothingToDo) {
  write_bytes(path_, golden("clean"));

  EXPECT_FALSE(must(needs_version_1_recovery(path_)));
  must(recover_version_1(path_));
  EXPECT_EQ(store(), golden("clean"));
  EXPECT_EQ(tables_of(path_), golden("clean.tables"));
  EXPECT_FALSE(has_log());
}

TEST_F(UndoRecoveryTest, ASecondRunChangesNothing) {
  place(golden("cut"), golden("cut-undo"));
  must(recover_version_1(path_));
  const std::string once = store();
  must(recover_version_1(path_));
  EXPECT_EQ(store(), once);

  write_bytes(undo_, golden("cut-undo"));
  must(recover_version_1(path_));
  EXPECT_EQ(store(), once);
}

TEST_F(UndoRecoveryTest, AnInterruptedRecoveryIsBegunAgain) {
  const std::string cut = golden("cut");
  place(cut, golden("cut-undo"));
  must(recover_version_1(path_));
  const std::string whole = store();
  ASSERT_EQ(whole.size(), cut.size());

  for (std::size_t done = 0; done <= cut.size(); done += kPage) {  // any part may have been written
    place(whole.substr(0, done) + cut.substr(done), golden("cut-undo"));
    must(recover_version_1(path_));
    EXPECT_EQ(store(), whole) << done;
    place(cut.substr(0, done) + whole.substr(done), golden("cut-undo"));
    must(recover_version_1(path_));
    EXPECT_EQ(store(), whole) << done;
  }
}

TEST_F(UndoRecoveryTest, ALogWhoseRemovalWasLostHasNoEffect) {
  for (const bool same_boot : {false, true}) {
    std::string log = golden("killed-undo");
    if (same_boot) log = of_this_boot(log);
    place(golden("killed"), log);
    std::filesystem::create_hard_link(undo_, folder_ / "kept");
    must(recover_version_1(path_));

    std::filesystem::rename(folder_ / "kept", undo_);
    EXPECT_EQ(read_bytes(undo_).substr(kSlot0, kPage), log.substr(kSlot0, kPage))
        << "the old header stays until the new one is whole";
    EXPECT_FALSE(must(needs_version_1_recovery(path_)));
    write_bytes(path_, "of a later time");
    must(recover_version_1(path_));
    EXPECT_EQ(store(), "of a later time");
    EXPECT_FALSE(has_log());
  }
}

TEST_F(UndoRecoveryTest, TheLogOfAStoreThatIsGoneIsRemoved) {
  write_bytes(undo_, golden("cut-undo"));

  must(recover_version_1(path_));
  EXPECT_FALSE(has_log());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UndoRecoveryTest, ALogThatWasNeverFinishedIsRemoved) {
  write_bytes(path_, golden("clean"));
  write_bytes(undo_ + "-new", "a part of it");

  must(recover_version_1(path_));
  EXPECT_FALSE(std::filesystem::exists(undo_ + "-new"));
  EXPECT_EQ(store(), golden("clean"));
}

// --- Damage --------------------------------------------------------------------------------------

TEST_F(UndoRecoveryTest, ALogWithoutAHeaderIsRefused) {
  std::string log = golden("cut-undo");
  log[kSlot0 + 100] ^= 1;
  log[kSlot0 + kPage + 100] ^= 1;

  expect_refused(log, Code::corrupt);
  EXPECT_EQ(code_of(needs_version_1_recovery(path_)), Code::corrupt);
}

TEST_F(UndoRecoveryTest, ALogThatEndsInTheFirstHeaderIsRefused) {
  const std::string log = golden("cut-undo");
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kSlot0, kSlot0 + 247}) {
    expect_refused(log.substr(0, size), Code::corrupt);
  }
}

// Which batches were durable nobody knows: the log ends at the first that is not whole. What has
// been put back until then does no harm to a recovery with the whole log.
TEST_F(UndoRecoveryTest, ALogThatEndsEarlierPutsItsWholeBatchesBack) {
  const std::string cut = golden("cut");
  const std::string log = golden("cut-undo");
  place(cut, log);
  must(recover_version_1(path_));
  const std::string whole = store();

  for (std::size_t size = kSlot0 + kHeaderBytes; size <= log.size(); size += 2000) {
    std::string expected = whole.substr(0, 2 * kPage) + cut.substr(2 * kPage);
    for (std::size_t at = kAreas; at < size;) {
      const std::size_t count = word_at(log, at + 24);
      const std::size_t images = at + kBatchHeadBytes + count * 8;
      const std::size_t end =
          at + (kBatchHeadBytes + count * (8 + kPage) + kPage - 1) / kPage * kPage;
      for (std::size_t i = 0; end <= size && i < count; ++i) {
        const std::size_t page = word_at(log, at + kBatchHeadBytes + i * 8) * kPage;
        expected.replace(page, kPage, whole, page, kPage);
        EXPECT_EQ(log.compare(images + i * kPage, kPage, whole, page, kPage), 0);
      }
      at = end;
    }
    place(cut, log.substr(0, size));
    must(recover_version_1(path_));
    EXPECT_EQ(store(), expected) << size;
    write_bytes(undo_, log);
    must(recover_version_1(path_));
    EXPECT_EQ(store(), whole) << size;
  }
}

TEST_F(UndoRecoveryTest, AnyDamagedByteIsRefusedOrEndsTheLog) {
  const std::string cut = golden("cut");
  const std::string log = golden("cut-undo");
  place(cut, log);
  must(recover_version_1(path_));
  const std::string whole = store();

  for (std::size_t at = 0; at < log.size(); at += 1009) {
    std::string damaged = log;
    damaged[at] ^= static_cast<char>(1 << at % 8);
    place(cut, damaged);
    const Status status = recover_version_1(path_);
    EXPECT_TRUE(status.ok() || status.error().code == Code::corrupt) << message_of(status);
    EXPECT_EQ(has_log(), !status.ok()) << at;
    const std::string found = store();
    for (std::size_t page = 2 * kPage; page < cut.size(); page += kPage) {
      const std::string bytes = found.substr(page, kPage);
      EXPECT_TRUE(bytes == cut.substr(page, kPage) || bytes == whole.substr(page, kPage)) << at;
    }
    if (at < kSlot0) {
      EXPECT_EQ(store(), whole) << "the control block is of no use after a reboot";
    }
    write_bytes(undo_, log);
    must(recover_version_1(path_));
    EXPECT_EQ(store(), whole) << at;
  }
}

TEST_F(UndoRecoveryTest, AfterAFailedSyncTheStoreIsRefusedUntilTheMachineIsStartedAgain) {
  std::string log = golden("cut-undo");
  set_word(log, kFailedOffset, 1);
  seal(log, 0, kControlBytes);
  expect_refused(of_this_boot(log), Code::io);

  place(golden("cut"), log);
  must(recover_version_1(path_));
  EXPECT_EQ(tables_of(path_), golden("cut.tables"));
}

TEST_F(UndoRecoveryTest, ADamagedControlBlockCountsAsLongAsTheMachineRuns) {
  std::string log = of_this_boot(golden("cut-undo"));
  log[kFailedOffset] ^= 1;

  expect_refused(log, Code::corrupt);
}

TEST_F(UndoRecoveryTest, AMetaPageThatIsNoneIsRefused) {
  std::string log = golden("cut-undo");
  log[kSlot0 + 88 + kPageHeaderBytes] ^= 1;
  seal(log, kSlot0, kHeaderBytes);

  expect_refused(log, Code::corrupt);
}

// --- Logs made here ------------------------------------------------------------------------------

// Beside a store of forty pages full of dots, of which the recovery point has 36: page n gets what
// the log has. The first header is of generation 4.
class MadeUndoLogTest : public UndoRecoveryTest {
 protected:
  static constexpr std::uint64_t kPages = 40;
  static constexpr std::uint64_t kSalt = 77;
  static constexpr std::size_t kLastPage = 35;

  MadeUndoLogTest() : log_(golden("cut-undo").substr(0, kAreas)) {
    log_.replace(kSlot0 + kPage, kPage, kPage, '\0');
    set_header(4, 0, 1);
  }

  void set_header(std::uint64_t generation, std::uint64_t start, std::uint64_t first_sequence,
                  std::uint64_t is_open = 1) {
    const std::size_t slot = kSlot0 + generation % 2 * kPage;
    log_.replace(slot, kHeaderBytes, log_, kSlot0, kHeaderBytes);
    const std::uint64_t words[] = {generation, is_open, start, first_sequence, kSalt};
    std::memcpy(log_.data() + slot + 8, words, sizeof words);
    set_word(log_, slot + 88 + kPageHeaderBytes + 120, kLastPage);
    seal(log_, slot, kHeaderBytes);
  }

  // Appends a batch to the area of its generation: `pages` full of `letter`. Returns its end there.
  std::size_t add(std::uint64_t generation, std::uint64_t sequence,
                  const std::vector<std::uint64_t>& pages, char letter) {
    std::string batch(kBatchHeadBytes, '\0');
    const std::uint64_t head[] = {0x686374616279616d, generation, sequence, pages.size(), kPage, 0};
    std::memcpy(batch.data(), head, sizeof head);
    batch.append(reinterpret_cast<const char*>(pages.data()), pages.size() * 8);
    batch.append(pages.size() * kPage, letter);
    batch.resize((batch.size() + kPage - 1) / kPage * kPage);
    set_word(batch, 40, XXH3_64bits_withSeed(batch.data(), batch.size(), kSalt));
    std::size_t& end = ends_[generation % 2];
    for (const char byte : batch) {
      const std::size_t at = kAreas + (end / kTurn * 2 + generation % 2) * kTurn + end % kTurn;
      if (log_.size() <= at) log_.resize(at + 1);
      log_[at] = byte;
      ++end;
    }
    return end;
  }

  // Recovers, and returns a letter for each page from page 2 on, without the dots at the end.
  std::string recovered() const {
    place(std::string(kPages * kPage, '.'), log_);
    must(recover_version_1(path_));
    EXPECT_FALSE(has_log());
    std::string letters;
    const std::string bytes = store();
    EXPECT_EQ(bytes.size(), kPages * kPage);
    for (std::size_t at = 2 * kPage; at < bytes.size(); at += kPage) {
      letters += bytes[at];
      EXPECT_EQ(bytes.substr(at, kPage), std::string(kPage, bytes[at]));
    }
    return letters.substr(0, letters.find_last_not_of('.') + 1);
  }

  std::string log_;
  std::size_t ends_[2] = {0, 0};
};

TEST_F(MadeUndoLogTest, BothMetaPagesShowTheRecoveryPoint) {
  EXPECT_EQ(recovered(), "");

  LmdbMeta point;
  std::memcpy(point.bytes.data(), log_.data() + kSlot0 + 88, kMetaBytes);
  const std::string bytes = store();
  for (const std::uint64_t number : {0, 1}) {
    const Bytes page = std::as_bytes(std::span(bytes)).subspan(number * kPage, kPage);
    const MetaRecord meta = read_meta_record(page);
    EXPECT_EQ(read_page_header(page).number, number);
    EXPECT_EQ(meta.txnid, point.transaction() - (meta.txnid == point.transaction() ? 0 : 1));
    EXPECT_EQ(meta.txnid % 2, number);
    EXPECT_EQ(meta.main_tree.root, point.record().main_tree.root);
  }
}

TEST_F(MadeUndoLogTest, TheFirstImageOfAPageCounts) {
  add(4, 1, {2, 4}, 'a');
  add(4, 2, {2, 3}, 'b');
  add(5, 3, {3, 4, 5}, 'c');

  EXPECT_EQ(recovered(), "abac");
}

TEST_F(MadeUndoLogTest, TheNewestHeaderSaysWhereItsBatchesBegin) {
  const std::size_t start = add(5, 1, {2}, 'a');
  add(5, 2, {3}, 'b');
  set_header(5, start, 2);

  EXPECT_EQ(recovered(), ".b");
}

TEST_F(MadeUndoLogTest, BatchesOfAnotherGenerationOrNumberEndTheLog) {
  add(4, 1, {2}, 'a');
  add(2, 2, {3}, 'b');
  EXPECT_EQ(recovered(), "a");

  log_.resize(kAreas);
  ends_[0] = 0;
  add(4, 1, {2}, 'a');
  add(4, 3, {3}, 'b');
  EXPECT_EQ(recovered(), "a");
}

TEST_F(MadeUndoLogTest, ABatchThatWasWrittenButNeverConfirmedIsFollowedByOneOfItsNumber) {
  add(4, 1, {2}, 'a');
  add(4, 2, {3}, 'b');
  add(5, 2, {4}, 'c');
  add(5, 3, {5}, 'd');

  EXPECT_EQ(recovered(), "abcd");
}

TEST_F(MadeUndoLogTest, MissingBatchesInBetweenAreDamage) {
  add(4, 1, {2}, 'a');
  add(5, 3, {3}, 'b');
  place(std::string(kPages * kPage, '.'), log_);

  EXPECT_EQ(code_of(recover_version_1(path_)), Code::corrupt);
  EXPECT_TRUE(has_log());
}

TEST_F(MadeUndoLogTest, BatchesGoOnInTheNextTurnOfTheirArea) {
  std::vector<std::uint64_t> many(300, 2);  // more than a turn holds
  many.back() = 3;
  add(4, 1, many, 'a');
  add(4, 2, {4}, 'b');
  add(5, 3, many, 'c');
  add(5, 4, {5}, 'd');

  EXPECT_EQ(recovered(), "aabd");
}

TEST_F(MadeUndoLogTest, PagesBehindTheRecoveryPointAreLeftAlone) {
  add(4, 1, {kLastPage, kLastPage + 1, kPages + 1, std::uint64_t{1} << 60}, 'a');

  EXPECT_EQ(recovered(), std::string(kLastPage - 2, '.') + "a");
}

TEST_F(MadeUndoLogTest, ALogThatIsNotOpenIsOnlyRemoved) {
  add(4, 1, {2}, 'a');
  set_header(5, 0, 1, 0);
  place(std::string(kPages * kPage, '.'), log_);

  EXPECT_FALSE(must(needs_version_1_recovery(path_)));
  must(recover_version_1(path_));
  EXPECT_EQ(store(), std::string(kPages * kPage, '.'));
  EXPECT_FALSE(has_log());
}

TEST_F(MadeUndoLogTest, ATornHeaderGivesWayToTheOlderOne) {
  add(4, 1, {2}, 'a');
  set_header(5, 0, 1, 0);
  log_[kSlot0 + kPage + 200] ^= 1;

  EXPECT_EQ(recovered(), "a");
}

}  // namespace undo_recovery_test
}  // namespace mayfly::internal
