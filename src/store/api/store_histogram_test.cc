// SPDX-License-Identifier: Apache-2.0
// Does the histogram of deadlines count each entry once, wherever it is kept? The model test
// (store_model_test.cc) compares it with that of a map after every step.

#include <gtest/gtest.h>

#include <string>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_histogram_test {

using namespace std::chrono_literals;

class StoreHistogramTest : public OpenStoreFixture {
 protected:
  // "1s=2/30": two entries of 30 bytes together. Empty buckets are left out.
  static std::string shown(const TtlHistogram& histogram) {
    std::string text;
    const auto add = [&text](std::string_view name, const TtlCount& count) {
      if (count == TtlCount()) return;
      if (!text.empty()) text += ' ';
      text += std::string(name) + "=" + std::to_string(count.entries) + "/" +
              std::to_string(count.bytes);
    };
    add("overdue", histogram.overdue);
    for (std::size_t i = 0; i < kTtlBuckets; ++i) add(kTtlBounds[i].name, histogram.buckets[i]);
    return text;
  }
  template <class From>
  static std::string with_bytes(const From& from, Family family = {}) {
    return shown(must(from.ttl_histogram({.bytes = true}, family)));
  }
};

TEST_F(StoreHistogramTest, AnEntryIsInTheFirstBucketWhoseBoundItDoesNotExceed) {
  const std::pair<Millis, const char*> kCases[] = {
      {1ms, "1s=1/4"},   {1s, "1s=1/4"},    {1001ms, "10s=1/4"},
      {10s, "10s=1/4"},  {60s, "1m=1/4"},   {60'001ms, "10m=1/4"},
      {600s, "10m=1/4"}, {3600s, "1h=1/4"}, {3'600'001ms, "1d=1/4"},
      {24h, "1d=1/4"},   {168h, "1w=1/4"},  {168h + 1ms, "later=1/4"}};
  for (const auto& [ttl, expected] : kCases) {
    must(store_.put("key", "v", ttl));
    EXPECT_EQ(with_bytes(store_), expected) << ttl.count();
  }
  must(store_.put("key", "v"));
  EXPECT_EQ(with_bytes(store_), "") << "what never expires";
  EXPECT_EQ(must(store_.ttl_histogram()), TtlHistogram());
}

TEST_F(StoreHistogramTest, ItIsTheSameInTheLogInTheTreeAndInBoth) {
  must(store_.put("a", "value", 500ms));
  must(store_.put("b", "value", 5s));
  must(store_.put("plain", "value"));
  EXPECT_EQ(with_bytes(store_), "1s=1/6 10s=1/6");
  must(store_.checkpoint());
  EXPECT_EQ(with_bytes(store_), "1s=1/6 10s=1/6");
  must(store_.put("a", "longer value", 500ms));  // replaces a row of the tree
  must(store_.expire("b", 30s));                 // the value stays in the tree
  must(store_.expire("plain", 2h));
  EXPECT_EQ(with_bytes(store_), "1s=1/13 1m=1/6 1d=1/10");
  must(store_.erase("a"));
  must(store_.persist("b"));
  EXPECT_EQ(with_bytes(store_), "1d=1/10");
  must(store_.checkpoint());
  EXPECT_EQ(with_bytes(store_), "1d=1/10");
}

TEST_F(StoreHistogramTest, ALongKeyCountsWithAllOfItsBytes) {
  const std::string one = std::string(600, 'k') + "1";
  const std::string two = std::string(600, 'k') + "2";
  must(store_.put(one, "value", 5s));
  must(store_.put(two, "value", 5s));
  EXPECT_EQ(with_bytes(store_), "10s=2/1212");
  must(store_.checkpoint());
  EXPECT_EQ(with_bytes(store_), "10s=2/1212");
  must(store_.erase(one));
  EXPECT_EQ(with_bytes(store_), "10s=1/606");
  EXPECT_EQ(must(store_.ttl_histogram()).total().entries, 1u);
}

TEST_F(StoreHistogramTest, ALargeValueCountsWithAllOfItsBytes) {
  must(store_.put("key", std::string(100'000, 'v'), 5s));
  must(store_.checkpoint());
  EXPECT_EQ(with_bytes(store_), "10s=1/100003");
}

TEST_F(StoreHistogramTest, WhatIsDueIsOverdueUntilItIsPurged) {
  must(store_.put("a", "v", 10ms));
  must(store_.put("b", "v", 20ms));
  must(store_.put("c", "v", 30ms));
  must(store_.checkpoint());
  clock_.advance(20ms);
  const TtlHistogram histogram = must(store_.ttl_histogram({.bytes = true}));
  EXPECT_EQ(shown(histogram), "overdue=2/4 1s=1/2");
  EXPECT_EQ(histogram.oldest_overdue, kStart + 10ms);
  must(store_.purge_expired({.entries = 1}));
  EXPECT_EQ(must(store_.ttl_histogram()).oldest_overdue, kStart + 20ms);
  must(store_.purge_expired());
  EXPECT_EQ(with_bytes(store_), "1s=1/2");
  EXPECT_EQ(must(store_.ttl_histogram()).oldest_overdue, kNever);
}

TEST_F(StoreHistogramTest, ATransactionSeesItsOwnWritesAndItsMoment) {
  must(store_.put("a", "v", 5s));
  const ReadTxn before = must(store_.read());
  WriteTxn txn = must(store_.write());
  txn.put("b", "value", 500ms);
  txn.expire("a", 30s);
  clock_.advance(1s);
  EXPECT_EQ(with_bytes(txn), "1s=1/6 1m=1/2");
  EXPECT_EQ(with_bytes(before), "10s=1/2");
  EXPECT_EQ(with_bytes(store_), "10s=1/2");
  must(txn.create_family("other"));  // goes straight into the tree
  EXPECT_EQ(with_bytes(txn), "1s=1/6 1m=1/2");
  must(txn.commit());
  EXPECT_EQ(with_bytes(before), "10s=1/2");
  EXPECT_EQ(with_bytes(store_), "overdue=1/6 1m=1/2");
}

TEST_F(StoreHistogramTest, AFamilyHasItsOwnAndAllTogetherTheSum) {
  const Family sessions = must(store_.create_family("sessions"));
  must(store_.put("a", "v", 5s));
  must(store_.put("a", "v", 5s, sessions));
  must(store_.put("b", "v", 1h, sessions));
  EXPECT_EQ(with_bytes(store_), "10s=1/2");
  EXPECT_EQ(with_bytes(store_, sessions), "10s=1/2 1h=1/2");
  EXPECT_EQ(shown(must(store_.ttl_histogram_all({.bytes = true}))), "10s=2/4 1h=1/2");
  must(store_.drop_family("sessions"));
  EXPECT_EQ(code_of(store_.ttl_histogram({}, sessions)), Code::not_found);
  EXPECT_EQ(shown(must(store_.ttl_histogram_all({.bytes = true}))), "10s=1/2");
}

TEST_F(StoreHistogramTest, ANewStoreHasNothingAndAClosedOneSaysSo) {
  EXPECT_EQ(must(store_.ttl_histogram_all({.bytes = true})), TtlHistogram());
  must(store_.close());
  EXPECT_EQ(code_of(store_.ttl_histogram()), Code::invalid);
  EXPECT_EQ(code_of(store_.ttl_histogram_all()), Code::invalid);
}

}  // namespace store_histogram_test
}  // namespace mayfly::internal
