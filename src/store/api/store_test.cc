// SPDX-License-Identifier: Apache-2.0
// The calls of a store, each as a transaction of its own and inside one; keys and values of all
// sizes, and what is refused. What time does to entries is in store_ttl_test.cc.

#include "mayfly/store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <limits>

#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_test {

using namespace std::chrono_literals;

class StoreTest : public OpenStoreFixture {};

TEST_F(StoreTest, ReturnsWhatWasPut) {
  must(store_.put("key", "value"));

  EXPECT_EQ(value("key"), "value");
  EXPECT_EQ(value("other"), "(none)");
  EXPECT_TRUE(must(store_.contains("key")));
  EXPECT_FALSE(must(store_.contains("other")));
}

TEST_F(StoreTest, KeepsBytesOfAnyKind) {
  const std::string key("\0\xff\n\0", 4);
  const std::string bytes("\0value\0", 7);
  must(store_.put(key, bytes));
  must(store_.put("empty", ""));

  EXPECT_EQ(value(key), bytes);
  EXPECT_EQ(value("empty"), "");
  EXPECT_EQ(value(std::string_view(key).substr(0, 3)), "(none)");
}

TEST_F(StoreTest, AnEmptyViewWithoutMemoryIsAnEmptyValue) {
  must(store_.put("key", std::string_view()));
  EXPECT_EQ(value("key"), "");
}

TEST_F(StoreTest, APutReplacesTheValueWhateverItsSize) {
  for (const std::size_t size : {10u, 3'000u, 100'000u, 0u, 5'000u, 1u}) {
    const std::string bytes(size, static_cast<char>('a' + size % 26));
    must(store_.put("key", bytes));
    EXPECT_EQ(value("key"), bytes);
    EXPECT_EQ(stored(), 1u);
  }
}

TEST_F(StoreTest, IsKeptWhenClosedAndOpenedAgain) {
  must(store_.put("key", "value"));
  must(store_.put("session", "token", 10s));
  reopen();

  EXPECT_EQ(value("key"), "value");
  EXPECT_EQ(deadline("key"), kNever);
  EXPECT_EQ(deadline("session"), kStart + 10s);
}

TEST_F(StoreTest, GetIntoReusesTheMemoryAndTellsWhetherThereIsAValue) {
  must(store_.put("key", "value"));
  std::string out(1'000, 'x');
  const char* const memory = out.data();

  EXPECT_TRUE(must(store_.get_into(out, "key")));
  EXPECT_EQ(out, "value");
  EXPECT_EQ(out.data(), memory);
  EXPECT_FALSE(must(store_.get_into(out, "other")));
}

TEST_F(StoreTest, AnEntryHasItsValueItsDeadlineAndWhatIsLeft) {
  must(store_.put("session", "token", 10s));
  must(store_.put("key", "value"));
  clock_.advance(4s);

  const auto session = must(store_.get_entry("session"));
  ASSERT_TRUE(session);
  EXPECT_EQ(session->value, "token");
  EXPECT_EQ(session->deadline, kStart + 10s);
  EXPECT_EQ(session->ttl, Millis(6s));
  const auto key = must(store_.get_entry("key"));
  ASSERT_TRUE(key);
  EXPECT_EQ(key->deadline, kNever);
  EXPECT_EQ(key->ttl, std::nullopt);
  EXPECT_FALSE(must(store_.get_entry("other")));
}

TEST_F(StoreTest, ADeadlineIsNeverForOneWithoutAndNothingForNone) {
  must(store_.put("key", "value"));
  must(store_.put("session", "token", 10s));

  EXPECT_EQ(must(store_.deadline("key")), kNever);
  EXPECT_EQ(must(store_.deadline("session")), kStart + 10s);
  EXPECT_EQ(must(store_.deadline("other")), std::nullopt);
}

TEST_F(StoreTest, ManyKeysAreReadInTheOrderTheyWereAsked) {
  must(store_.put("a", "1"));
  must(store_.put("c", "3", 10s));
  const std::array<std::string_view, 5> keys = {"c", "b", "a", "c", "d"};

  using Values = std::vector<std::optional<std::string>>;
  EXPECT_EQ(must(store_.get_many(keys)), (Values{"3", std::nullopt, "1", "3", std::nullopt}));
  clock_.advance(10s);
  EXPECT_EQ(must(store_.get_many(keys)),
            (Values{std::nullopt, std::nullopt, "1", std::nullopt, std::nullopt}));
  EXPECT_TRUE(must(store_.get_many({})).empty());
}

TEST_F(StoreTest, EraseTellsWhetherTheKeyWasThere) {
  must(store_.put("key", "value"));
  must(store_.put("session", "token", 10s));

  EXPECT_TRUE(must(store_.erase("key")));
  EXPECT_FALSE(must(store_.erase("key")));
  EXPECT_TRUE(must(store_.erase("session")));
  EXPECT_EQ(value("session"), "(none)");
  EXPECT_EQ(stored(), 0u);
  EXPECT_EQ(must(store_.next_deadline()), kNever) << "the expiry index has it still";
}

TEST_F(StoreTest, EraseOfAnExpiredKeySaysThatItWasNotThere) {
  must(store_.put("session", "token", 10s));
  clock_.advance(10s);

  EXPECT_FALSE(must(store_.erase("session")));
  EXPECT_EQ(stored(), 0u);
  expect_sound();
}

TEST_F(StoreTest, EraseManyCountsThoseThatWereThere) {
  must(store_.put("a", "1"));
  must(store_.put("b", "2", 10s));
  must(store_.put("c", "3", 20s));
  must(store_.put("d", "4"));
  clock_.advance(10s);
  const std::array<std::string_view, 5> keys = {"a", "b", "c", "x", "a"};

  EXPECT_EQ(must(store_.erase_many(keys)), 2u);
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{"d", "4"}}));
  EXPECT_EQ(stored(), 1u);
}

TEST_F(StoreTest, PutIfAbsentLeavesWhatIsThere) {
  EXPECT_TRUE(must(store_.put_if_absent("key", "first", 10s)));
  EXPECT_FALSE(must(store_.put_if_absent("key", "second", 99s)));

  EXPECT_EQ(value("key"), "first");
  EXPECT_EQ(deadline("key"), kStart + 10s);
}

TEST_F(StoreTest, PutIfAbsentTakesAnExpiredKeyForAbsent) {
  must(store_.put("key", "first", 10s));
  clock_.advance(10s);

  EXPECT_TRUE(must(store_.put_if_absent("key", "second")));
  EXPECT_EQ(value("key"), "second");
  EXPECT_EQ(deadline("key"), kNever);
  EXPECT_EQ(must(store_.next_deadline()), kNever) << "the old row of the expiry index is there";
}

TEST_F(StoreTest, CompareAndSetPutsOnlyOverWhatWasExpected) {
  must(store_.put("key", "old", 10s));

  EXPECT_FALSE(must(store_.compare_and_set("key", "older", "new")));
  EXPECT_FALSE(must(store_.compare_and_set("key", std::nullopt, "new")));
  EXPECT_FALSE(must(store_.compare_and_set("other", "old", "new")));
  EXPECT_EQ(value("key"), "old");
  EXPECT_FALSE(must(store_.contains("other")));
  EXPECT_TRUE(must(store_.compare_and_set("key", "old", "new")));
  EXPECT_EQ(value("key"), "new");
  EXPECT_EQ(deadline("key"), kStart + 10s) << "the deadline stays";
}

TEST_F(StoreTest, CompareAndSetSetsTheDeadlineIfToldTo) {
  must(store_.put("key", "a", 10s));
  EXPECT_TRUE(must(store_.compare_and_set("key", "a", "b", 20s)));
  EXPECT_EQ(deadline("key"), kStart + 20s);
  EXPECT_TRUE(must(store_.compare_and_set("key", "b", "c", Expiry::never())));
  EXPECT_EQ(deadline("key"), kNever);
}

TEST_F(StoreTest, CompareAndSetWithNothingExpectedMakesTheKey) {
  EXPECT_TRUE(must(store_.compare_and_set("key", std::nullopt, "first", 10s)));
  EXPECT_FALSE(must(store_.compare_and_set("key", std::nullopt, "second")));
  clock_.advance(10s);
  EXPECT_FALSE(must(store_.compare_and_set("key", "first", "second"))) << "it is expired";
  EXPECT_TRUE(must(store_.compare_and_set("key", std::nullopt, "third")));
  EXPECT_EQ(value("key"), "third");
  EXPECT_EQ(deadline("key"), kNever) << "an expired key has no deadline to keep";
}

TEST_F(StoreTest, CompareAndSetTellsAnEmptyValueFromNone) {
  must(store_.put("key", ""));
  EXPECT_FALSE(must(store_.compare_and_set("key", std::nullopt, "new")));
  EXPECT_TRUE(must(store_.compare_and_set("key", "", "new")));
}

TEST_F(StoreTest, IncrementCountsFromNothing) {
  EXPECT_EQ(must(store_.increment("counter")), 1);
  EXPECT_EQ(must(store_.increment("counter", 41)), 42);
  EXPECT_EQ(must(store_.increment("counter", -50)), -8);
  EXPECT_EQ(must(store_.increment("counter", 0)), -8);
  EXPECT_EQ(value("counter"), "-8");
}

TEST_F(StoreTest, IncrementKeepsTheDeadlineOfAKeyThatIsThere) {
  EXPECT_EQ(must(store_.increment("window", 1, 10s)), 1);
  clock_.advance(5s);
  EXPECT_EQ(must(store_.increment("window", 1, 10s)), 2);
  EXPECT_EQ(deadline("window"), kStart + 10s);

  clock_.advance(5s);
  EXPECT_EQ(must(store_.increment("window", 1, 10s)), 1) << "a new window begins";
  EXPECT_EQ(deadline("window"), kStart + 20s);
}

TEST_F(StoreTest, IncrementOfWhatIsNoNumberIsAnErrorAndLeavesIt) {
  for (const std::string_view text :
       {"", " 1", "1 ", "+1", "1.5", "0x10", "one", "--1", "-", "9223372036854775808"}) {
    must(store_.put("key", text, 10s));
    EXPECT_EQ(code_of(store_.increment("key")), Code::invalid) << '"' << text << '"';
    EXPECT_EQ(value("key"), text);
    EXPECT_EQ(deadline("key"), kStart + 10s);
  }
}

TEST_F(StoreTest, IncrementNeverWrapsAround) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

  EXPECT_EQ(must(store_.increment("up", kMax)), kMax);
  EXPECT_EQ(code_of(store_.increment("up", 1)), Code::invalid);
  EXPECT_EQ(value("up"), std::to_string(kMax));
  EXPECT_EQ(must(store_.increment("up", kMin)), -1);
  EXPECT_EQ(must(store_.increment("down", kMin)), kMin);
  EXPECT_EQ(code_of(store_.increment("down", -1)), Code::invalid);
  EXPECT_EQ(must(store_.increment("down", kMax)), -1);
}

TEST_F(StoreTest, ClearRemovesEntriesAndBothIndexes) {
  for (int i = 0; i < 1'000; ++i) {
    must(store_.put("key" + std::to_string(i), "v", i % 2 == 0 ? Expiry(10s) : Expiry()));
  }
  must(store_.clear());

  EXPECT_EQ(stored(), 0u);
  EXPECT_EQ(must(store_.next_deadline()), kNever);
  EXPECT_TRUE(rows_of(store_).empty());
  must(store_.put("key0", "new", 20s));
  EXPECT_EQ(deadline("key0"), kStart + 20s);
  EXPECT_EQ(count().with_ttl, 1u);
  expect_sound();
}

TEST_F(StoreTest, CountsAreExactWithoutAnyRemoval) {
  for (int i = 0; i < 100; ++i) {
    must(store_.put("ttl" + std::to_string(i), "v", Millis(i + 1)));
    must(store_.put("key" + std::to_string(i), "v"));
  }
  clock_.advance(40ms);

  const FamilyCounts counts = count();
  EXPECT_EQ(counts.live, 160u);
  EXPECT_EQ(counts.with_ttl, 60u);
  EXPECT_EQ(counts.expired, 40u);
  EXPECT_EQ(counts.stored, 200u);
}

TEST_F(StoreTest, AStoreWithoutAPathIsGoneWhenItIsClosed) {
  {
    Store store = must(Store::open("", clock_));
    must(store.put("key", "value", 10s));
    EXPECT_EQ(value_of(store, "key"), "value");
    Store other = must(Store::open("", clock_));
    EXPECT_EQ(value_of(other, "key"), "(none)") << "each is one of its own";
    must(other.put("key", "other"));
    EXPECT_EQ(value_of(store, "key"), "value");
  }
  EXPECT_EQ(value_of(must(Store::open("", clock_)), "key"), "(none)");
}

TEST_F(StoreTest, TellsHowItWasOpened) {
  const Store other = open({.durability = Durability::full, .purge_batch = 7});

  EXPECT_EQ(other.path(), path_);
  EXPECT_EQ(other.options().purge_batch, 7u);
  EXPECT_EQ(other.options().durability, Durability::full);
}

// --- Sizes ---------------------------------------------------------------------------------------

TEST_F(StoreTest, KeysOfAllLengthsAreKeptApart) {
  const std::string longest(kStoreKeyMax, 'k');
  std::vector<std::size_t> lengths = {1, 2, 100, 1'000, 4'096, 30'000, 65'535, 65'536};
  for (std::size_t length = 480; length <= 515; ++length) lengths.push_back(length);
  for (const std::size_t length : lengths) {
    must(store_.put(std::string_view(longest).substr(0, length), std::to_string(length),
                    length % 2 == 0 ? Expiry(10s) : Expiry()));
  }

  for (const std::size_t length : lengths) {
    const auto key = std::string_view(longest).substr(0, length);
    EXPECT_EQ(value(key), std::to_string(length));
    EXPECT_EQ(deadline(key), length % 2 == 0 ? kStart + 10s : kNever) << length;
  }
  EXPECT_EQ(stored(), lengths.size());
  for (const std::size_t length : lengths) {
    EXPECT_TRUE(must(store_.erase(std::string_view(longest).substr(0, length)))) << length;
  }
  EXPECT_EQ(stored(), 0u);
  EXPECT_EQ(must(store_.next_deadline()), kNever);
}

TEST_F(StoreTest, LongKeysDoAllThatShortOnesDo) {
  const std::string key = std::string(5'000, 'k') + "1";
  const std::string other = std::string(5'000, 'k') + "2";
  must(store_.put(key, "1", 10s));
  EXPECT_TRUE(must(store_.put_if_absent(other, "x")));
  EXPECT_FALSE(must(store_.put_if_absent(key, "x")));
  EXPECT_EQ(must(store_.increment(key, 4)), 5);
  EXPECT_TRUE(must(store_.compare_and_set(key, "5", "six")));
  EXPECT_TRUE(must(store_.expire(key, 20s)));
  EXPECT_TRUE(must(store_.touch(key, 30s)));

  const auto entry = must(store_.get_entry(key));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->value, "six");
  EXPECT_EQ(entry->ttl, Millis(30s));
  EXPECT_TRUE(must(store_.persist(key)));
  EXPECT_EQ(rows_of(store_), (std::vector<Shown>{{key, "six"}, {other, "x"}}));
  must(store_.put(key, "due", 0ms));
  EXPECT_EQ(must(store_.deadline(key)), std::nullopt);
  EXPECT_EQ(stored(), 2u);
  must(store_.put(other, "y"));
  EXPECT_EQ(stored(), 1u) << "what the read found is gone with the next commit";
  expect_sound();
}

TEST_F(StoreTest, ALargeValueIsKeptWhole) {
  std::string large(std::size_t{100} << 20, 'v');
  for (std::size_t i = 0; i < large.size(); i += 4'099) large[i] = static_cast<char>(i % 251);
  must(store_.put("large", large, 10s));
  must(store_.put(std::string(600, 'k'), std::string_view(large).substr(0, 20 << 20)));
  reopen();

  auto txn = must(store_.read());
  const auto found = must(txn.get("large"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(*found == large) << found->size();
  EXPECT_EQ(must(txn.deadline("large")), kStart + 10s);
  EXPECT_EQ(must(txn.get(std::string(600, 'k')))->size(), std::size_t{20} << 20);
}

// --- What is refused -----------------------------------------------------------------------------

TEST_F(StoreTest, AKeyThatIsEmptyOrTooLongIsRefusedByEveryCall) {
  for (const std::string& bad : {std::string(), std::string(kStoreKeyMax + 1, 'k')}) {
    std::string out;
    const std::array<std::string_view, 2> keys = {"good", bad};
    EXPECT_EQ(code_of(store_.put(bad, "v")), Code::invalid);
    EXPECT_EQ(code_of(store_.put_if_absent(bad, "v")), Code::invalid);
    EXPECT_EQ(code_of(store_.compare_and_set(bad, std::nullopt, "v")), Code::invalid);
    EXPECT_EQ(code_of(store_.increment(bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.expire(bad, 1s)), Code::invalid);
    EXPECT_EQ(code_of(store_.persist(bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.touch(bad, 1s)), Code::invalid);
    EXPECT_EQ(code_of(store_.erase(bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.erase_many(keys)), Code::invalid);
    EXPECT_EQ(code_of(store_.get(bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.get_into(out, bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.get_entry(bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.deadline(bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.contains(bad)), Code::invalid);
    EXPECT_EQ(code_of(store_.get_many(keys)), Code::invalid);
  }
  EXPECT_EQ(stored(), 0u);
}

TEST_F(StoreTest, MessagesSayWhatWasWrongAndWhatWouldBeRight) {
  const std::string empty = message_of(store_.put("", "v"));
  const std::string key = message_of(store_.put(std::string(kStoreKeyMax + 1, 'k'), "v"));

  EXPECT_NE(empty.find("empty"), std::string::npos) << empty;
  EXPECT_NE(key.find("65537"), std::string::npos) << key;
  EXPECT_NE(key.find("65536"), std::string::npos) << key;
}

TEST_F(StoreTest, AValueOfMoreThanAGibibyteIsRefusedWithoutBeingRead) {
  const std::size_t bytes = kStoreValueMax + 1;
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::string_view large(static_cast<const char*>(memory), bytes);

  const Status put = store_.put("key", large);
  EXPECT_EQ(code_of(put), Code::invalid);
  EXPECT_NE(message_of(put).find("1073741825"), std::string::npos) << message_of(put);
  EXPECT_EQ(code_of(store_.put_if_absent("key", large)), Code::invalid);
  EXPECT_EQ(code_of(store_.compare_and_set("key", std::nullopt, large)), Code::invalid);
  EXPECT_EQ(stored(), 0u);
  munmap(memory, bytes);
}

TEST_F(StoreTest, AReadOnlyStoreReadsAndRefusesToWrite) {
  must(store_.put("key", "value", 10s));
  must(store_.create_family("family"));
  must(store_.close());
  store_ = open({.read_only = true});

  EXPECT_EQ(value("key"), "value");
  EXPECT_EQ(rows_of(store_).size(), 1u);
  EXPECT_EQ(must(store_.families()), std::vector<std::string>{"family"});
  EXPECT_TRUE(must(store_.check()).ok());
  const std::array<std::string_view, 1> keys = {"key"};
  EXPECT_EQ(code_of(store_.write()), Code::denied);
  EXPECT_EQ(code_of(store_.put("key", "new")), Code::denied);
  EXPECT_EQ(code_of(store_.put_if_absent("key2", "new")), Code::denied);
  EXPECT_EQ(code_of(store_.compare_and_set("key", "value", "new")), Code::denied);
  EXPECT_EQ(code_of(store_.increment("n")), Code::denied);
  EXPECT_EQ(code_of(store_.erase("key")), Code::denied);
  EXPECT_EQ(code_of(store_.erase_many(keys)), Code::denied);
  EXPECT_EQ(code_of(store_.expire("key", 1s)), Code::denied);
  EXPECT_EQ(code_of(store_.persist("key")), Code::denied);
  EXPECT_EQ(code_of(store_.touch("key", 20s)), Code::denied);
  EXPECT_EQ(code_of(store_.clear()), Code::denied);
  EXPECT_EQ(code_of(store_.create_family("other")), Code::denied);
  EXPECT_EQ(code_of(store_.drop_family("family")), Code::denied);
  EXPECT_EQ(code_of(store_.set_default_ttl(1s)), Code::denied);
  EXPECT_EQ(code_of(store_.compact()), Code::denied);
  EXPECT_EQ(value("key"), "value");
}

}  // namespace store_test
}  // namespace mayfly::internal
