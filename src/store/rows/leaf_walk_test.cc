// SPDX-License-Identifier: Apache-2.0
// Cursors that walk leaf pages without LMDB, over enough rows of every kind to fill many pages:
// they show what a plain map shows, whichever way they turn.

#include "store/rows/leaf_walk.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <string>

#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace leaf_walk_test {

using Model = std::map<std::string, Shown, std::less<>>;

class LeafWalkTest : public StoreFixture {
 protected:
  // Rows of all kinds: small ones, values in pages of their own, long keys that share their head.
  void fill(Store& store) {
    std::mt19937 random(7);
    auto txn = store.write();
    ASSERT_TRUE(txn.ok());
    for (int i = 0; i < 4000; ++i) {
      std::string key = "key" + std::to_string(random() % 100'000);
      if (random() % 200 == 0) key = std::string(490, 'k') + key;
      const std::size_t bytes = random() % 50 == 0 ? 9000 : random() % 200;
      Shown shown{key, std::string(bytes, static_cast<char>('a' + i % 26)), kNever};
      if (random() % 3 == 0) shown.deadline = clock_.now() + Millis(1 + random() % 1000);
      txn->put(key, shown.value, shown.deadline);
      model_[key] = shown;
    }
    ASSERT_TRUE(txn->commit().ok());
  }

  Model model_;
};

TEST_F(LeafWalkTest, ShowsEveryRowOnceInOrder) {
  Store store = open();
  fill(store);
  auto cursor = store.cursor();
  ASSERT_TRUE(cursor.ok());
  auto expected = model_.begin();
  for (bool on = cursor->first(); on; on = cursor->next(), ++expected) {
    ASSERT_NE(expected, model_.end());
    ASSERT_EQ(cursor->key(), expected->first);
    ASSERT_EQ(cursor->value(), expected->second.value);
  }
  EXPECT_EQ(expected, model_.end());
  EXPECT_TRUE(cursor->status().ok());
}

// Mostly forward, since that is the way pages are walked, with turns and jumps at any point of a
// page.
TEST_F(LeafWalkTest, TurnsAndJumpsAnywhere) {
  Store store = open();
  fill(store);
  std::mt19937 random(11);
  auto txn = store.read();
  ASSERT_TRUE(txn.ok());
  auto cursor = txn->cursor();
  ASSERT_TRUE(cursor.ok());
  auto at = model_.end();
  bool on = false;
  for (int step = 0; step < 60'000; ++step) {
    const auto choice = random() % 100;
    if (!on || choice < 2) {
      const std::string key = "key" + std::to_string(random() % 100'000);
      on = cursor->seek(key);
      at = model_.lower_bound(key);
    } else if (choice < 90) {
      on = cursor->next();
      ++at;
    } else {
      on = cursor->prev();
      at = at == model_.begin() ? model_.end() : std::prev(at);
    }
    ASSERT_EQ(on, at != model_.end()) << step;
    if (!on) continue;
    ASSERT_EQ(cursor->key(), at->first) << step;
    ASSERT_EQ(cursor->value(), at->second.value) << step;
    if (choice % 5 != 0) continue;
    ASSERT_EQ(cursor->deadline(), at->second.deadline) << step;
  }
}

TEST_F(LeafWalkTest, SeesTheRowsOfItsSnapshotOnly) {
  Store store = open();
  fill(store);
  auto cursor = store.cursor();
  ASSERT_TRUE(cursor.ok());
  ASSERT_TRUE(cursor->first());
  ASSERT_TRUE(store.clear().ok());
  ASSERT_TRUE(store.put("key0", "new").ok());
  std::size_t rows = 1;
  while (cursor->next()) ++rows;
  EXPECT_EQ(rows, model_.size());
}

}  // namespace leaf_walk_test
}  // namespace mayfly::internal
