// SPDX-License-Identifier: Apache-2.0
// Lists in a database: when they change their form, as OBJECT ENCODING shows it, and random
// operations against a deque of strings.

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "keyspace/list/list_fixture.h"
#include "keyspace/list/list_ref.h"

namespace mayfly {
namespace list_ref_model_test {

using Texts = std::deque<std::string>;

std::string text_of(const ListpackValue& value) {
  char digits[24];
  return std::string(value.as_text(digits));
}

Texts contents(const ListRef& list, bool is_forward = true) {
  Texts texts;
  list.each(is_forward ? 0 : list.size() - 1, list.size(), is_forward,
            [&](const ListpackValue& value) {
              texts.push_back(text_of(value));
              return true;
            });
  return texts;
}

class ListRefTest : public testing::Test {
 protected:
  explicit ListRefTest(int fill = -2) { set_fill(fill); }

  void set_fill(int fill) { fixture_.keyspace.options().list_limits.fill = fill; }
  void make(const std::vector<std::string>& texts) {
    const Slot old = database_.find(fixture_.context, "list");
    if (old != kNoSlot) database_.erase(old);
    slot_ = database_.make_list(fixture_.context, "list");
    push(texts);
  }
  // As one command.
  void push(const std::vector<std::string>& texts) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    ListRef list = this->list();
    list.prepare_push(views);
    for (const std::string_view text : views) list.push(ListEnd::tail, text);
    EXPECT_FALSE(list.finish());
  }
  template <class Change>
  void change(Change change) {
    ListRef list = this->list();
    change(list);
    EXPECT_FALSE(list.finish());
  }
  ListRef list() { return database_.list(slot_); }
  std::string_view encoding() const { return encoding_name(database_.node(slot_)); }

  KeyspaceFixture fixture_;
  Database& database_ = fixture_.database;
  Slot slot_ = kNoSlot;
};

TEST_F(ListRefTest, ReadsAndChangesAPackedList) {
  make({"a", "17", "", "b", "17"});
  change([](ListRef& list) { list.insert(1, "c"); });
  EXPECT_EQ(contents(list()), (Texts{"a", "c", "17", "", "b", "17"}));
  EXPECT_EQ(contents(list(), false), (Texts{"17", "b", "", "17", "c", "a"}));
  EXPECT_EQ(list().remove("17", 1, ListEnd::tail), 1u);
  EXPECT_EQ(contents(list()), (Texts{"a", "c", "17", "", "b"}));
  EXPECT_EQ(list().remove("17", 2, ListEnd::head), 1u);
  EXPECT_EQ(list().remove("17", 2, ListEnd::head), 0u);
  change([](ListRef& list) { list.set(3, "longer than before"); });
  EXPECT_EQ(list().pop(ListEnd::head), "a");
  EXPECT_EQ(list().pop(ListEnd::tail), "longer than before");
  EXPECT_EQ(contents(list()), (Texts{"c", ""}));
  EXPECT_EQ(encoding(), "listpack");
}

TEST_F(ListRefTest, RemovesTheKeyWithItsLastElement) {
  for (const int fill : {-2, 1}) {
    set_fill(fill);
    make({"a", "b"});
    ListRef list = this->list();
    list.drop(ListEnd::tail, 1);
    EXPECT_FALSE(list.finish());
    EXPECT_EQ(list.pop(ListEnd::tail), "a");
    EXPECT_TRUE(list.finish());
    EXPECT_EQ(database_.find(fixture_.context, "list"), kNoSlot);
  }
}

TEST_F(ListRefTest, CountsElements) {
  set_fill(3);
  make({"a", "b", "c"});
  EXPECT_EQ(encoding(), "listpack");
  push({"d"});
  EXPECT_EQ(encoding(), "quicklist");
  make({"a", "b", "c", "d"});
  EXPECT_EQ(encoding(), "quicklist");

  // One chunk of half as many elements is packed.
  change([](ListRef& list) { list.drop(ListEnd::tail, 1); });
  EXPECT_EQ(encoding(), "quicklist");
  change([](ListRef& list) { list.drop(ListEnd::tail, 1); });
  EXPECT_EQ(encoding(), "quicklist");
  change([](ListRef& list) { list.drop(ListEnd::head, 1); });
  EXPECT_EQ(encoding(), "listpack");
  EXPECT_EQ(contents(list()), Texts{"b"});

  make({"a", "a", "a", "d"});
  change([](ListRef& list) { list.remove("a", 3, ListEnd::head); });
  EXPECT_EQ(encoding(), "listpack");
}

// A new element counts as one more, even if it replaces another.
TEST_F(ListRefTest, CountsAnElementThatIsSetTwice) {
  set_fill(3);
  make({"a", "b", "c"});
  change([](ListRef& list) { list.set(0, "x"); });
  EXPECT_EQ(encoding(), "quicklist");
  EXPECT_EQ(contents(list()), (Texts{"x", "b", "c"}));
}

TEST_F(ListRefTest, NeverPacksAgainIfTheLimitIsOneElement) {
  for (const int fill : {0, 1}) {
    set_fill(fill);
    make({"a"});
    EXPECT_EQ(encoding(), "listpack");
    push({"b"});
    EXPECT_EQ(encoding(), "quicklist");
    change([](ListRef& list) { list.drop(ListEnd::tail, 1); });
    EXPECT_EQ(encoding(), "quicklist");
  }
}

TEST_F(ListRefTest, CountsBytes) {
  set_fill(-6);  // 64 KiB
  make({std::string(60'000, 'x')});
  EXPECT_EQ(encoding(), "listpack");
  push({std::string(5'536 - 8 - 7, 'x')});  // 8 bytes of the entry, 7 of the listpack
  EXPECT_EQ(encoding(), "listpack");
  make({std::string(60'000, 'x')});
  push({std::string(5'536 - 8 - 7 + 1, 'x')});
  EXPECT_EQ(encoding(), "quicklist");

  set_fill(-1);  // 4 KiB
  make({std::string(4'096 - 7, 'x')});
  EXPECT_EQ(encoding(), "listpack");
  make({std::string(4'096 - 6, 'x')});
  EXPECT_EQ(encoding(), "quicklist");
  // All texts of a command count before the first one is pushed, without what is added to them.
  make(std::vector<std::string>(40, std::string(102, 'x')));
  EXPECT_EQ(encoding(), "listpack");
  make(std::vector<std::string>(41, std::string(102, 'x')));
  EXPECT_EQ(encoding(), "quicklist");
}

TEST_F(ListRefTest, PacksAtHalfOfTheBytes) {
  set_fill(-1);
  make({std::string(1'000, 'a'), std::string(1'035, 'b'), std::string(3'000, 'c')});
  EXPECT_EQ(encoding(), "quicklist");
  change([](ListRef& list) { list.drop(ListEnd::tail, 1); });
  EXPECT_EQ(encoding(), "quicklist");  // 2 entries of 4 more bytes each, and 7: 2,050
  change([](ListRef& list) { list.set(1, std::string(1'033, 'b')); });
  EXPECT_EQ(encoding(), "listpack");
}

// A push never packs it, whatever the limits are now.
TEST_F(ListRefTest, PacksOnlyWhenSomethingWasRemovedOrSet) {
  set_fill(3);
  make({"a", "b", "c", "d"});
  change([](ListRef& list) { list.drop(ListEnd::tail, 1); });
  set_fill(100);
  push({"e"});
  change([](ListRef& list) { list.insert(1, "f"); });
  change([](ListRef& list) { EXPECT_EQ(list.remove("x", 9, ListEnd::head), 0u); });
  EXPECT_EQ(encoding(), "quicklist");
  change([](ListRef& list) { list.drop(ListEnd::tail, 0); });
  EXPECT_EQ(encoding(), "listpack");
  EXPECT_EQ(contents(list()), (Texts{"a", "f", "b", "c", "e"}));
}

TEST_F(ListRefTest, KeepsALargeElementInAChunk) {
  const std::string large(8'193, 'x');
  set_fill(100);
  make({large});
  EXPECT_EQ(encoding(), "quicklist");
  push({"a", "b"});
  change([](ListRef& list) { list.drop(ListEnd::tail, 2); });
  EXPECT_EQ(encoding(), "quicklist");
  change([](ListRef& list) { list.set(0, "c"); });
  EXPECT_EQ(encoding(), "listpack");
  change([&](ListRef& list) { list.insert(1, large); });
  change([&](ListRef& list) { list.erase(1, 1); });
  EXPECT_EQ(encoding(), "listpack");
}

TEST_F(ListRefTest, IsMovedCopiedAndFreedInBothForms) {
  for (const int fill : {-2, 16}) {
    set_fill(fill);
    make(std::vector<std::string>(200, "element"));
    database_.rename(slot_, "other");
    const Slot copy = database_.copy(fixture_.context, slot_, fixture_.keyspace[1], "copy");
    list().drop(ListEnd::tail, 100);
    EXPECT_EQ(list().size(), 100u);
    EXPECT_EQ(fixture_.keyspace[1].list(copy).size(), 200u);
    EXPECT_EQ(fixture_.keyspace[1].check_invariants(), "");
    fixture_.keyspace[1].clear();
    database_.erase(slot_);
  }
}

struct Limits {
  int fill;
  int seed;
};

class ListRefModelTest : public ListRefTest, public testing::WithParamInterface<Limits> {
 protected:
  ListRefModelTest() : ListRefTest(GetParam().fill) {}

  void step() {
    if (slot_ == kNoSlot) slot_ = database_.make_list(fixture_.context, "list");
    ListRef list = this->list();
    const std::size_t size = model_.size();
    if (size > 200) is_growing_ = false;
    if (size < 3) is_growing_ = true;
    if (size == 0 || random_.below(is_growing_ ? 3 : 5) < 2) {
      grow(list);
    } else {
      shrink(list);
    }
    const bool is_empty = model_.empty();
    ASSERT_EQ(list.finish(), is_empty);
    if (is_empty) slot_ = kNoSlot;
  }

  void grow(ListRef& list) {
    const bool is_head = random_.below(2) == 0;
    const std::size_t size = model_.size();
    const std::size_t index = random_.below(size + 1);
    if (random_.below(2) == 0) {
      const std::string text = random_list_text(random_);
      list.insert(index, text);
      model_.insert(model_.begin() + static_cast<std::ptrdiff_t>(index), text);
      return;
    }
    Texts texts(1 + random_.below(5));
    for (std::string& text : texts) text = random_list_text(random_);
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    if (random_.below(2) == 0) list.prepare_push(views);
    for (const std::string_view text : views) {
      list.push(is_head ? ListEnd::head : ListEnd::tail, text);
      model_.insert(is_head ? model_.begin() : model_.end(), std::string(text));
    }
  }

  void shrink(ListRef& list) {
    const std::size_t size = model_.size();
    const std::size_t index = random_.below(size);
    const std::size_t count = random_.below(std::min<std::size_t>(size - index, 20) + 1);
    const auto place = model_.begin() + static_cast<std::ptrdiff_t>(index);
    const ListEnd end = random_.below(2) == 0 ? ListEnd::head : ListEnd::tail;
    const bool is_head = end == ListEnd::head;
    const std::string text = random_list_text(random_);
    switch (random_.below(5)) {
      case 0:
        list.set(index, text);
        *place = text;
        break;
      case 1:
        ASSERT_EQ(list.pop(end), is_head ? model_.front() : model_.back());
        model_.erase(is_head ? model_.begin() : model_.end() - 1);
        break;
      case 2:
        list.drop(end, count);
        model_.erase(is_head ? model_.begin() : model_.end() - static_cast<std::ptrdiff_t>(count),
                     is_head ? model_.begin() + static_cast<std::ptrdiff_t>(count) : model_.end());
        break;
      case 3:
        list.erase(index, count);
        model_.erase(place, place + static_cast<std::ptrdiff_t>(count));
        break;
      default:
        ASSERT_EQ(list.remove(text, 1 + count, end), remove_texts(model_, text, 1 + count, end));
        break;
    }
  }

  void check() {
    ASSERT_EQ(slot_ == kNoSlot, model_.empty());
    if (slot_ == kNoSlot) return;
    ASSERT_EQ(check_value(database_.node(slot_)), "");
    const ListRef list = this->list();
    ASSERT_EQ(list.size(), model_.size());
    const std::size_t index = random_.below(model_.size());
    ASSERT_EQ(text_of(list.at(index)), model_[index]);
    ASSERT_TRUE(contents(list, true) == model_);
    Texts backward = contents(list, false);
    std::ranges::reverse(backward);
    ASSERT_TRUE(backward == model_);
    // A part of it.
    const std::size_t most = random_.below(30);
    std::size_t next = index;
    list.each(index, most, true, [&](const ListpackValue& value) {
      EXPECT_EQ(text_of(value), model_[next]);
      return ++next > 0;
    });
    ASSERT_EQ(next, std::min(index + most, model_.size()));
    list.is_packed() ? ++packed_ : ++chunked_;
  }

  Random random_{static_cast<std::uint64_t>(GetParam().seed)};
  Texts model_;
  bool is_growing_ = true;
  int packed_ = 0;
  int chunked_ = 0;
};

TEST_P(ListRefModelTest, DoesWhatADequeDoes) {
  for (int i = 0; i < 1'500; ++i) {
    step();
    if (HasFatalFailure()) return;
    check();
    if (HasFatalFailure()) FAIL() << i;
  }
  EXPECT_TRUE(packed_ > 0 || GetParam().fill < 2);
  EXPECT_GT(chunked_, 0);
}

INSTANTIATE_TEST_SUITE_P(Limits, ListRefModelTest,
                         testing::Values(Limits{-5, 1}, Limits{-2, 2}, Limits{-1, 3}, Limits{0, 4},
                                         Limits{1, 5}, Limits{2, 6}, Limits{3, 7}, Limits{30, 8},
                                         Limits{100'000, 9}));

}  // namespace list_ref_model_test
}  // namespace mayfly
