// SPDX-License-Identifier: Apache-2.0
// Threads: many on one handle and many on several, with TTLs, cursors, purges, and families that
// come and go. What each sees has to be of one moment.

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <thread>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace store_thread_test {

using namespace std::chrono_literals;

// Enough to meet each other, few enough for TSan.
constexpr int kRounds = 150;

class StoreThreadTest : public OpenStoreFixture {
 protected:
  // Runs all at once, and waits for the ends.
  template <class... Work>
  static void together(Work&&... work) {
    std::vector<std::jthread> threads;
    (threads.emplace_back(std::forward<Work>(work)), ...);
  }
};

TEST_F(StoreThreadTest, IncrementsOfManyThreadsAddUp) {
  Store other = open();
  const auto count_up = [](Store& store) {
    for (int i = 0; i < kRounds; ++i) must(store.increment("counter", 1, 1h));
  };
  together([&] { count_up(store_); }, [&] { count_up(store_); }, [&] { count_up(other); });
  EXPECT_EQ(value("counter"), std::to_string(3 * kRounds));
  EXPECT_EQ(deadline("counter"), kStart + 1h);
}

// Two keys always change together, so a reader who sees them differ has seen half a transaction.
TEST_F(StoreThreadTest, ReadersSeeWholeTransactions) {
  std::atomic<bool> done = false;
  const auto write = [&](Store& store) {
    for (int i = 0; i < kRounds; ++i) {
      auto txn = must(store.write());
      const Expiry expires = i % 3 == 0 ? Expiry(1h) : Expiry();
      txn.put("a", std::to_string(i), expires);
      txn.put("b", std::to_string(i), expires);
      if (i % 5 == 0) {
        txn.rollback();
      } else {
        must(txn.commit());
      }
    }
  };
  const auto read = [&] {
    while (!done) {
      const auto txn = must(store_.read());
      EXPECT_EQ(value_of(txn, "a"), value_of(txn, "b"));
      EXPECT_EQ(must(txn.deadline("a")), must(txn.deadline("b")));
      const std::vector<Shown> rows = rows_of(txn);
      EXPECT_EQ(rows.size(), must(txn.count()).live);
    }
  };
  std::jthread one(read);
  std::jthread two(read);
  together([&] { write(store_); }, [&] { write(store_); });
  done = true;
}

TEST_F(StoreThreadTest, AnExpiredValueIsNeverSeen) {
  Store other = open();
  std::atomic<bool> done = false;
  const auto read = [&](const Store& store) {
    while (!done) {
      const auto txn = must(store.read());
      for (const Shown& row : rows_of(txn)) EXPECT_GT(row.deadline, txn.now());
      const Time before = clock_.now();
      const auto entry = must(store.get_entry("key7"));
      if (entry) {
        EXPECT_GT(entry->deadline, before);
      }
      rows_of(store);  // evicts what it meets
    }
  };
  std::jthread one([&] { read(store_); });
  std::jthread two([&] { read(other); });
  together(
      [&] {
        for (int i = 0; i < kRounds; ++i) {
          must(store_.put("key" + std::to_string(i % 20), "value", Millis(i % 7 + 1)));
          clock_.advance(1ms);
        }
      },
      [&] {
        for (int i = 0; i < kRounds; ++i) must(other.purge_expired());
      });
  done = true;
  one.join();
  two.join();
  EXPECT_EQ(count().live + count().expired, count().stored);
  expect_sound();
}

// Each entry is removed once: by the purge, by a read or by a cursor, and the numbers tell which.
TEST_F(StoreThreadTest, WhatIsRemovedIsCountedOnce) {
  constexpr int kEntries = 400;
  for (int i = 0; i < kEntries; ++i) must(store_.put("key" + std::to_string(i), "value", 10s));
  clock_.advance(10s);
  std::atomic<std::uint64_t> purged = 0;
  Store other = open({.busy_timeout = 0ms, .purge_batch = 3});
  const auto purge = [&](Store& store) {
    for (int i = 0; i < 20; ++i) purged += store.purge_expired().removed;  // it may be busy
  };
  together([&] { purge(other); }, [&] { purge(store_); },
           [&] {
             for (int i = 0; i < kEntries; i += 7) {
               EXPECT_FALSE(must(store_.contains("key" + std::to_string(i))));
             }
           });
  const std::uint64_t lazily =
      must(store_.stats()).expired_lazily + must(other.stats()).expired_lazily;
  EXPECT_EQ(purged, must(store_.stats()).purged + must(other.stats()).purged);
  EXPECT_EQ(stored() + purged + lazily, static_cast<std::uint64_t>(kEntries));
  expect_sound();
}

TEST_F(StoreThreadTest, ACursorWalksOverOneMomentWhileOthersWriteAndPurge) {
  for (int i = 0; i < 300; ++i) {
    const std::string key =
        (i % 3 == 0 ? std::string(500, 'k') : std::string("k")) + std::to_string(i);
    must(store_.put(key, "0", i % 2 == 0 ? Expiry(1h) : Expiry()));
  }
  std::atomic<bool> done = false;
  const auto walk = [&] {
    while (!done) {
      Cursor cursor = must(store_.cursor());
      const std::vector<Shown> rows = rows_of(cursor);
      EXPECT_EQ(rows.size(), 300u);
      for (const Shown& row : rows) EXPECT_EQ(row.value, rows.front().value);
    }
  };
  std::jthread one(walk);
  std::jthread two(walk);
  for (int round = 1; round <= 20; ++round) {
    auto txn = must(store_.write());
    std::vector<std::string> keys;
    for (const Shown& row : rows_of(txn)) keys.push_back(row.key);
    for (const std::string& key : keys) {
      txn.put(key, std::to_string(round), round % 2 == 0 ? Expiry(1h) : Expiry());
    }
    must(txn.commit());
    must(store_.purge_expired_all());
  }
  done = true;
}

TEST_F(StoreThreadTest, FamiliesComeAndGoWhileOthersRead) {
  std::atomic<bool> done = false;
  const auto read = [&] {
    while (!done) {
      const auto txn = must(store_.read());
      for (const std::string& name : txn.families()) {
        const Family family = must(txn.family(name));
        EXPECT_EQ(value_of(txn, "key", family), name);
        EXPECT_EQ(must(txn.count(family)).with_ttl, 1u);
      }
    }
  };
  std::jthread one(read);
  std::jthread two(read);
  const auto change = [this](const std::string& prefix) {
    for (int i = 0; i < kRounds / 3; ++i) {
      const std::string name = prefix + std::to_string(i % 4);
      auto txn = must(store_.write());
      if (!txn.drop_family(name).ok()) {
        const Family family = must(txn.create_family(name));
        txn.put("key", name, 1h, family);
      }
      if (i % 7 == 0) {
        txn.rollback();
      } else {
        must(txn.commit());
      }
    }
  };
  together([&] { change("a"); }, [&] { change("b"); });
  done = true;
  one.join();
  two.join();
  expect_sound();
}

TEST_F(StoreThreadTest, AFamilyThatIsDroppedMeanwhileIsAnErrorAndNoCrash) {
  std::atomic<bool> done = false;
  Family family = must(store_.create_family("family"));
  std::atomic<std::uint64_t> shared = 0;
  static_assert(sizeof(Family) == sizeof(std::uint64_t));
  shared = std::bit_cast<std::uint64_t>(family);
  std::jthread user([&] {
    while (!done) {
      const auto mine = std::bit_cast<Family>(shared.load());
      const Status put = store_.put("key", "value", 1h, mine);
      if (!put.ok()) {
        EXPECT_EQ(put.error().code, Code::not_found);
      }
      const auto got = store_.get("key", mine);
      if (!got.ok()) {
        EXPECT_EQ(got.error().code, Code::not_found);
      }
    }
  });
  for (int i = 0; i < kRounds / 3; ++i) {
    must(store_.drop_family("family"));
    family = must(store_.create_family("family"));
    shared = std::bit_cast<std::uint64_t>(family);
  }
  done = true;
  user.join();
  expect_sound();
}

TEST_F(StoreThreadTest, AWriterWaitsForAnotherUpToItsTimeout) {
  Store other = open({.busy_timeout = 60s});
  auto writer = std::make_unique<WriteTxn>(must(store_.write()));
  writer->put("key", "first");
  std::atomic<bool> asking = false;
  std::jthread waiting([&] {
    EXPECT_EQ(code_of(other.write(1ms)), Code::busy);
    asking = true;
    EXPECT_EQ(must(other.compare_and_set("key", "first", "second")), true);
  });
  while (!asking) std::this_thread::yield();
  must(writer->commit());
  waiting.join();
  EXPECT_EQ(value("key"), "second");
}

TEST_F(StoreThreadTest, HandlesAreOpenedAndClosedByManyThreads) {
  const auto come_and_go = [this] {
    for (int i = 0; i < 25; ++i) {
      Store store = open();
      must(store.increment("counter", 1, 1h));
      EXPECT_TRUE(must(store.contains("counter")));
      must(store.close());
    }
  };
  must(store_.close());
  together(come_and_go, come_and_go, come_and_go);
  store_ = open();
  EXPECT_EQ(value("counter"), "75");
}

TEST_F(StoreThreadTest, BackupsAndChecksAreOfOneMoment) {
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 0; !done; ++i) {
      auto txn = must(store_.write());
      txn.put("a", std::to_string(i), 1h);
      txn.put("b", std::to_string(i), 1h);
      must(txn.commit());
    }
  });
  for (int i = 0; i < 5; ++i) {
    const auto copy = folder_ / ("copy" + std::to_string(i));
    must(store_.backup(copy));
    const Store backup = must(Store::open(copy, clock_));
    EXPECT_EQ(value_of(backup, "a"), value_of(backup, "b"));
    EXPECT_TRUE(must(backup.check()).ok());
    EXPECT_TRUE(must(store_.check()).ok());
    must(store_.stats());
  }
  done = true;
}

}  // namespace store_thread_test
}  // namespace mayfly::internal
