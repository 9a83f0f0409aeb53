// SPDX-License-Identifier: Apache-2.0
// ChunkedList: examples, memory, and random operations against a deque of strings.

#include "keyspace/list/chunked_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

#include "keyspace/list/list_fixture.h"
#include "mayfly/random.h"

namespace mayfly {
namespace chunked_list_test {

using Texts = std::deque<std::string>;

std::string text_of(const ListpackValue& value) {
  char digits[24];
  return std::string(value.as_text(digits));
}

Texts contents(const ChunkedList& list) {
  Texts texts;
  list.each(0, list.count(), true, [&](const ListpackValue& value) {
    texts.push_back(text_of(value));
    return true;
  });
  return texts;
}

// Entries of the list without the rooms of its chunks.
std::size_t entry_bytes(const ChunkedList& list) {
  std::size_t bytes = 0;
  list.each_chunk([&](const ListEntries& entries) { bytes += entries.bytes.size(); });
  return bytes;
}

std::string element(std::size_t i) {  // 13 bytes
  std::string number = std::to_string(i);
  return "element" + std::string(6 - std::min<std::size_t>(6, number.size()), '0') + number;
}

void fill(ChunkedList& list, ListEnd end, std::size_t count, const ListLimits& limits) {
  for (std::size_t i = 0; i < count; ++i) list.push(end, element(i), limits);
}

TEST(ChunkedListTest, PushesAndPopsAtBothEnds) {
  for (const ListEnd push : {ListEnd::head, ListEnd::tail}) {
    for (const ListEnd pop : {ListEnd::head, ListEnd::tail}) {
      ChunkedList list;
      fill(list, push, 5'000, {});
      EXPECT_EQ(list.check_invariants(), "");
      EXPECT_GT(list.chunks(), 5u);
      for (std::size_t i = 0; i < 5'000; ++i) {
        const ListpackValue value = list.at(pop == ListEnd::head ? 0 : list.count() - 1);
        ASSERT_EQ(text_of(value), element(push == pop ? 4'999 - i : i));
        list.pop(pop);
      }
      EXPECT_EQ(list.count(), 0u);
      EXPECT_EQ(list.chunks(), 0u);
    }
  }
}

TEST(ChunkedListTest, LimitsElementsOfAChunk) {
  ChunkedList list;
  fill(list, ListEnd::tail, 10, {.fill = 3});
  EXPECT_EQ(list.chunks(), 4u);
  list.each_chunk([](const ListEntries& entries) { EXPECT_LE(entries.count, 3u); });
  EXPECT_EQ(ListLimits{.fill = 0}.elements(), 1u);
  EXPECT_EQ(ListLimits{.fill = 7}.bytes(), 8192u);
}

TEST(ChunkedListTest, LimitsBytesOfAChunk) {
  for (const int limit : {-1, -2, -3, -4, -5, -6}) {
    const ListLimits limits{.fill = limit};
    EXPECT_EQ(limits.bytes(), std::size_t{4096} << std::min(-limit - 1, 4));
    ChunkedList list;
    fill(list, ListEnd::tail, 20'000, limits);
    std::vector<std::size_t> sizes;
    list.each_chunk([&](const ListEntries& entries) { sizes.push_back(entries.bytes.size()); });
    sizes.pop_back();
    for (const std::size_t size : sizes) {
      EXPECT_LE(size + kListpackEmpty, limits.bytes());
      EXPECT_GT(size, limits.bytes() - 64);
    }
  }
}

// 8 bytes more than the text, as Valkey estimates it, and not the 4 that it will have.
TEST(ChunkedListTest, CountsMoreThanTheTextOfAnElement) {
  for (const std::size_t more : {0, 1}) {
    ChunkedList list;
    list.push(ListEnd::tail, std::string(2'000, 'x'), {.fill = -1});
    list.push(ListEnd::tail, std::string(4'096 - 7 - 2'004 - 8 + more, 'x'), {.fill = -1});
    EXPECT_EQ(list.chunks(), 1 + more);
  }
}

TEST(ChunkedListTest, UsesTheMemoryOfFullChunks) {
  for (const ListEnd end : {ListEnd::head, ListEnd::tail}) {
    ChunkedList list;
    fill(list, end, 200'000, {});
    EXPECT_EQ(entry_bytes(list), 200'000u * 15);
    EXPECT_LT(list.bytes(), 200'000u * 15 * 102 / 100);
  }
}

TEST(ChunkedListTest, GrowsFromSmallRooms) {
  ChunkedList list;
  list.push(ListEnd::tail, element(1), {});
  EXPECT_LT(list.bytes(), 1'000u);
  fill(list, ListEnd::tail, 540, {});
  EXPECT_EQ(list.chunks(), 1u);
  EXPECT_LT(list.bytes(), 8'192u + 500);
}

TEST(ChunkedListTest, GivesBackThePlacesOfChunks) {
  ChunkedList list;
  fill(list, ListEnd::tail, 10'000, {.fill = 1});
  list.drop(ListEnd::head, 9'999);
  EXPECT_LT(list.bytes(), 1'000u);
  fill(list, ListEnd::head, 10'000, {.fill = 1});
  EXPECT_EQ(list.check_invariants(), "");
}

TEST(ChunkedListTest, GivesBackMemoryWhenItShrinks) {
  ChunkedList list;
  fill(list, ListEnd::tail, 200'000, {});
  const std::size_t before = list.bytes();
  // Nine of ten, everywhere in the list.
  Random random(7);
  for (int i = 0; i < 20'000; ++i) list.erase(random.below(list.count() - 9), 9, {});
  EXPECT_EQ(list.count(), 20'000u);
  EXPECT_EQ(list.check_invariants(), "");
  EXPECT_LT(list.bytes(), before / 5);
  EXPECT_LT(list.chunks(), 200u);
  list.drop(ListEnd::head, 19'000);
  EXPECT_LT(list.bytes(), 20'000u + 2 * 8192);
}

TEST(ChunkedListTest, KeepsChunksFilledWhenInsertingInside) {
  ChunkedList list;
  fill(list, ListEnd::tail, 2, {});
  Random random(8);
  for (std::size_t i = 0; i < 50'000; ++i) {
    list.insert(1 + random.below(list.count() - 1), element(i), {});
  }
  EXPECT_EQ(list.check_invariants(), "");
  EXPECT_LT(list.chunks(), 50'000u * 15 / 8192 * 2);
  EXPECT_LT(list.bytes(), 50'000u * 15 * 2);
  // At one place.
  ChunkedList other;
  fill(other, ListEnd::tail, 1'000, {});
  for (std::size_t i = 0; i < 50'000; ++i) other.insert(500, element(i), {});
  EXPECT_LT(other.chunks(), 51'000u * 15 / 8192 * 5 / 2);
}

TEST(ChunkedListTest, LeavesNoChainOfSmallChunks) {
  ChunkedList list;
  for (std::size_t i = 0; i < 100'000; ++i) {
    list.push(ListEnd::tail, i % 100 == 0 ? element(i) : "gone", {});
  }
  EXPECT_EQ(list.remove("gone", SIZE_MAX, ListEnd::head, {}), 99'000u);
  EXPECT_EQ(list.check_invariants(), "");
  EXPECT_LE(list.chunks(), 1'000u * 15 / 8192 * 4 + 2);
  EXPECT_EQ(list.count(), 1'000u);
  EXPECT_EQ(text_of(list.at(999)), element(99'900));
}

// Clients can tell by OBJECT ENCODING whether a list has one chunk.
TEST(ChunkedListTest, NeverMergesTheLastTwoChunks) {
  ChunkedList list;
  fill(list, ListEnd::tail, 7, {.fill = 3});
  list.erase(1, 5, {.fill = 3});
  EXPECT_EQ(list.chunks(), 2u);
  fill(list, ListEnd::tail, 7, {.fill = 3});
  EXPECT_EQ(list.remove(element(1), 9, ListEnd::tail, {}), 1u);
  EXPECT_GE(list.chunks(), 2u);
}

TEST(ChunkedListTest, ReplacesLargeElements) {
  const std::string large(10'000, 'x');
  ChunkedList list;
  list.push(ListEnd::tail, large, {});
  list.set(0, "a", {});
  EXPECT_EQ(contents(list), Texts{"a"});
  EXPECT_TRUE(list.is_small({}));
  fill(list, ListEnd::tail, 3, {});
  list.set(2, large, {});
  EXPECT_EQ(list.chunks(), 3u);
  EXPECT_EQ(contents(list), (Texts{"a", element(0), large, element(2)}));
  list.set(2, large + "y", {});
  EXPECT_EQ(list.chunks(), 3u);
  list.set(2, "b", {});
  EXPECT_EQ(list.chunks(), 2u);
  EXPECT_EQ(contents(list), (Texts{"a", element(0), "b", element(2)}));
  EXPECT_EQ(list.check_invariants(), "");

  ChunkedList other;
  other.push(ListEnd::tail, large, {});
  other.push(ListEnd::tail, "a", {});
  EXPECT_EQ(other.chunks(), 2u);
  other.set(0, "b", {});
  EXPECT_EQ(other.chunks(), 1u);
  EXPECT_EQ(contents(other), (Texts{"b", "a"}));
}

TEST(ChunkedListTest, RefusesAnElementWhoseSizeCannotBeKept) {
  ChunkedList list;
  const char byte = 'x';  // no more is read
  const std::string_view huge(&byte, std::size_t{UINT32_MAX} + 1);
  EXPECT_THROW(list.push(ListEnd::tail, huge, {}), std::length_error);
  EXPECT_EQ(list.count(), 0u);
}

// Elements come at one end and go at the other, or come at both ends.
TEST(ChunkedListTest, TakesNoMoreMemoryAsAQueue) {
  for (const int limit : {-2, 1, 100}) {
    for (const ListEnd end : {ListEnd::head, ListEnd::tail}) {
      const ListLimits limits{.fill = limit};
      ChunkedList list;
      fill(list, end, 500, limits);
      const std::size_t before = list.bytes();
      const ListEnd other = end == ListEnd::head ? ListEnd::tail : ListEnd::head;
      for (std::size_t i = 0; i < 20'000; ++i) {
        list.push(end, element(500 + i), limits);
        ASSERT_EQ(text_of(list.at_end(other)), element(i));
        list.pop(other);
      }
      EXPECT_LT(list.bytes(), before * 2);
      EXPECT_EQ(list.check_invariants(), "");
    }
  }
  ChunkedList list;
  Texts expected;
  for (std::size_t i = 0; i < 5'000; ++i) {
    list.push(i % 2 == 0 ? ListEnd::head : ListEnd::tail, element(i), {});
    expected.insert(i % 2 == 0 ? expected.begin() : expected.end(), element(i));
  }
  EXPECT_EQ(contents(list), expected);
  EXPECT_LT(list.bytes(), 5'000u * 15 * 12 / 10);
}

TEST(ChunkedListTest, SplitsAChunkThatGetsTooLarge) {
  ChunkedList list;
  fill(list, ListEnd::tail, 300, {});
  for (std::size_t i = 0; i < 300; ++i) list.set(i, std::string(1'000, 'x'), {});
  EXPECT_EQ(list.check_invariants(), "");
  list.each_chunk([](const ListEntries& entries) { EXPECT_LE(entries.bytes.size(), 8192u); });
  EXPECT_LE(list.chunks(), 300u * 1'003 / 8192 * 5 / 2);
}

TEST(ChunkedListTest, WalksInBothDirections) {
  ChunkedList list;
  fill(list, ListEnd::tail, 2'000, {});
  std::size_t expected = 700;
  list.each(700, 1'000, true, [&](const ListpackValue& value) {
    EXPECT_EQ(text_of(value), element(expected));
    ++expected;
    return true;
  });
  EXPECT_EQ(expected, 1'700u);
  list.each(1'699, 1'000, false, [&](const ListpackValue& value) {
    --expected;
    EXPECT_EQ(text_of(value), element(expected));
    return true;
  });
  EXPECT_EQ(expected, 700u);
  std::size_t visits = 0;
  list.each(0, 2'000, true, [&](const ListpackValue&) { return ++visits < 900; });
  EXPECT_EQ(visits, 900u);
  list.each(1'990, SIZE_MAX, true, [&](const ListpackValue&) { return ++visits > 0; });
  EXPECT_EQ(visits, 910u);
  list.each(9, SIZE_MAX, false, [&](const ListpackValue&) { return ++visits > 0; });
  EXPECT_EQ(visits, 920u);
  list.each(2'000, 1, true, [&](const ListpackValue&) { return ++visits > 0; });
  EXPECT_EQ(visits, 920u);
}

TEST(ChunkedListTest, IsFreedInSlices) {
  ChunkedList list;
  fill(list, ListEnd::tail, 100'000, {});
  std::size_t before = list.count();
  int slices = 0;
  for (std::size_t left = before; left > 0; ++slices) {
    left = list.free_some(1'000);
    EXPECT_EQ(left, list.count());
    EXPECT_LE(before - left, 2'000u);
    before = left;
  }
  EXPECT_GT(slices, 50);
  EXPECT_EQ(list.check_invariants(), "");
}

TEST(ChunkedListTest, ClonesAllElements) {
  ChunkedList list;
  fill(list, ListEnd::head, 2'000, {});
  list.push(ListEnd::head, std::string(100'000, 'x'), {});
  const std::unique_ptr<ChunkedList> copy = list.clone();
  const Texts expected = contents(list);
  list.drop(ListEnd::tail, 1'500);
  EXPECT_EQ(contents(*copy), expected);
  EXPECT_EQ(copy->check_invariants(), "");
}

class ChunkedListModelTest : public testing::TestWithParam<int> {
 protected:
  void step() {
    const std::size_t size = model_.size();
    const bool is_head = random_.below(2) == 0;
    const ListEnd end = is_head ? ListEnd::head : ListEnd::tail;
    const std::string text = random_list_text(random_);
    const std::size_t index = size == 0 ? 0 : random_.below(size);
    const auto place = model_.begin() + static_cast<std::ptrdiff_t>(index);
    // It grows and shrinks in turn.
    const std::uint64_t choice = random_.below(is_growing_ ? 8 : 12);
    if (size > 400) is_growing_ = false;
    if (size < 3) is_growing_ = true;
    if (choice < 3 || size == 0) {
      list_.push(end, text, limits_);
      model_.insert(is_head ? model_.begin() : model_.end(), text);
    } else if (choice < 5) {
      list_.insert(index, text, limits_);
      model_.insert(place, text);
    } else if (choice == 5) {
      list_.set(index, text, limits_);
      *place = text;
    } else if (choice == 6) {
      list_.pop(end);
      model_.erase(is_head ? model_.begin() : model_.end() - 1);
    } else if (choice == 7) {
      remove(text, end);
    } else if (choice < 10) {
      const std::size_t count = random_.below(std::min<std::size_t>(size - index, 20) + 1);
      list_.erase(index, count, limits_);
      model_.erase(place, place + static_cast<std::ptrdiff_t>(count));
    } else {
      const std::size_t count = random_.below(std::min<std::size_t>(size, 30) + 1);
      list_.drop(end, count);
      const auto some = static_cast<std::ptrdiff_t>(count);
      if (is_head) model_.erase(model_.begin(), model_.begin() + some);
      if (!is_head) model_.erase(model_.end() - some, model_.end());
    }
  }

  void remove(const std::string& text, ListEnd end) {
    const std::size_t most = 1 + random_.below(3);
    ASSERT_EQ(list_.remove(text, most, end, limits_), remove_texts(model_, text, most, end));
  }

  Random random_{static_cast<std::uint64_t>(GetParam() + 100)};
  ListLimits limits_{.fill = GetParam()};
  ChunkedList list_;
  Texts model_;
  bool is_growing_ = true;
};

TEST_P(ChunkedListModelTest, DoesWhatADequeDoes) {
  for (int i = 0; i < 3'000; ++i) {
    step();
    ASSERT_EQ(list_.check_invariants(), "") << i;
    ASSERT_EQ(list_.count(), model_.size()) << i;
    if (!model_.empty()) {
      const std::size_t index = random_.below(model_.size());
      ASSERT_EQ(text_of(list_.at(index)), model_[index]) << i;
    }
    ASSERT_TRUE(i % 10 != 0 || contents(list_) == model_) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, ChunkedListModelTest, testing::Values(-5, -2, -1, 0, 1, 2, 3, 16));

}  // namespace chunked_list_test
}  // namespace mayfly
