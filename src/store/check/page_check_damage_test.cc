// SPDX-License-Identifier: Apache-2.0
// Every kind of damage is reported. Each test takes a sound file, damages one thing, and expects
// the first problem to say so.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/check/page_check.h"
#include "store/check/page_check_fixture.h"

namespace mayfly::internal {
namespace page_check_damage_test {

using std::string;

// The trees of the file: "branchy" has a branch as root and leaves below it, "large" has one leaf,
// whose first value is in overflow pages, and "small" a leaf. Several transactions freed pages.
class PageDamageTest : public testing::Test {
 protected:
  PageDamageTest() : image_(make()) {
    meta_ = image_.meta_page();
    branch_ = image_.root_of("branchy");
    leaf_ = image_.child(branch_, 1);
    large_ = image_.root_of("large");
    overflow_ = image_.peek<std::uint64_t>(image_.value(large_, 0));
    small_ = image_.root_of("small");
    free_ = image_.meta().free_tree.root;
  }

  static std::vector<std::byte> make() {
    LmdbFile file;
    MDB_txn* reader = nullptr;
    for (int round = 0; round < 5; ++round) {
      MDB_txn* txn = file.begin();
      for (std::size_t i = 0; i < 300; ++i) {
        LmdbFile::put(txn, "branchy", numbered_key(i), string(20, 'v'));
      }
      LmdbFile::put(txn, "large", "a", string(9000, 'v'));
      LmdbFile::put(txn, "large", "b", "v");
      for (const char* key : {"a", "b", "c"}) LmdbFile::put(txn, "small", key, "value-8.");
      LmdbFile::commit(txn);
      if (round == 1) reader = file.begin(MDB_RDONLY);
    }
    mdb_txn_abort(reader);
    return file.bytes();
  }

  // The first problem is about `subject` and has this text.
  void expect_problem(const string& subject, const string& text) {
    const PageCheck check = check_pages(image_.bytes, 0);
    ASSERT_FALSE(check.problems.empty());
    EXPECT_TRUE(check.problems[0].starts_with(subject + " ") ||
                check.problems[0].starts_with(subject + ":"))
        << check.problems[0];
    EXPECT_NE(check.problems[0].find(text), string::npos) << check.problems[0];
    EXPECT_NE(check.problems[0].find("expected"), string::npos) << check.problems[0];
    EXPECT_NE(check.problems[0].find("found"), string::npos) << check.problems[0];
  }
  static string page(std::uint64_t number) { return "page " + std::to_string(number); }
  string meta() const { return "meta page " + std::to_string(meta_); }

  void set_u16(std::size_t at, std::size_t value) {
    image_.poke(at, static_cast<std::uint16_t>(value));
  }
  void set_u32(std::size_t at, std::size_t value) {
    image_.poke(at, static_cast<std::uint32_t>(value));
  }
  void set_u64(std::size_t at, std::uint64_t value) { image_.poke(at, value); }
  void set_child(std::size_t index, std::uint64_t page) {
    set_u32(image_.node(branch_, index), page);
    set_u16(image_.node(branch_, index) + 4, page >> 32);
  }
  // A number of the free list: of the record `record`, by its place in the leaf.
  std::size_t free_word(std::size_t record, std::size_t word) {
    return image_.value(free_, record) + 8 * word;
  }

  Image image_;
  std::uint64_t meta_;
  std::uint64_t branch_;
  std::uint64_t leaf_;
  std::uint64_t large_;
  std::uint64_t overflow_;
  std::uint64_t small_;
  std::uint64_t free_;
};

TEST_F(PageDamageTest, TheFileIsSoundBeforeItIsDamaged) {
  const PageCheck check = check_pages(image_.bytes, 0);
  EXPECT_EQ(check.problems, std::vector<string>{});
  EXPECT_GE(image_.node_count(free_), 3u);
  EXPECT_EQ(read_page_header(image_.page(overflow_)).overflow_pages, 3u);
  EXPECT_GE(image_.node_count(branch_), 3u);
}

// Meta pages.

TEST_F(PageDamageTest, FindsADamagedMetaPage) {
  const Image sound = image_;
  for (std::uint64_t page : {0, 1}) {
    const string name = "meta page " + std::to_string(page);
    const auto expect_damage = [&](std::size_t offset, const string& text) {
      image_ = sound;
      set_u16(sound.at(page, offset), 0x1234);
      expect_problem(name, text);
      EXPECT_TRUE(read_meta(image_.bytes).ok()) << "the other one is valid";
    };
    expect_damage(0, "its own number, found 4660");
    expect_damage(10, "flags 0x8, found 0x1234");
    expect_damage(16, "magic number 0xbeefc0de, found 0xbeef1234");
    expect_damage(20, "version 1, found 4660");
    expect_damage(40, "page size, found 4660");
    image_ = sound;
    set_u16(sound.at(page, 40), 8192);
    expect_problem(name, "page size 4096");
    set_u64(sound.at(page, 16 + 128), 100 + page);  // and it claims to be the newest
    EXPECT_EQ(read_meta(image_.bytes)->page_bytes, 4096u);
    EXPECT_EQ(read_meta(image_.bytes)->txnid, read_meta_record(sound.page(1 - page)).txnid);
  }
}

TEST_F(PageDamageTest, ReadsTheOtherMetaPageIfTheNewestIsDamaged) {
  const std::uint64_t newest = image_.meta().txnid;
  EXPECT_EQ(read_meta(image_.bytes)->txnid, newest);
  set_u16(image_.at(meta_, 16), 0);
  EXPECT_EQ(read_meta(image_.bytes)->txnid, newest - 1);
}

TEST_F(PageDamageTest, FindsATransactionInTheWrongMetaPage) {
  set_u64(image_.txnid_field(), image_.meta().txnid + 1);
  expect_problem(meta(), meta_ == 0 ? "an even transaction" : "an odd transaction");
}

TEST_F(PageDamageTest, FindsALastPageBeyondTheMap) {
  set_u64(image_.last_page_field(), (256 << 20) / 4096 - 1);
  EXPECT_EQ(check_pages(image_.bytes, 0).problems, std::vector<string>{});
  set_u64(image_.last_page_field(), (256 << 20) / 4096);
  expect_problem(meta(), "within the map of 268435456 bytes, found 65536");
  set_u64(image_.last_page_field(), UINT64_MAX);
  expect_problem(meta(), "found 18446744073709551615");
}

TEST_F(PageDamageTest, FindsALastPageThatLeavesNoRoomForTheMetaPages) {
  set_u64(image_.last_page_field(), 0);
  expect_problem(meta(), "last page of at least 1, found 0");
}

TEST_F(PageDamageTest, FindsThatASnapshotIsNotThere) {
  const std::uint64_t newest = image_.meta().txnid;
  EXPECT_TRUE(check_pages(image_.bytes, newest - 1).problems.empty());
  EXPECT_FALSE(check_pages(image_.bytes, newest - 2).problems.empty());
  EXPECT_NE(check_pages(image_.bytes, newest + 1).problems.at(0).find(std::to_string(newest)),
            string::npos);
}

TEST_F(PageDamageTest, AFileWithoutAMetaPageHasAProblem) {
  EXPECT_FALSE(check_pages({}, 0).problems.empty());
  set_u16(image_.at(0, 16), 0);
  set_u16(image_.at(1, 16), 0);
  expect_problem("meta page 0", "magic number");
}

// Records of trees.

TEST_F(PageDamageTest, FindsFlagsThatOurTreesDoNotHave) {
  const Image sound = image_;
  set_u16(image_.named_record("small") + 4, 0x04);
  expect_problem("record of the tree \"small\"", "flags 0x0, found 0x4");
  image_ = sound;
  set_u16(image_.main_record() + 4, 0x08);
  expect_problem("record of the main tree", "flags 0x0, found 0x8");
  image_ = sound;
  set_u16(image_.free_record() + 4, 0x4000);
  expect_problem("record of the free tree", "flags 0x8, found 0x4000");
}

TEST_F(PageDamageTest, FindsATreeThatIsTooDeep) {
  set_u16(image_.named_record("small") + 6, 33);
  expect_problem("record of the tree \"small\"", "depth of at most 32, found 33");
}

TEST_F(PageDamageTest, FindsARootWithoutDepthAndDepthWithoutARoot) {
  const Image sound = image_;
  set_u16(image_.named_record("small") + 6, 0);
  expect_problem("record of the tree \"small\"", "depth 0");
  image_ = sound;
  set_u64(image_.named_record("small") + 40, kNoPage);
  expect_problem("record of the tree \"small\"", "root 0xffffffffffffffff and depth 1");
}

TEST_F(PageDamageTest, FindsLeavesAtAnotherDepth) {
  const Image sound = image_;
  set_u16(image_.named_record("branchy") + 6, 3);
  expect_problem(page(image_.child(branch_, 0)), "flags 0x1 of a branch at this depth, found 0x2");
  image_ = sound;
  set_u16(image_.named_record("branchy") + 6, 1);
  expect_problem(page(branch_), "flags 0x2 of a leaf at this depth, found 0x1");
}

TEST_F(PageDamageTest, FindsAWrongCount) {
  const std::vector<string> counts = {"branch pages", "leaf pages", "overflow pages", "entries"};
  const Image sound = image_;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (const std::size_t record : {sound.named_record("branchy"), sound.named_record("large"),
                                     sound.main_record(), sound.free_record()}) {
      image_ = sound;
      const auto right = image_.peek<std::uint64_t>(record + 8 + 8 * i);
      set_u64(record + 8 + 8 * i, right + 1);
      expect_problem("record of", "expected " + std::to_string(right) + " " + counts[i]);
    }
  }
}

TEST_F(PageDamageTest, FindsCountsInAnEmptyTree) {
  const std::size_t record = image_.named_record("small");
  set_u16(record + 6, 0);
  set_u64(record + 40, kNoPage);
  expect_problem("record of the tree \"small\"", "expected 0 leaf pages");
}

// Pages.

TEST_F(PageDamageTest, FindsAPageWithTheNumberOfAnother) {
  set_u64(image_.at(leaf_), leaf_ + 1);
  expect_problem(page(leaf_), "its own number, found " + std::to_string(leaf_ + 1));
}

TEST_F(PageDamageTest, FindsAPageOfTheWrongKind) {
  set_u16(image_.at(leaf_, 10), kLeafPage | 0x20);
  expect_problem(page(leaf_), "flags 0x2 of a leaf at this depth, found 0x22");
}

TEST_F(PageDamageTest, FindsBoundsThatAreOutOfBounds) {
  const Image sound = image_;
  const std::pair<std::size_t, std::size_t> bounds[] = {{14, 4000}, {17, 4000}, {4002, 4000}};
  for (const auto& [lower, upper] : bounds) {
    set_u16(image_.at(leaf_, 12), lower);
    set_u16(image_.at(leaf_, 14), upper);
    expect_problem(page(leaf_), "found lower " + std::to_string(lower));
  }
  image_ = sound;
  set_u16(image_.at(leaf_, 14), 4098);
  expect_problem(page(leaf_), "upper 4098");
}

TEST_F(PageDamageTest, FindsAnEmptyLeaf) {
  image_.write_leaf(leaf_, {});
  expect_problem(page(leaf_), "expected nodes: 1, found 0");
}

TEST_F(PageDamageTest, FindsABranchOfOneNode) {
  set_u16(image_.at(branch_, 12), 18);
  expect_problem(page(branch_), "expected nodes: 2, found 1");
}

// Nodes.

TEST_F(PageDamageTest, FindsANodeInTheHeaderOrBeyondThePage) {
  for (const std::size_t offset : {0, 15, 4090, 4096, 65535}) {
    set_u16(image_.slot(leaf_, 1), offset);
    expect_problem(page(leaf_), "found it at " + std::to_string(offset));
  }
}

TEST_F(PageDamageTest, FindsAKeyOrAValueThatLeavesThePage) {
  const Image sound = image_;
  set_u16(image_.node(leaf_, 1) + 6, 0xffff);
  expect_problem(page(leaf_), "node 1 to end by 4096");
  image_ = sound;
  set_u32(image_.node(leaf_, 1), 0xffffffff);
  expect_problem(page(leaf_), "node 1 to end by 4096");
  image_ = sound;
  set_u32(image_.node(small_, 0), 10);  // the last in the page, which had 8 bytes and a pad
  expect_problem(page(small_), "node 0 to end by 4096, found its end at 4098");
}

TEST_F(PageDamageTest, FindsNodesThatOverlap) {
  set_u16(image_.slot(leaf_, 2), image_.peek<std::uint16_t>(image_.slot(leaf_, 1)));
  expect_problem(page(leaf_), "where the one before it ends");
}

TEST_F(PageDamageTest, FindsAValueWhoseSizeChanged) {
  const Image sound = image_;
  const auto bytes = image_.peek<std::uint32_t>(image_.node(small_, 1));
  set_u32(image_.node(small_, 1), bytes - 4);
  expect_problem(page(small_), "where the one before it ends");
  image_ = sound;
  set_u32(image_.node(small_, 0), bytes - 4);  // the first one written is the last in the page
  expect_problem(page(small_), "the nodes to end with the page");
}

TEST_F(PageDamageTest, FindsSeveralValuesOfOneKey) {
  set_u16(image_.node(leaf_, 1) + 4, kDuplicateValue);
  expect_problem(page(leaf_), "found 0x4 (several values)");
}

TEST_F(PageDamageTest, FindsUnknownFlagsOfANode) {
  set_u16(image_.node(leaf_, 1) + 4, 0x10);
  expect_problem(page(leaf_), "found 0x10");
}

TEST_F(PageDamageTest, FindsATreeWithinANamedTree) {
  image_.write_leaf(small_, {{"a", string(48, 'r')}, {"b", ""}, {"c", ""}});
  set_u16(image_.node(small_, 0) + 4, kTreeValue);
  expect_problem(page(small_), "found 0x2");
}

TEST_F(PageDamageTest, FindsARecordOfATreeThatIsTooShort) {
  const std::uint64_t root = image_.meta().main_tree.root;
  image_.write_leaf(root, {{"tree", string(46, 'r')}});
  set_u16(image_.node(root, 0) + 4, kTreeValue);
  expect_problem(page(root), "48 bytes of the record of the tree \"tree\", found 46");
}

// Keys.

TEST_F(PageDamageTest, FindsAKeyOfAnImpossibleSize) {
  image_.write_leaf(small_, {{"", "v"}, {"b", ""}, {"c", ""}});
  expect_problem(page(small_), "1 to 511 bytes as key 0, found 0");
  image_.write_leaf(small_, {{"a", "v"}, {string(512, 'b'), ""}, {"c", ""}});
  expect_problem(page(small_), "1 to 511 bytes as key 1, found 512");
  image_.write_leaf(small_, {{"a", "v"}, {string(511, 'b'), ""}, {"c", ""}});
  EXPECT_EQ(check_pages(image_.bytes, 0).problems, std::vector<string>{});
}

TEST_F(PageDamageTest, FindsKeysThatDoNotAscend) {
  image_.write_leaf(small_, {{"a", ""}, {"c", ""}, {"b", ""}});
  expect_problem(page(small_), "key 2 above \"c\", found \"b\"");
  image_.write_leaf(small_, {{"a", ""}, {"b", ""}, {"b", ""}});
  expect_problem(page(small_), "key 2 above \"b\", found \"b\"");
  image_.write_leaf(small_, {{"a", ""}, {"bb", ""}, {"b", ""}});
  expect_problem(page(small_), "key 2 above \"bb\", found \"b\"");
  image_.write_leaf(small_, {{"a", ""}, {"b\xff", ""}, {"b\x01", ""}});
  expect_problem(page(small_), "key 2 above \"b\\xff\", found \"b\\x01\"");
  image_.write_leaf(small_, {{"a", ""}, {string(1, '\0'), ""}, {"c", ""}});
  expect_problem(page(small_), "found \"\\x00\"");
  image_.write_leaf(small_, {{"b", ""}, {"bb", ""}, {"\xff", ""}});
  EXPECT_EQ(check_pages(image_.bytes, 0).problems, std::vector<string>{});
}

TEST_F(PageDamageTest, FindsSeparatorsThatDoNotAscend) {
  const std::size_t first = image_.node(branch_, 1) + 8;
  image_.bytes[first] = std::byte{'z'};
  expect_problem(page(branch_), "key 2 above \"zey-");
}

TEST_F(PageDamageTest, FindsAKeyOutsideOfItsSeparators) {
  const Image sound = image_;
  const std::size_t last = image_.node_count(leaf_) - 1;
  image_.bytes[image_.node(leaf_, 0) + 8] = std::byte{'a'};
  expect_problem(page(leaf_), "no key below the separator \"key-");
  image_ = sound;
  image_.bytes[image_.node(leaf_, last) + 8] = std::byte{'z'};
  expect_problem(page(leaf_), "all keys below the separator \"key-");
}

// A key that equals the separator of the next leaf belongs there.
TEST_F(PageDamageTest, FindsAKeyThatEqualsTheNextSeparator) {
  const std::size_t separator = image_.node(branch_, 2) + 8;
  const std::size_t last = image_.node(leaf_, image_.node_count(leaf_) - 1) + 8;
  std::copy_n(image_.bytes.begin() + static_cast<std::ptrdiff_t>(separator), 9,
              image_.bytes.begin() + static_cast<std::ptrdiff_t>(last));
  expect_problem(page(leaf_), "all keys below the separator");
}

TEST_F(PageDamageTest, FindsAFreeListKeyThatIsNoInteger) {
  image_.write_leaf(free_, {{"seven77", string(8, '\0')}});
  expect_problem(page(free_), "an integer of 8 bytes as key 0, found 7");
}

TEST_F(PageDamageTest, FindsFreeListKeysThatDoNotAscend) {
  const auto second = image_.peek<std::uint64_t>(image_.node(free_, 1) + 8);
  set_u64(image_.node(free_, 0) + 8, second);
  expect_problem(page(free_), "key 1 above");
}

// Overflow pages.

TEST_F(PageDamageTest, FindsAnOverflowPageWithTheNumberOfAnother) {
  set_u64(image_.at(overflow_), 1);
  expect_problem(page(overflow_), "its own number, found 1");
}

TEST_F(PageDamageTest, FindsALargeValueThatIsNotInAnOverflowPage) {
  set_u16(image_.at(overflow_, 10), kLeafPage);
  expect_problem(page(overflow_), "flags 0x4 of an overflow page, found 0x2");
}

TEST_F(PageDamageTest, FindsTooFewOverflowPages) {
  const Image sound = image_;
  set_u32(image_.at(overflow_, 12), 2);
  expect_problem(page(overflow_), "9000 bytes of key \"a\" in " + page(large_) + ": 3, found 2");
  image_ = sound;
  set_u32(image_.node(large_, 0), 3 * 4096 - 15);  // one byte more than fits
  expect_problem(page(overflow_), ": 4, found 3");
  set_u32(image_.node(large_, 0), 3 * 4096 - 16);
  EXPECT_EQ(check_pages(image_.bytes, 0).problems, std::vector<string>{});
}

TEST_F(PageDamageTest, FindsTooManyOverflowPages) {
  image_.bytes.resize(image_.bytes.size() + 4 * 4096);
  set_u32(image_.at(overflow_, 12), 0xffffffff);
  expect_problem(page(overflow_ + 1), "up to the last one");
  expect_problem(page(overflow_ + 1), "; found 4294967294 used from here by the tree \"large\"");
}

// Uses of pages.

TEST_F(PageDamageTest, FindsAPageThatIsUsedTwice) {
  set_child(2, leaf_);
  expect_problem(page(leaf_), "one use, found a second one by the tree \"branchy\"");
}

TEST_F(PageDamageTest, FindsAPageThatTwoTreesUse) {
  set_u64(image_.named_record("small") + 40, large_);
  expect_problem(page(large_), "one use, found a second one by the tree \"small\"");
}

TEST_F(PageDamageTest, FindsAnOverflowPageThatIsUsedTwice) {
  set_u64(image_.named_record("small") + 40, overflow_ + 2);
  expect_problem(page(overflow_ + 2), "found a second one");
}

TEST_F(PageDamageTest, FindsACycle) {
  set_u16(image_.named_record("branchy") + 6, 32);
  set_child(0, branch_);
  expect_problem(page(branch_), "found a second one");
}

TEST_F(PageDamageTest, FindsTheUseOfAMetaPage) {
  for (const std::uint64_t number : {0, 1}) {
    set_child(1, number);
    expect_problem(page(number), "a meta page, found a use by the tree \"branchy\"");
  }
}

TEST_F(PageDamageTest, FindsAPageBeyondTheLastOne) {
  const std::uint64_t last = image_.meta().last_page;
  image_.bytes.resize(image_.bytes.size() + 4 * 4096);
  for (const std::uint64_t number : {last + 1, std::uint64_t{0xffffffffffff}}) {
    set_child(1, number);
    expect_problem(page(number), "up to the last one, " + std::to_string(last));
  }
  set_u64(image_.value(large_, 0), UINT64_MAX);
  set_u64(image_.named_record("branchy") + 40, kNoPage - 1);
  expect_problem(page(kNoPage - 1), "up to the last one");
}

TEST_F(PageDamageTest, FindsAPageBeyondTheEndOfTheFile) {
  image_.bytes.resize(image_.at(overflow_ + 3) - 1);
  const auto problems = check_pages(image_.bytes, 0).problems;
  const string text = "in the file, which ends before page " + std::to_string(overflow_ + 2);
  EXPECT_TRUE(std::ranges::any_of(
      problems, [&text](const string& problem) { return problem.find(text) != string::npos; }));
}

// The free list.

TEST_F(PageDamageTest, FindsAPageThatIsUsedAndFree) {
  set_u64(free_word(0, 1), leaf_);
  const auto problems = check_pages(image_.bytes, 0).problems;
  const string text = page(leaf_) + ": expected used or free, found both";
  EXPECT_TRUE(std::ranges::any_of(
      problems, [&text](const string& problem) { return problem.starts_with(text); }));
}

TEST_F(PageDamageTest, FindsAPageThatIsFreeTwice) {
  const auto first = image_.peek<std::uint64_t>(free_word(0, 1));
  set_u64(free_word(1, 0), 1);
  set_u64(free_word(1, 1), first);
  expect_problem(page(first), "in the free list once");
}

TEST_F(PageDamageTest, FindsAPageBeyondTheFileThatIsFreeTwice) {
  set_u64(image_.last_page_field(), 1000);
  set_u64(free_word(1, 1), 1000);
  set_u64(free_word(2, 1), 999);
  EXPECT_EQ(check_pages(image_.bytes, 0).problems, std::vector<string>{});
  set_u64(free_word(2, 1), 1000);
  expect_problem("page 1000", "in the free list once");
}

TEST_F(PageDamageTest, FindsAFreeListThatDoesNotDescend) {
  const auto first = image_.peek<std::uint64_t>(free_word(0, 1));
  const auto second = image_.peek<std::uint64_t>(free_word(0, 2));
  set_u64(free_word(0, 1), second);
  set_u64(free_word(0, 2), first);
  expect_problem(
      "free list of transaction",
      "below " + std::to_string(second) + ", as they descend; found " + std::to_string(first));
}

TEST_F(PageDamageTest, FindsFreePagesThatCannotBe) {
  const std::uint64_t last = image_.meta().last_page;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, last + 1}) {
    set_u64(free_word(0, 0), 1);
    set_u64(free_word(0, 1), number);
    expect_problem("free list of transaction",
                   "pages 2 to " + std::to_string(last) + ", found page " + std::to_string(number));
  }
}

TEST_F(PageDamageTest, FindsAFreeListOfATransactionToCome) {
  const std::uint64_t newest = image_.meta().txnid;
  const std::size_t last = image_.node_count(free_) - 1;
  set_u64(image_.node(free_, last) + 8, newest);
  EXPECT_EQ(check_pages(image_.bytes, 0).problems, std::vector<string>{});
  set_u64(image_.node(free_, last) + 8, newest + 1);
  expect_problem(page(free_), "a transaction from 1 to " + std::to_string(newest));
  set_u64(image_.node(free_, last) + 8, newest);
  set_u64(image_.node(free_, 0) + 8, 0);
  expect_problem(page(free_), "found 0");
}

TEST_F(PageDamageTest, FindsAFreeListLongerThanItsValue) {
  const auto count = image_.peek<std::uint64_t>(free_word(0, 0));
  for (const std::uint64_t wrong : {count + 1, UINT64_MAX}) {
    set_u64(free_word(0, 0), wrong);
    expect_problem("free list of transaction", "room for, found " + std::to_string(wrong));
  }
}

TEST_F(PageDamageTest, FindsAFreeListOfBrokenNumbers) {
  const string key("\1\0\0\0\0\0\0\0", 8);
  for (const std::size_t bytes : {0, 7, 12}) {
    image_.write_leaf(free_, {{key, string(bytes, '\0')}});
    const auto problems = check_pages(image_.bytes, 0).problems;
    EXPECT_NE(problems.back().find("found " + std::to_string(bytes) + " bytes"), string::npos);
  }
}

// Bounds on the report itself.

TEST_F(PageDamageTest, ReportsOneDamageOnce) {
  set_u64(image_.at(leaf_), leaf_ + 1);
  EXPECT_EQ(check_pages(image_.bytes, 0).problems.size(), 1u);
}

TEST_F(PageDamageTest, ListsNoMoreProblemsThanItsLimit) {
  set_u64(image_.last_page_field(), 1000);
  image_.write_leaf(free_, {{string("\1\0\0\0\0\0\0\0", 8), string(8 * 101, '\0')}});
  set_u64(free_word(0, 0), 100);
  EXPECT_EQ(check_pages(image_.bytes, 0).problems.size(), kPageProblemsMax);
}

TEST_F(PageDamageTest, CountsUnreferencedPagesWithoutComplaint) {
  const PageCheck before = check_pages(image_.bytes, 0);
  set_u64(image_.last_page_field(), image_.meta().last_page + 7);
  const PageCheck after = check_pages(image_.bytes, 0);
  EXPECT_EQ(after.problems, std::vector<string>{});
  EXPECT_EQ(after.unreferenced, before.unreferenced + 7);
}

// Files that are not ours.

TEST(ReadMetaTest, SaysWhatAFileIsThatIsNotOurs) {
  string text = "SQLite format 3";
  text.resize(4096);
  const auto result = read_meta(std::as_bytes(std::span(text)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::corrupt);
  EXPECT_NE(result.error().message.find("\"SQLite format 3\\x00\""), string::npos);
}

TEST(ReadMetaTest, RefusesAFileThatIsTooShort) {
  const string text(151, 'x');
  for (const std::size_t bytes : {0, 1, 151}) {
    const auto result = read_meta(std::as_bytes(std::span(text).first(bytes)));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::corrupt);
    EXPECT_TRUE(result.error().message.ends_with("found " + std::to_string(bytes)));
  }
}

TEST_F(PageDamageTest, IsContentWithTheFirstMetaPage) {
  image_.bytes.resize(4096);
  ASSERT_TRUE(read_meta(image_.bytes).ok());
  EXPECT_EQ(read_meta(image_.bytes)->page_bytes, 4096u);
}

TEST_F(PageDamageTest, SaysThatAnotherVersionIsUnsupported) {
  set_u32(image_.at(0, 20), 999);
  set_u32(image_.at(1, 20), 999);
  const auto result = read_meta(image_.bytes);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::unsupported);
  EXPECT_NE(result.error().message.find("version 999"), string::npos);
}

TEST_F(PageDamageTest, SaysThatOneDamagedVersionIsNotAnotherVersion) {
  set_u32(image_.at(0, 20), 999);
  EXPECT_TRUE(read_meta(image_.bytes).ok());
  set_u16(image_.at(1, 10), 0);
  EXPECT_EQ(read_meta(image_.bytes).error().code, Code::unsupported);
  set_u32(image_.at(0, 20), 1);
  set_u16(image_.at(0, 10), 0);
  EXPECT_EQ(read_meta(image_.bytes).error().code, Code::corrupt);
}

TEST(ReadMetaTest, SaysThatOtherLayoutsAreUnsupported) {
  const std::pair<std::size_t, std::uint32_t> layouts[] = {
      {16, 0xDEC0EFBE}, {12, 0xBEEFC0DE}, {24, 0xBEEFC0DE}};
  for (const auto& [offset, magic] : layouts) {
    std::vector<std::byte> bytes(8192);
    std::memcpy(bytes.data() + offset, &magic, sizeof magic);
    const auto result = read_meta(bytes);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::unsupported);
  }
}

}  // namespace page_check_damage_test
}  // namespace mayfly::internal
