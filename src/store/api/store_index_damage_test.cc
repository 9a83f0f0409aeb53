// SPDX-License-Identifier: Apache-2.0
// Damaged rows of the indexes of deadlines: they stop no checkpoint and no purge, check() names
// them, stats() counts those that were left, and later writes are stored.

#include <gtest/gtest.h>

#include <functional>

#include "mayfly/store.h"
#include "store/api/store_fixture.h"
#include "store/check/store_damage.h"
#include "store/rows/stored_key.h"

namespace mayfly::internal {
namespace store_index_damage_test {

using namespace std::chrono_literals;

constexpr const char* kKeys = "t2";
constexpr const char* kDeadlines = "t3";

class StoreIndexDamageTest : public StoreFixture {
 protected:
  // Ten entries that are due after a second each.
  StoreIndexDamageTest() {
    Store store = open();
    for (int i = 0; i < 10; ++i) {
      must(store.put(name(i), "value", deadline(i)));
    }
    must(store.close());
  }

  static std::string name(int i) { return "key" + std::to_string(i); }
  static Time deadline(int i) { return kStart + std::chrono::seconds(i + 1); }
  static std::string row(int i) { return std::string(ExpiryKey(deadline(i), name(i)).bytes()); }

  struct Damage {
    const char* what;
    std::function<void(RawFile&)> make;
    bool has_no_row = false;  // of deadlines, so that no purge meets it
  };
  static std::vector<Damage> damages() {
    return {
        {"a row of deadlines is gone", [](RawFile& raw) { raw.erase(kDeadlines, row(3)); }, true},
        {"a row of deadlines has another deadline",
         [](RawFile& raw) {
           raw.erase(kDeadlines, row(3));
           raw.put(kDeadlines, ExpiryKey(kStart - 1s, name(3)).bytes(), "");
         }},
        {"a row of deadlines has another key",
         [](RawFile& raw) {
           raw.erase(kDeadlines, row(3));
           raw.put(kDeadlines, ExpiryKey(deadline(3), "kez3").bytes(), "");
         }},
        {"a row of deadlines is too short", [](RawFile& raw) { raw.put(kDeadlines, "abc", ""); }},
        {"a row of deadlines has no key",
         [](RawFile& raw) { raw.put(kDeadlines, encode_deadline(kStart).view(), ""); }},
        {"a row of deadlines is that of a long key that is not there",
         [](RawFile& raw) {
           raw.put(kDeadlines, ExpiryKey(kStart, std::string(kStoredKeyMax, 'k')).bytes(), "");
         }},
        {"a row of keys is too short", [](RawFile& raw) { raw.put(kKeys, name(3), "abc"); }},
    };
  }

  // Each on a copy of the store.
  void each(const std::function<void(const Damage&)>& use) {
    const std::filesystem::path sound = folder_ / "sound";
    std::filesystem::copy_file(path_, sound);
    for (const Damage& damage : damages()) {
      SCOPED_TRACE(damage.what);
      std::filesystem::remove(path_);
      std::filesystem::copy_file(sound, path_);
      {
        RawFile raw(path_);
        damage.make(raw);
      }
      use(damage);
    }
  }
};

TEST_F(StoreIndexDamageTest, NoCheckpointFails) {
  each([&](const Damage&) {
    clock_.set(kStart);
    Store store = open();
    EXPECT_FALSE(must(store.check()).ok());
    must(store.put("new", "first"));
    const bool is_readable = store.deadline(name(3)).ok();
    if (is_readable) must(store.put(name(3), "other", kStart + 1h));
    must(store.put(name(4), "other"));
    must(store.put("new", "second", kStart + 2h));
    must(store.checkpoint());
    if (is_readable) must(store.erase(name(3)));
    must(store.erase(name(5)));
    must(store.checkpoint());
    must(store.close());

    store = open();
    EXPECT_EQ(value_of(store, "new"), "second");
    if (is_readable) {
      EXPECT_EQ(value_of(store, name(3)), "(none)");
    }
    EXPECT_EQ(value_of(store, name(4)), "other");
    EXPECT_EQ(value_of(store, name(6)), "value");
    must(store.close());
  });
}

TEST_F(StoreIndexDamageTest, ThePurgeOfTheThreadPassesAndCountsIt) {
  each([&](const Damage& damage) {
    clock_.set(kStart);
    Store store = open({.log_segment_bytes = kLogSegmentBytesMin});
    EXPECT_EQ(must(store.stats()).damaged_rows, 0u);
    clock_.set(kStart + 1h);
    const auto is_counted = [&] { return must(store.stats()).damaged_rows != 0; };
    for (int i = 0; i < 300 || (!damage.has_no_row && !is_counted() && i < 50'000); ++i) {
      must(store.put("new", std::string(1'000, 'v')));  // it is asked
    }
    EXPECT_NE(is_counted(), damage.has_no_row);
    must(store.close());
    store = open();
    EXPECT_EQ(value_of(store, "new").size(), 1'000u);
    must(store.close());
  });
}

TEST_F(StoreIndexDamageTest, ACheckpointCountsARowThatIsNotWhereItShouldBe) {
  int counted = 0;
  each([&](const Damage&) {
    clock_.set(kStart);
    Store store = open();
    must(store.put(name(4), "other", kStart + 1h));
    must(store.checkpoint());
    EXPECT_EQ(must(store.stats()).damaged_rows, 0u) << "it met none";
    if (!store.deadline(name(3))) return;
    must(store.put(name(3), "other", kStart + 1h));
    must(store.checkpoint());
    counted += static_cast<int>(must(store.stats()).damaged_rows);
  });
  EXPECT_EQ(counted, 3) << "of the first three, each once";
}

// Nothing of a damaged row can be removed: a purge that tried it again and again would not end.
TEST_F(StoreIndexDamageTest, APurgeWithALimitEnds) {
  each([&](const Damage&) {
    clock_.set(kStart + 2s);  // the first two are due, and what stands before them
    Store store = open();
    for (const std::uint64_t limit : {1u, 2u, 100u}) {
      const Purged purged = store.purge_expired({.entries = limit});
      EXPECT_LE(purged.removed, limit);
      auto txn = must(store.write());
      static_cast<void>(txn.purge_expired(limit));
      static_cast<void>(txn.commit());
    }
    static_cast<void>(store.close());
  });
}

// --- Noted keys ----------------------------------------------------------------------------------

// A read notes an expired entry, and the next commit removes it; but not one that this commit puts.
TEST_F(StoreFixture, AnExpiredKeyThatIsPutAgainWithAPastDeadlineIsStored) {
  Store store = open();
  must(store.put("other", "value"));
  must(store.put("key", "value", kStart + 1ms));
  clock_.set(kStart + 1s);
  EXPECT_EQ(value_of(store, "key"), "(none)") << "it is noted";
  must(store.put("key", "again", kStart + 500ms));
  EXPECT_EQ(stored_in(store), 2u);
  clock_.set(kStart);
  EXPECT_EQ(value_of(store, "key"), "again");
}

}  // namespace store_index_damage_test
}  // namespace mayfly::internal
