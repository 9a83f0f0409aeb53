// SPDX-License-Identifier: Apache-2.0
// HyperLogLogs as strings: against plain registers, and against bytes that are no HyperLogLog.

#include "commands/hyperloglog/hll.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "commands/hyperloglog/hll_sparse.h"

namespace mayfly {
namespace hll_test {

constexpr std::size_t kLimit = 3000;

// Registers in the simplest form.
using Model = std::array<unsigned, kHllRegisters>;

std::string runs_text(std::string_view bytes) {
  std::string text;
  each_sparse_run(bytes.substr(kHllHeaderBytes), [&](std::size_t, const SparseRun& run) {
    text += (run.rank > 0  ? "v" + std::to_string(run.rank)
             : run.is_wide ? "Z"
                           : "z") +
            ":" + std::to_string(run.registers) + " ";
  });
  return text;
}

void expect_same(const Model& model, std::string_view bytes) {
  ASSERT_EQ(check_hll(bytes), "");
  HllRegisters registers;
  ASSERT_TRUE(merge_hll(registers, bytes));
  for (std::size_t i = 0; i < kHllRegisters; ++i) ASSERT_EQ(registers[i], model[i]) << i;
}

// ---- Elements and estimates ----

// As redis-server has them.
TEST(HllElementTest, IsTheSameAsInRedis) {
  const auto is = [](std::string_view text, std::size_t index, unsigned rank) {
    const HllElement element = hll_element(text);
    EXPECT_EQ(element.index, index) << text;
    EXPECT_EQ(element.rank, rank) << text;
  };
  is("", 5938, 2);
  is("exactly8", 75, 4);
  is("thirteen byte", 9624, 2);
  is("hello", 9216, 1);
  is("world", 2742, 3);
}

TEST(HllEstimateTest, IsTheSameAsInRedis) {
  OwnHllString hll(empty_hll());
  int added = 0;
  const auto grow_to = [&](int count, std::uint64_t estimate) {
    for (; added < count; ++added) {
      raise_hll(hll, hll_element(std::to_string(added + 1)), kLimit);
    }
    EXPECT_EQ(estimate_hll(hll.bytes()), estimate) << count;
    HllRegisters registers;
    merge_hll(registers, hll.bytes());
    EXPECT_EQ(estimate_distinct(registers.histogram()), estimate) << count;
  };
  grow_to(0, 0);
  grow_to(10, 10);
  grow_to(100, 100);
  grow_to(1000, 1001);
  EXPECT_EQ(hll.bytes().size(), 1922u);
  EXPECT_FALSE(is_dense_hll(hll.bytes()));
  grow_to(10'000, 9988);
  EXPECT_TRUE(is_dense_hll(hll.bytes()));
  grow_to(100'000, 99'562);
}

TEST(HllEstimateTest, OfAnyRegistersIsTheSameAsInRedis) {
  const auto estimate = [](auto rank_of) {
    HllRegisters registers;
    for (unsigned i = 0; i < kHllRegisters; ++i) registers.raise(i, 1, rank_of(i));
    return estimate_distinct(registers.histogram());
  };
  EXPECT_EQ(estimate([](unsigned i) { return i % 52; }), 303'516u);
  EXPECT_EQ(estimate([](unsigned i) { return i % 64; }), 375'261u);
  EXPECT_EQ(estimate([](unsigned i) { return i % 100 == 0 ? 51u : 3u; }), 95'504u);
}

TEST(HllEstimateTest, OfRegistersThatNoElementsGiveIsTheHighest) {
  HllHistogram histogram{};
  histogram[63] = kHllRegisters;
  EXPECT_EQ(estimate_distinct(histogram), std::uint64_t{1} << 63);
  histogram = {};
  histogram[kHllRankMax] = kHllRegisters;
  EXPECT_EQ(estimate_distinct(histogram), std::uint64_t{1} << 63);
}

TEST(HllEstimateTest, IsCachedUntilARegisterIsRaised) {
  OwnHllString hll(empty_hll());
  EXPECT_EQ(cached_estimate(hll.bytes()), 0u);
  for (const bool is_dense : {false, true}) {
    const HllElement element{is_dense ? 7u : 8u, 3};
    EXPECT_EQ(raise_hll(hll, element, kLimit), HllChange::raised);
    EXPECT_EQ(cached_estimate(hll.bytes()), std::nullopt);
    cache_estimate(hll, 0x0123456789ABCDEF);
    EXPECT_EQ(cached_estimate(hll.bytes()), 0x0123456789ABCDEFu);
    EXPECT_EQ(raise_hll(hll, element, kLimit), HllChange::none);
    EXPECT_EQ(cached_estimate(hll.bytes()), 0x0123456789ABCDEFu);
    EXPECT_EQ(hll.bytes().substr(8, 8), "\xEF\xCD\xAB\x89\x67\x45\x23\x01");
    EXPECT_TRUE(make_dense(hll));
    EXPECT_EQ(cached_estimate(hll.bytes()), 0x0123456789ABCDEFu);
  }
}

// ---- The sparse form ----

TEST(HllSparseTest, BeginsAsOneRun) {
  EXPECT_EQ(empty_hll(), std::string("HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7F\xFF", 18));
}

TEST(HllSparseTest, SplitsAndJoinsRuns) {
  OwnHllString hll(empty_hll());
  const auto raise = [&](std::size_t index, unsigned rank) {
    EXPECT_EQ(raise_hll(hll, {index, rank}, kLimit), HllChange::raised);
    EXPECT_EQ(check_hll(hll.bytes()), "");
    return runs_text(hll.bytes());
  };
  EXPECT_EQ(raise(1000, 2), "Z:1000 v2:1 Z:15383 ");
  EXPECT_EQ(raise(1021, 3), "Z:1000 v2:1 z:20 v3:1 Z:15362 ");
  EXPECT_EQ(raise(1020, 3), "Z:1000 v2:1 z:19 v3:2 Z:15362 ");
  EXPECT_EQ(raise(1022, 3), "Z:1000 v2:1 z:19 v3:3 Z:15361 ");
  EXPECT_EQ(raise(1024, 3), "Z:1000 v2:1 z:19 v3:3 z:1 v3:1 Z:15359 ");
  EXPECT_EQ(raise(1023, 3), "Z:1000 v2:1 z:19 v3:4 v3:1 Z:15359 ");  // at most four
  EXPECT_EQ(raise(1021, 4), "Z:1000 v2:1 z:19 v3:1 v4:1 v3:3 Z:15359 ");
  EXPECT_EQ(raise(0, 32), "v32:1 Z:999 v2:1 z:19 v3:1 v4:1 v3:3 Z:15359 ");
  EXPECT_EQ(raise(16383, 1), "v32:1 Z:999 v2:1 z:19 v3:1 v4:1 v3:3 Z:15358 v1:1 ");
}

TEST(HllSparseTest, BecomesDenseForAHighRankOrManyBytes) {
  OwnHllString high(empty_hll());
  EXPECT_EQ(raise_hll(high, {5, 33}, kLimit), HllChange::raised);
  EXPECT_TRUE(is_dense_hll(high.bytes()));
  EXPECT_EQ(check_hll(high.bytes()), "");

  OwnHllString large(empty_hll());
  EXPECT_EQ(raise_hll(large, {5000, 1}, 21), HllChange::raised);  // 18 bytes and three more
  EXPECT_FALSE(is_dense_hll(large.bytes()));
  EXPECT_EQ(large.bytes().size(), 21u);
  EXPECT_EQ(raise_hll(large, {5000, 2}, 20), HllChange::raised);  // it does not grow
  EXPECT_FALSE(is_dense_hll(large.bytes()));
  EXPECT_EQ(raise_hll(large, {7000, 1}, 23), HllChange::raised);
  EXPECT_TRUE(is_dense_hll(large.bytes()));
  EXPECT_EQ(large.bytes().size(), kHllDenseBytes);
}

// Eight bytes are read at once: the result must not depend on where runs begin.
TEST(HllSparseTest, FindsARegisterWhereverItsRunIs) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string runs;
    while (runs.size() < 150 + random() % 300) {
      runs.push_back(static_cast<char>(random() % 4 == 0 ? 0x40 + random() % 2 : random()));
      if ((runs.back() & 0xC0) == 0x40) {
        runs.back() &= 0x41;
        runs.push_back(static_cast<char>(random()));
      }
    }
    SparsePlace expected;
    while (expected.at < runs.size()) {
      expected.run = sparse_run(runs, expected.at);
      for (const std::size_t index :
           {expected.first, expected.first + expected.run.registers - 1}) {
        const std::optional<SparsePlace> found = find_sparse(runs, index);
        ASSERT_TRUE(found) << index;
        ASSERT_EQ(found->at, expected.at) << index;
        ASSERT_EQ(found->first, expected.first) << index;
        ASSERT_EQ(found->before, expected.before) << index;
        ASSERT_EQ(found->run.registers, expected.run.registers) << index;
      }
      expected.before = expected.at;
      expected.first += expected.run.registers;
      expected.at += expected.run.bytes;
    }
    ASSERT_FALSE(find_sparse(runs, expected.first));
  }
}

// ---- Against a model ----

class HllModelTest : public testing::TestWithParam<std::size_t> {};

TEST_P(HllModelTest, AgreesWithPlainRegisters) {
  std::mt19937_64 random(GetParam());
  OwnHllString hll(empty_hll());
  Model model{};
  const std::size_t most = GetParam() / 3 + 200;
  for (std::size_t step = 0; step < most; ++step) {
    const std::size_t index =
        random() % 3 == 0 ? random() % kHllRegisters : 8000 + random() % (most / 2);
    const auto rank = static_cast<unsigned>(1 + random() % (step + 1 == most ? 51 : 4));
    const HllChange change = raise_hll(hll, {index, rank}, GetParam());
    ASSERT_EQ(change, rank > model[index] ? HllChange::raised : HllChange::none);
    model[index] = std::max(model[index], rank);
    if (!is_dense_hll(hll.bytes())) {
      ASSERT_LE(hll.bytes().size(), GetParam());
    }
    if (step % 50 == 0) expect_same(model, hll.bytes());
  }
  expect_same(model, hll.bytes());
  const std::optional<std::uint64_t> estimate = estimate_hll(hll.bytes());
  ASSERT_TRUE(make_dense(hll));
  expect_same(model, hll.bytes());
  EXPECT_EQ(estimate_hll(hll.bytes()), estimate);
}
INSTANTIATE_TEST_SUITE_P(OfSize, HllModelTest, testing::Values(0, 30, 100, 500, 3000, 12000));

TEST(HllDenseTest, MergesAndStoresEveryValue) {
  std::mt19937_64 random(3);
  HllRegisters all;
  Model model{};
  for (int round = 0; round < 3; ++round) {
    OwnHllString hll(empty_hll());
    ASSERT_TRUE(make_dense(hll));
    HllRegisters some;
    for (std::size_t i = 0; i < kHllRegisters; ++i) {
      const auto rank = static_cast<unsigned>(random() % 64);
      some.raise(i, 1, rank);
      model[i] = std::max(model[i], rank);
    }
    store_registers(hll, some);
    ASSERT_TRUE(merge_hll(all, hll.bytes()));
  }
  for (std::size_t i = 0; i < kHllRegisters; ++i) ASSERT_EQ(all[i], model[i]) << i;
  HllHistogram expected{};
  for (const unsigned rank : model) ++expected[rank];
  EXPECT_EQ(all.histogram(), expected);
  std::string packed(kHllPackedBytes, '\0');
  all.pack(packed.data());
  EXPECT_EQ(histogram_of_dense(packed.data()), expected);
}

// ---- Damage ----

TEST(HllDamageTest, IsNoticedByEachFunction) {
  const std::string header = empty_hll().substr(0, kHllHeaderBytes);
  const std::string too_many = header + "\x7F\xFF\x3F";
  const std::string too_few = header + "\x7F\xFE";
  for (const std::string& bytes : {header, too_many, too_few}) {
    ASSERT_TRUE(is_hll(bytes));
    EXPECT_NE(check_hll(bytes), "");
    HllRegisters registers;
    EXPECT_FALSE(merge_hll(registers, bytes));
    EXPECT_EQ(estimate_hll(bytes), std::nullopt);
    OwnHllString hll(bytes);
    EXPECT_FALSE(make_dense(hll));
    EXPECT_EQ(raise_hll(hll, {1, 40}, kLimit), HllChange::damaged);
    EXPECT_EQ(hll.bytes(), bytes);
  }
  OwnHllString ends(too_few);
  EXPECT_EQ(raise_hll(ends, {16383, 1}, kLimit), HllChange::damaged);
}

TEST(HllDamageTest, AHeaderThatIsWrongIsNoHll) {
  const std::string good = empty_hll();
  EXPECT_TRUE(is_hll(good));
  EXPECT_FALSE(is_hll(""));
  EXPECT_FALSE(is_hll(good.substr(0, 15)));
  for (const std::size_t at : {0u, 1u, 2u, 3u, 4u}) {
    std::string bad = good;
    bad[at] = 'x';
    EXPECT_FALSE(is_hll(bad)) << at;
  }
  std::string dense = good;
  dense[4] = 0;
  EXPECT_FALSE(is_hll(dense));
  dense.resize(kHllDenseBytes);
  EXPECT_TRUE(is_hll(dense));
  dense.push_back(0);
  EXPECT_FALSE(is_hll(dense));
}

// Whatever the bytes are, nothing is read or written outside of them (AddressSanitizer), and what
// is accepted has all registers.
TEST(HllDamageTest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = empty_hll().substr(0, kHllHeaderBytes);
    const std::size_t size = std::array{0, 1, 2, 9, 40, 300, 3000}[random() % 7];
    constexpr std::array<unsigned char, 6> kOften = {0x7F, 0xFF, 0x40, 0x80, 0x3F, 0x00};
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t any = random();
      bytes.push_back(static_cast<char>(any % 3 == 0 ? kOften[any / 3 % 6] : any >> 8));
    }
    OwnHllString hll(bytes);
    for (int i = 0; i < 5; ++i) {
      const HllElement element{random() % kHllRegisters, static_cast<unsigned>(1 + random() % 35)};
      raise_hll(hll, element, random() % 2 == 0 ? kLimit : 0);
      ASSERT_TRUE(is_hll(hll.bytes()));
    }
    const std::optional<std::uint64_t> estimate = estimate_hll(hll.bytes());
    HllRegisters registers;
    ASSERT_EQ(merge_hll(registers, hll.bytes()), estimate.has_value());
    ASSERT_EQ(make_dense(hll), estimate.has_value());
    if (estimate) {
      EXPECT_EQ(estimate_hll(hll.bytes()), estimate);
    }
  }
}

}  // namespace hll_test
}  // namespace mayfly
