// SPDX-License-Identifier: Apache-2.0
// Stream ids: their order, their neighbours, and their text.

#include "keyspace/stream/stream_id.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace stream_id_test {

constexpr std::uint64_t kMost = UINT64_MAX;

TEST(StreamIdTest, IsOrderedByTimeAndThenByNumber) {
  EXPECT_LT((StreamId{1, 9}), (StreamId{2, 0}));
  EXPECT_LT((StreamId{2, 0}), (StreamId{2, 1}));
  EXPECT_LT((StreamId{kMost - 1, kMost}), kStreamIdMax);
}

TEST(StreamIdTest, HasNeighboursButAtTheEndsOfAllIds) {
  EXPECT_EQ((StreamId{5, 3}.next()), (StreamId{5, 4}));
  EXPECT_EQ((StreamId{5, kMost}.next()), (StreamId{6, 0}));
  EXPECT_EQ(kStreamIdMax.next(), std::nullopt);
  EXPECT_EQ((StreamId{5, 3}.previous()), (StreamId{5, 2}));
  EXPECT_EQ((StreamId{5, 0}.previous()), (StreamId{4, kMost}));
  EXPECT_EQ(kStreamIdMin.previous(), std::nullopt);
}

TEST(StreamIdTest, TextIsReadBack) {
  const StreamId ids[] = {kStreamIdMin, {1526919030474, 55}, {kMost, 0}, kStreamIdMax};
  for (const StreamId id : ids) EXPECT_EQ(parse_stream_id(id.text(), 7), id);
  EXPECT_EQ((StreamId{1526919030474, 55}.text()), "1526919030474-55");
  EXPECT_EQ(kStreamIdMax.text(), "18446744073709551615-18446744073709551615");
}

TEST(StreamIdTest, AMissingNumberIsTheGivenOne) {
  EXPECT_EQ(parse_stream_id("12", 0), (StreamId{12, 0}));
  EXPECT_EQ(parse_stream_id("12", kMost), (StreamId{12, kMost}));
  EXPECT_EQ(parse_stream_id("12-3", kMost), (StreamId{12, 3}));
  EXPECT_EQ(parse_stream_id("012-003", 0), (StreamId{12, 3}));
}

TEST(StreamIdTest, OtherTextsAreNoIds) {
  for (const char* const text :
       {"", "-", "+", "$", "*", "1-", "-1", "1-*", "a", "1-a", "1a", "1-2-3", "1--2", " 1", "1-2 ",
        "18446744073709551616", "1-18446744073709551616", "0x10", "1.5"}) {
    EXPECT_EQ(parse_stream_id(text, 0), std::nullopt) << text;
  }
}

}  // namespace stream_id_test
}  // namespace mayfly
