// SPDX-License-Identifier: Apache-2.0
// What LMDB writes is sound, whatever the shape; what is cut off or damaged at random never makes
// the check crash or hang. page_check_damage_test.cc has each kind of damage.

#include "store/check/page_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "store/check/page_check_fixture.h"

namespace mayfly::internal {
namespace page_check_test {

// The same as LMDB says of itself.
void expect_agrees_with_lmdb(LmdbFile& file, const MetaRecord& meta) {
  MDB_envinfo info;
  MDB_stat stat;
  LmdbFile::must(mdb_env_info(file.env(), &info));
  LmdbFile::must(mdb_env_stat(file.env(), &stat));
  EXPECT_EQ(meta.txnid, info.me_last_txnid);
  EXPECT_EQ(meta.last_page, info.me_last_pgno);
  EXPECT_EQ(meta.map_bytes, info.me_mapsize);
  EXPECT_EQ(meta.page_bytes(), stat.ms_psize);
  EXPECT_EQ(meta.main_tree.depth, stat.ms_depth);
  EXPECT_EQ(meta.main_tree.branch_pages, stat.ms_branch_pages);
  EXPECT_EQ(meta.main_tree.leaf_pages, stat.ms_leaf_pages);
  EXPECT_EQ(meta.main_tree.overflow_pages, stat.ms_overflow_pages);
  EXPECT_EQ(meta.main_tree.entries, stat.ms_entries);
}

PageCheck expect_sound(const std::vector<std::byte>& bytes, std::uint64_t txnid = 0) {
  PageCheck check = check_pages(bytes, txnid);
  EXPECT_EQ(check.problems, std::vector<std::string>{});
  return check;
}

class PageCheckTest : public testing::Test {
 protected:
  // Of both snapshots that the file has.
  PageCheck expect_file_sound() {
    const Image image(file_.bytes());
    const MetaRecord meta = image.meta();
    expect_agrees_with_lmdb(file_, meta);
    const auto facts = read_meta(image.bytes);
    EXPECT_TRUE(facts.ok());
    EXPECT_EQ(facts->page_bytes, meta.page_bytes());
    EXPECT_EQ(facts->txnid, meta.txnid);
    EXPECT_EQ(facts->last_page, meta.last_page);

    if (meta.txnid > 1) expect_sound(image.bytes, meta.txnid - 1);
    PageCheck check = expect_sound(image.bytes);
    EXPECT_EQ(check.pages + check.free_pages + check.unreferenced, meta.last_page + 1);
    return check;
  }

  void fill(const char* tree, std::size_t keys, std::size_t value_bytes) {
    MDB_txn* txn = file_.begin();
    for (std::size_t i = 0; i < keys; ++i) {
      LmdbFile::put(txn, tree, numbered_key(i * 7919 % 99991), std::string(value_bytes, 'v'));
    }
    LmdbFile::commit(txn);
  }

  LmdbFile file_;
};

TEST_F(PageCheckTest, AnEmptyFileIsSound) {
  const PageCheck check = expect_file_sound();
  EXPECT_EQ(check.pages, 2u);
  EXPECT_EQ(check.free_pages, 0u);
  EXPECT_EQ(check.unreferenced, 0u);
}

// Both meta pages of a new file have transaction 0.
TEST_F(PageCheckTest, EitherMetaPageOfAnEmptyFileWillDo) {
  for (const std::uint64_t page : {0, 1}) {
    Image image(file_.bytes());
    image.poke(page * 4096 + 16, std::uint32_t{0});
    EXPECT_EQ(check_pages(image.bytes, 0).problems.size(), 1u);
  }
}

TEST_F(PageCheckTest, AFileOfOneKeyIsSound) {
  fill("tree", 1, 5);
  EXPECT_EQ(expect_file_sound().pages, 4u);  // two meta pages, the main tree, the tree
}

TEST_F(PageCheckTest, KeysInTheMainTreeAreSound) {
  fill(nullptr, 500, 20);
  expect_file_sound();
}

TEST_F(PageCheckTest, ADeepTreeIsSound) {
  MDB_txn* txn = file_.begin();
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::string key = numbered_key(i * 7919 % 99991);
    LmdbFile::put(txn, "tree", std::string(480, 'k') + key, "v");
  }
  LmdbFile::commit(txn);
  const Image image(file_.bytes());
  EXPECT_GE(read_tree_record(image.bytes, image.named_record("tree")).depth, 4);
  EXPECT_GT(expect_file_sound().pages, 400u);
}

TEST_F(PageCheckTest, KeysOfAllLengthsAreSound) {
  MDB_txn* txn = file_.begin();
  for (std::size_t bytes = 1; bytes <= 511; ++bytes) {
    LmdbFile::put(txn, "tree", std::string(bytes, 'k'), "");
    LmdbFile::put(txn, "tree", std::string(bytes, '\xff'), std::string(bytes % 7, 'v'));
  }
  LmdbFile::commit(txn);
  expect_file_sound();
}

TEST_F(PageCheckTest, LargeValuesAreSound) {
  MDB_txn* txn = file_.begin();
  for (std::size_t bytes : {0, 1, 2000, 2030, 2040, 4079, 4080, 4081, 8175, 8176, 8177, 300000}) {
    LmdbFile::put(txn, "tree", numbered_key(bytes), std::string(bytes, 'v'));
  }
  LmdbFile::commit(txn);
  EXPECT_GT(expect_file_sound().pages, 75u);
}

TEST_F(PageCheckTest, AValueThatShrankInItsTransactionIsSound) {
  MDB_txn* txn = file_.begin();
  LmdbFile::put(txn, "tree", "key", std::string(50000, 'v'));
  LmdbFile::put(txn, "tree", "key", std::string(5000, 'v'));
  LmdbFile::commit(txn);
  expect_file_sound();
}

TEST_F(PageCheckTest, SeveralTreesAreSoundAfterDeletesAndDrops) {
  for (const char* tree : {"one", "two", "three", "four"}) fill(tree, 2000, 30);
  MDB_txn* txn = file_.begin();
  LmdbFile::drop(txn, "one", true);
  LmdbFile::drop(txn, "two", false);
  for (std::size_t i = 0; i < 1990; ++i) {
    LmdbFile::erase(txn, "three", numbered_key(i * 7919 % 99991));
  }
  LmdbFile::commit(txn);
  EXPECT_GT(expect_file_sound().free_pages, 50u);
}

// A reader keeps LMDB from reusing pages. From 256 on, integer keys are not ordered as bytes.
TEST_F(PageCheckTest, ManyFreeListRecordsAreSound) {
  fill("tree", 2000, 30);
  MDB_txn* reader = file_.begin(MDB_RDONLY);
  for (int i = 0; i < 300; ++i) fill("tree", 3, 30);
  const MetaRecord meta = Image(file_.bytes()).meta();
  EXPECT_GE(meta.free_tree.depth, 2);
  EXPECT_GE(meta.free_tree.entries, 299u);
  expect_file_sound();
  mdb_txn_abort(reader);
  fill("tree", 2000, 31);
  expect_file_sound();
}

TEST_F(PageCheckTest, AFreeListInOverflowPagesIsSound) {
  fill("tree", 60000, 100);
  MDB_txn* txn = file_.begin();
  LmdbFile::drop(txn, "tree", true);
  LmdbFile::commit(txn);
  EXPECT_GT(Image(file_.bytes()).meta().free_tree.overflow_pages, 1u);
  EXPECT_GT(expect_file_sound().free_pages, 1500u);
}

TEST_F(PageCheckTest, ACompactedCopyIsSound) {
  fill("tree", 5000, 30);
  fill("tree", 5000, 31);
  const std::string path = file_.path() + "-copy";
  std::filesystem::remove(path);
  LmdbFile::must(mdb_env_copy2(file_.env(), path.c_str(), MDB_CP_COMPACT));
  const PageCheck check = expect_sound(LmdbFile::read(path));
  std::filesystem::remove(path);
  EXPECT_EQ(check.free_pages + check.unreferenced, 0u);
}

TEST_F(PageCheckTest, RandomTransactionsLeaveASoundFile) {
  std::mt19937 random(20260615);
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  const std::vector<const char*> trees = {nullptr, "a", "b", "c"};
  MDB_txn* reader = nullptr;
  for (int commit = 0; commit < 120 && !HasFailure(); ++commit) {
    MDB_txn* txn = file_.begin();
    const char* tree = trees[below(trees.size())];
    const std::size_t keys = below(3) == 0 ? 50 : 5000;
    const std::size_t value_max = below(4) == 0 ? 9000 : 60;
    const std::size_t erases = below(4);  // of four operations
    for (std::size_t i = below(200); i > 0; --i) {
      const std::string key =
          std::string(below(5) == 0 ? 400 : 1 + below(3), 'k') + numbered_key(below(keys));
      if (below(4) < erases) {
        LmdbFile::erase(txn, tree, key);
      } else {
        LmdbFile::put(txn, tree, key, std::string(below(value_max), 'v'));
      }
    }
    if (tree != nullptr && below(20) == 0) LmdbFile::drop(txn, tree, below(2) == 0);
    LmdbFile::commit(txn);
    if (below(10) == 0) {
      mdb_txn_abort(reader);
      reader = below(2) == 0 ? file_.begin(MDB_RDONLY) : nullptr;
    }
    expect_file_sound();
  }
  mdb_txn_abort(reader);
}

// A small file with a bit of everything; its last pages are free.
class DamagedAtRandomTest : public PageCheckTest {
 protected:
  DamagedAtRandomTest() {
    fill("one", 300, 30);
    fill("two", 3, 9000);
    fill("one", 20, 32);
    fill("three", 600, 30);
    MDB_txn* txn = file_.begin();
    LmdbFile::drop(txn, "three", true);
    LmdbFile::commit(txn);
  }

  // The copy ends where the bytes do, so that ASan sees a read beyond them.
  static PageCheck check_copy(Bytes bytes) {
    const std::vector<std::byte> exact(bytes.begin(), bytes.end());
    (void)read_meta(exact);
    PageCheck check = check_pages(exact, 0);
    EXPECT_LE(check.problems.size(), kPageProblemsMax);
    return check;
  }
};

// A page may be missing if it may be anything: so the two have to agree.
TEST_F(DamagedAtRandomTest, ATruncatedFileIsSoundIfOnlyUnusedPagesAreCut) {
  const Image image(file_.bytes());
  std::size_t sound = 0;
  std::size_t reported = 0;
  for (std::size_t size = 0; size <= image.bytes.size(); size += image.page_bytes()) {
    std::vector<std::byte> garbled = image.bytes;
    std::fill(garbled.begin() + static_cast<std::ptrdiff_t>(size), garbled.end(), std::byte{0xab});
    const bool cut_is_sound = check_copy(Bytes(image.bytes).first(size)).problems.empty();
    EXPECT_EQ(cut_is_sound, check_copy(garbled).problems.empty()) << "at " << size;
    ++(cut_is_sound ? sound : reported);
  }
  EXPECT_GT(sound, 1u);
  EXPECT_GT(reported, 4u);
}

TEST_F(DamagedAtRandomTest, TruncationWithinAPageNeverCrashes) {
  const Image image(file_.bytes());
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    check_copy(Bytes(image.bytes).first(random() % image.bytes.size()));
  }
  for (std::size_t size = 0; size < 200; ++size) check_copy(Bytes(image.bytes).first(size));
}

TEST_F(DamagedAtRandomTest, FlippedBitsNeverCrash) {
  const Image image(file_.bytes());
  std::mt19937 random(2);
  std::vector<std::byte> bytes = image.bytes;
  int reported = 0;
  for (int i = 0; i < 6000; ++i) {
    // Headers and slots are where it hurts: every other flip is at the start of a page.
    const std::size_t in_page = random() % (i % 2 == 0 ? 64 : image.page_bytes());
    const std::size_t at = random() % (bytes.size() / image.page_bytes()) * image.page_bytes();
    const auto bit = static_cast<std::byte>(1u << random() % 8);
    bytes[at + in_page] ^= bit;
    reported += check_pages(bytes, 0).problems.empty() ? 0 : 1;
    if (i % 3 == 0) bytes = image.bytes;  // otherwise damage adds up
  }
  EXPECT_GT(reported, 1000);
}

TEST_F(DamagedAtRandomTest, FieldsWithExtremeValuesNeverCrash) {
  const Image image(file_.bytes());
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    Image damaged = image;
    for (int j = 0; j < 3; ++j) {
      const std::size_t at = random() % (image.bytes.size() / 2 - 4) * 2;
      const std::size_t near = at - at % image.page_bytes() + random() % 80 * 2;
      const std::size_t where = std::min(j == 0 ? near : at, image.bytes.size() - 8);
      const std::uint64_t values[] = {0, 1, 2, 15, 16, 0x7fff, 0xffff, UINT64_MAX, random() % 100};
      damaged.poke(where, static_cast<std::uint16_t>(values[random() % std::size(values)]));
      if (random() % 4 == 0) damaged.poke(where, values[random() % std::size(values)]);
    }
    check_pages(damaged.bytes, 0);
  }
}

TEST_F(DamagedAtRandomTest, SwappedAndGarbledPagesNeverCrash) {
  const Image image(file_.bytes());
  std::mt19937 random(4);
  const std::size_t pages = image.bytes.size() / image.page_bytes();
  for (int i = 0; i < 1000; ++i) {
    Image damaged = image;
    const std::uint64_t from = random() % pages;
    const std::uint64_t to = 2 + random() % (pages - 2);
    std::memcpy(damaged.bytes.data() + damaged.at(to), image.page(from).data(), 4096);
    damaged.poke(damaged.at(to), to);  // its own number
    for (std::size_t at = 16; i % 2 == 0 && at < 4096; ++at) {
      damaged.bytes[damaged.at(to, at)] = static_cast<std::byte>(random());
    }
    check_pages(damaged.bytes, 0);
  }
}

}  // namespace page_check_test
}  // namespace mayfly::internal
