// SPDX-License-Identifier: Apache-2.0
// Streams: random changes, checked against std::map; trims, counters, groups, copies, memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "keyspace/stream/stream.h"
#include "mayfly/random.h"

namespace mayfly {
namespace stream_model_test {

using Words = std::vector<std::string>;

void append(Stream& stream, StreamId id, const Words& words, const StreamLimits& limits = {}) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  stream.append(id, views, limits);
}

// Entries 1-0, 2-0 ...
std::unique_ptr<Stream> make_stream(std::uint64_t count, const StreamLimits& limits = {}) {
  auto stream = std::make_unique<Stream>();
  for (std::uint64_t i = 1; i <= count; ++i) append(*stream, {i, 0}, {"a", "1"}, limits);
  return stream;
}

std::vector<StreamId> ids_of(const Stream& stream, StreamId from = kStreamIdMin,
                             StreamId to = kStreamIdMax, bool is_forward = true) {
  std::vector<StreamId> ids;
  stream.each(from, to, is_forward, [&ids](const StreamEntry& entry) {
    ids.push_back(entry.id);
    return true;
  });
  return ids;
}

// A stream, and what has to be in it.
class StreamModel {
 public:
  StreamModel(std::uint64_t seed, StreamLimits limits) : random_(seed), limits_(limits) {}

  void step() {
    const std::uint64_t kind = random_.below(100);
    if (kind < 60) {
      add();
    } else if (kind < 80) {
      erase();
    } else if (kind < 88) {
      trim();
    } else if (kind < 96) {
      look();
    } else if (kind < 98) {
      copy();
    } else {
      set_last_id();
    }
  }

  void check() const {
    ASSERT_EQ(stream_->check_invariants(), "");
    ASSERT_EQ(stream_->size(), entries_.size());
    ASSERT_EQ(stream_->first_id(), entries_.empty() ? kStreamIdMin : entries_.begin()->first);
    ASSERT_EQ(stream_->top_id(), entries_.empty() ? kStreamIdMin : entries_.rbegin()->first);
    ASSERT_EQ(stream_->last_id(), last_id_);
    ASSERT_EQ(stream_->max_deleted_id(), max_deleted_id_);
    ASSERT_EQ(stream_->entries_added(), added_);
    auto expected = entries_.begin();
    stream_->each(kStreamIdMin, kStreamIdMax, true, [&](const StreamEntry& entry) {
      EXPECT_EQ(entry.id, expected->first);
      EXPECT_TRUE(std::ranges::equal(entry.words, expected->second));
      ++expected;
      return !testing::Test::HasFailure();
    });
    ASSERT_EQ(expected, entries_.end());
  }

 private:
  std::string word() {
    switch (random_.below(6)) {
      case 0:
        return std::to_string(static_cast<std::int64_t>(random_.next()) >> random_.below(60));
      case 1:
        return std::string(random_.below(100), 'v');
      default:
        return std::string(1, static_cast<char>('a' + random_.below(3)));
    }
  }

  void add() {
    for (std::uint64_t left = 1 + random_.below(20); left > 0; --left) {
      Words words = {"name", word(), "5", word()};
      if (random_.below(4) == 0) words = {word(), word()};
      const StreamId next = *last_id_.next();
      last_id_ = random_.below(2) == 0 ? next : StreamId{next.ms + random_.below(1000), next.seq};
      append(*stream_, last_id_, words, limits_);
      entries_[last_id_] = std::move(words);
      ++added_;
    }
  }

  // An id that is there, if the stream has any, or one near to it.
  StreamId some_id() {
    if (entries_.empty() || random_.below(10) == 0) return {random_.below(100'000), 0};
    const StreamId any = {random_.below(entries_.rbegin()->first.ms + 2), random_.below(3)};
    const auto found = random_.below(4) == 0 ? entries_.begin() : entries_.lower_bound(any);
    return found == entries_.end() ? entries_.rbegin()->first : found->first;
  }

  void erase() {
    for (std::uint64_t left = 1 + random_.below(10); left > 0; --left) {
      const StreamId id = some_id();
      const bool is_there = entries_.erase(id) > 0;
      ASSERT_EQ(stream_->erase(id), is_there);
      ASSERT_FALSE(stream_->contains(id));
      if (is_there) max_deleted_id_ = std::max(max_deleted_id_, id);
    }
  }

  void trim() {
    StreamTrim trim{.is_exact = random_.below(2) == 0};
    if (random_.below(2) == 0) {
      const std::size_t excess = random_.below(3) == 0 ? random_.below(200) : random_.below(8);
      trim.keep = entries_.size() - std::min(entries_.size(), excess);
    } else {
      trim.least = some_id();
    }
    if (!trim.is_exact) trim.most = random_.below(3) == 0 ? random_.below(200) : SIZE_MAX;
    const std::size_t expected = trim.is_exact ? exact_excess(trim) : whole_blocks(trim);
    ASSERT_EQ(stream_->trim(trim, limits_), expected);
    entries_.erase(entries_.begin(),
                   std::next(entries_.begin(), static_cast<std::ptrdiff_t>(expected)));
  }

  std::size_t exact_excess(const StreamTrim& trim) const {
    if (trim.keep) return entries_.size() - *trim.keep;
    const auto end = entries_.lower_bound(*trim.least);
    return static_cast<std::size_t>(std::distance(entries_.begin(), end));
  }

  // How many entries the blocks have that can go as a whole.
  std::size_t whole_blocks(const StreamTrim& trim) const {
    std::size_t removed = 0;
    bool is_open = true;
    stream_->each_block([&](StreamId first, std::string_view listpack) {
      const StreamBlock block(first, listpack);
      const std::size_t left = entries_.size() - removed;
      if (trim.keep && left <= *trim.keep) is_open = false;
      if (trim.most != 0 && removed + block.live() > trim.most) is_open = false;
      const bool is_whole =
          trim.keep ? left - block.live() >= *trim.keep : block.last() < *trim.least;
      is_open = is_open && is_whole;
      if (is_open) removed += block.live();
    });
    return removed;
  }

  void look() {
    StreamId from = random_.below(5) == 0 ? kStreamIdMin : some_id();
    StreamId to = random_.below(5) == 0 ? kStreamIdMax : some_id();
    if (random_.below(4) == 0) from = from.next().value_or(from);
    if (random_.below(4) == 0) to = to.previous().value_or(to);
    std::vector<StreamId> expected;
    for (auto at = entries_.lower_bound(from); at != entries_.end() && at->first <= to; ++at) {
      expected.push_back(at->first);
    }
    ASSERT_EQ(ids_of(*stream_, from, to), expected);
    std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(ids_of(*stream_, from, to, false), expected);
    ASSERT_EQ(stream_->contains(from), entries_.contains(from));
  }

  // Goes on with a copy, or with a stream of the same blocks.
  void copy() {
    std::unique_ptr<Stream> copy;
    if (random_.below(2) == 0) {
      copy = stream_->clone();
    } else {
      copy = std::make_unique<Stream>();
      stream_->each_block([&](StreamId first, std::string_view listpack) {
        EXPECT_EQ(copy->adopt_block(first, listpack), "");
      });
      EXPECT_EQ(copy->entries_added(), entries_.size());
      copy->set_last_id(last_id_);
      copy->set_max_deleted_id(max_deleted_id_);
      copy->set_entries_added(added_);
    }
    ASSERT_EQ(stream_->check_invariants(), "");
    std::swap(stream_, copy);
  }

  void set_last_id() {
    const StreamId top = stream_->top_id();
    last_id_ = random_.below(2) == 0 ? StreamId{top.ms + random_.below(50), top.seq}
                                     : StreamId{last_id_.ms + random_.below(50), last_id_.seq};
    stream_->set_last_id(last_id_);
  }

  Random random_;
  StreamLimits limits_;
  std::unique_ptr<Stream> stream_ = std::make_unique<Stream>();

  std::map<StreamId, Words> entries_;
  StreamId last_id_;
  StreamId max_deleted_id_;
  std::uint64_t added_ = 0;
};

TEST(StreamModelTest, BehavesAsAMap) {
  const StreamLimits all_limits[] = {{},
                                     {.block_bytes = 300, .block_entries = 0},
                                     {.block_bytes = 0, .block_entries = 7},
                                     {.block_bytes = 0, .block_entries = 300},
                                     {.block_bytes = 4096, .block_entries = 1}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    StreamModel model(seed, all_limits[seed % std::size(all_limits)]);
    for (int step = 0; step < 300; ++step) {
      ASSERT_NO_FATAL_FAILURE(model.step()) << "seed " << seed << ", step " << step;
      ASSERT_NO_FATAL_FAILURE(model.check()) << "seed " << seed << ", step " << step;
    }
  }
}

// ---- Ids and counters ----

TEST(StreamModelTest, AVisitEndsWhenItIsToldTo) {
  const auto stream = make_stream(10, {.block_entries = 3});
  std::vector<StreamId> ids;
  stream->each({2, 0}, kStreamIdMax, true, [&ids](const StreamEntry& entry) {
    ids.push_back(entry.id);
    return ids.size() < 4;
  });
  EXPECT_EQ(ids, (std::vector<StreamId>{{2, 0}, {3, 0}, {4, 0}, {5, 0}}));
}

TEST(StreamModelTest, ABlockGoesWithItsLastEntry) {
  const auto stream = make_stream(9, {.block_entries = 3});
  for (const std::uint64_t i : {4, 6, 9}) stream->erase({i, 0});
  EXPECT_EQ(stream->blocks(), 3u);
  stream->erase({5, 0});
  EXPECT_EQ(stream->blocks(), 2u);
  EXPECT_EQ(ids_of(*stream), (std::vector<StreamId>{{1, 0}, {2, 0}, {3, 0}, {7, 0}, {8, 0}}));
  stream->trim({.keep = 1}, {});
  EXPECT_EQ(stream->blocks(), 1u);
  EXPECT_EQ(stream->first_id(), (StreamId{8, 0}));
}

// Valkey, too, keeps a block of deleted entries if MINID is inside of it.
TEST(StreamModelTest, ABlockWithoutLiveEntriesMayStay) {
  const auto stream = make_stream(6, {.block_entries = 3});
  stream->erase({3, 0});
  stream->trim({.least = StreamId{3, 0}}, {});
  EXPECT_EQ(stream->blocks(), 2u);
  EXPECT_EQ(stream->size(), 3u);
  EXPECT_EQ(stream->first_id(), (StreamId{4, 0}));
  EXPECT_EQ(stream->check_invariants(), "");
}

TEST(StreamModelTest, TheLastIdIsNotBelowAnEntry) {
  const auto stream = make_stream(10, {.block_entries = 3});
  stream->set_last_id({4, 0});
  EXPECT_EQ(stream->last_id(), (StreamId{10, 0}));
  for (const std::uint64_t i : {6, 8, 9, 10}) stream->erase({i, 0});
  stream->set_last_id({4, 0});
  EXPECT_EQ(stream->last_id(), (StreamId{7, 0}));
  append(*stream, {8, 0}, {"b", "2"});  // where a deleted one was
  EXPECT_EQ(stream->check_invariants(), "");
  EXPECT_EQ(ids_of(*stream, {5, 0}), (std::vector<StreamId>{{5, 0}, {7, 0}, {8, 0}}));
}

TEST(StreamModelTest, AnIdMayBeUsedAgainWhereAllEntriesWereDeleted) {
  const auto stream = make_stream(4);
  for (const std::uint64_t i : {4, 1, 2}) stream->erase({i, 0});
  stream->trim({.least = StreamId{4, 0}}, {});
  EXPECT_EQ(stream->size(), 0u);
  EXPECT_EQ(stream->blocks(), 1u);
  stream->set_last_id({1, 0});
  append(*stream, {2, 0}, {"b", "2"});
  EXPECT_EQ(ids_of(*stream), (std::vector<StreamId>{{2, 0}}));
  stream->erase({2, 0});
  EXPECT_EQ(stream->first_id(), kStreamIdMin);
  EXPECT_EQ(stream->check_invariants(), "");
}

TEST(StreamModelTest, BlocksOutOfOrderAreRefused) {
  const auto stream = make_stream(10);
  std::string block;
  stream->each_block([&block](StreamId, std::string_view listpack) { block = listpack; });
  Stream other;
  EXPECT_EQ(other.adopt_block({1, 0}, block), "");
  EXPECT_NE(other.adopt_block({1, 0}, block), "");
  EXPECT_NE(other.adopt_block({10, 0}, block), "") << "the first block has an entry 10-0";
  EXPECT_EQ(other.size(), 10u);
  EXPECT_EQ(other.adopt_block({11, 0}, block), "");
  EXPECT_EQ(other.size(), 20u);
  EXPECT_EQ(other.last_id(), (StreamId{20, 0}));
  EXPECT_EQ(other.check_invariants(), "");
}

TEST(StreamModelTest, KnowsHowManyEntriesWereAddedUpToSomeIds) {
  Stream stream;
  EXPECT_EQ(stream.entries_up_to({5, 0}), 0u);
  for (std::uint64_t i = 1; i <= 10; ++i) append(stream, {i, 0}, {"a", "1"});
  EXPECT_EQ(stream.entries_up_to({0, 0}), 0u);
  EXPECT_EQ(stream.entries_up_to({1, 0}), 1u);
  EXPECT_EQ(stream.entries_up_to({5, 0}), std::nullopt) << "it is inside";
  EXPECT_EQ(stream.entries_up_to({10, 0}), 10u);
  EXPECT_EQ(stream.entries_up_to({11, 0}), std::nullopt);
  stream.trim({.keep = 4}, {});
  EXPECT_EQ(stream.entries_up_to({3, 0}), 6u);
  EXPECT_EQ(stream.entries_up_to({7, 0}), 7u);
  stream.erase({8, 0});
  EXPECT_EQ(stream.entries_up_to({7, 0}), std::nullopt) << "an entry behind it was deleted";
  EXPECT_EQ(stream.entries_up_to({0, 0}), std::nullopt);
  stream.trim({.keep = 1}, {});
  EXPECT_EQ(stream.entries_up_to({9, 0}), 9u) << "the deleted entry is gone";
  EXPECT_EQ(stream.entries_up_to({0, 0}), 9u);
  EXPECT_EQ(stream.entries_up_to({7, 0}), std::nullopt) << "it was before the deleted entry";
  stream.set_max_deleted_id({10, 0});
  EXPECT_EQ(stream.entries_up_to({0, 0}), std::nullopt) << "it is not before the first entry";
  stream.trim({.keep = 0}, {});
  EXPECT_EQ(stream.entries_up_to({3, 0}), 10u);
}

TEST(StreamModelTest, TellsWhetherAnEntryWasDeletedBehindAnId) {
  const auto stream = make_stream(5);
  EXPECT_FALSE(stream->has_deleted_after({0, 0}));
  stream->erase({3, 0});
  EXPECT_TRUE(stream->has_deleted_after({0, 0}));
  EXPECT_TRUE(stream->has_deleted_after({3, 0}));
  EXPECT_FALSE(stream->has_deleted_after({3, 1}));
  stream->trim({.keep = 0}, {});
  EXPECT_FALSE(stream->has_deleted_after({0, 0})) << "the stream is empty";
}

TEST(StreamModelTest, TheLagIsWhatAGroupHasNotRead) {
  Stream stream;
  StreamGroup& group = *stream.make_group("g", {0, 0}, std::nullopt);
  EXPECT_EQ(stream.lag(group), 0);
  for (std::uint64_t i = 1; i <= 5; ++i) append(stream, {i, 0}, {"a", "1"});
  EXPECT_EQ(stream.lag(group), 5);
  group.last_id = {3, 0};
  EXPECT_EQ(stream.lag(group), std::nullopt);
  group.entries_read = 3;
  EXPECT_EQ(stream.lag(group), 2);
  stream.erase({4, 0});
  EXPECT_EQ(stream.lag(group), std::nullopt) << "it may count the deleted entry or not";
  group.last_id = {5, 0};
  EXPECT_EQ(stream.lag(group), 2) << "nothing was deleted behind it: its own count is right";
  group.entries_read = 8;
  EXPECT_EQ(stream.lag(group), -3);
  group.entries_read.reset();
  EXPECT_EQ(stream.lag(group), 0);
}

// ---- Memory ----

TEST(StreamModelTest, OnlyTheLastBlockHasSpareRoom) {
  const auto stream = make_stream(2'000);
  std::size_t bytes = 0;
  stream->each_block([&bytes](StreamId, std::string_view listpack) { bytes += listpack.size(); });
  EXPECT_EQ(stream->blocks(), 20u);
  EXPECT_GE(stream->bytes(), bytes);
  EXPECT_LE(stream->bytes(), bytes + 4096 + 20 * 40 + 1'000);
}

TEST(StreamModelTest, ASmallStreamIsSmall) {
  const auto stream = make_stream(1);
  EXPECT_LE(stream->bytes(), 1'000u);
}

TEST(StreamModelTest, IsFreedInSlices) {
  const auto stream = make_stream(5'000);
  for (const char* const name : {"g", "h"}) {
    StreamGroup& group = *stream->make_group(name, {0, 0}, std::nullopt);
    StreamConsumer* const consumers[] = {group.make_consumer("a", {}),
                                         group.make_consumer("b", {})};
    for (std::uint64_t i = 1; i <= 3'000; ++i) group.deliver({i, 0}, *consumers[i % 2], {}, 1);
  }
  std::size_t left = stream->weight();
  EXPECT_GE(left, 11'000u);
  std::size_t slices = 0;
  while (left > 0) {
    const std::size_t now_left = stream->free_some(500);
    ASSERT_LT(now_left, left);
    ASSERT_LE(left - now_left, 800u);
    ASSERT_EQ(now_left, stream->weight());
    left = now_left;
    ++slices;
  }
  EXPECT_GE(slices, 20u);
  EXPECT_EQ(stream->blocks(), 0u);
  EXPECT_TRUE(stream->groups().empty());
}

}  // namespace stream_model_test
}  // namespace mayfly
