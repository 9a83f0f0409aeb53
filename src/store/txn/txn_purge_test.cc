// SPDX-License-Identifier: Apache-2.0
// A purge takes down what is due in one transaction and removes it in others. In between, others
// may have written; a test of the store cannot stand there.

#include <gtest/gtest.h>

#include <fstream>

#include "store/api/store_fixture.h"
#include "store/txn/purge_plan.h"
#include "store/txn/txn.h"

namespace mayfly::internal {
namespace txn_purge_test {

using namespace std::chrono_literals;

constexpr std::int64_t kNoBudget = INT64_MAX;

class TxnPurgeTest : public testing::Test {
 protected:
  // Puts keys that are due one millisecond after the other, in the order given.
  void put(std::initializer_list<std::string_view> keys) {
    Time deadline = kStart;
    for (const std::string_view key : keys) put(key, deadline += 1ms);
  }
  void put(std::string_view key, Time deadline) {
    const auto txn = must(Txn::begin_write(owner_, 0ms));
    FamilyView& view = *txn->view({});
    const auto old = must(txn->look(view, key, Need::deadline));
    must(txn->put(view, key, "value", deadline, old));
    must(txn->commit());
  }
  void erase(std::string_view key) {
    const auto txn = must(Txn::begin_write(owner_, 0ms));
    FamilyView& view = *txn->view({});
    must(txn->erase(view, key, must(txn->look(view, key, Need::deadline))));
    must(txn->commit());
  }

  PurgePlan plan(std::uint64_t limit = UINT64_MAX) {
    const auto txn = must(Txn::begin_read(owner_));
    PurgePlan made;
    must(txn->plan_purge(*txn->view({}), limit, made));
    return made;
  }
  std::uint64_t sweep(PurgePlan& plan, std::uint64_t limit = UINT64_MAX) {
    const auto txn = must(Txn::begin_write(owner_, 0ms));
    const std::uint64_t removed = must(txn->sweep(*txn->view({}), plan, limit, kNoBudget));
    must(txn->commit());
    return removed;
  }
  FamilyCounts count() {
    const auto txn = must(Txn::begin_read(owner_));
    return must(txn->count(*txn->view({})));
  }

  std::string make_file() const {
    const std::filesystem::path path = folder_ / "store";
    std::ofstream(path).close();
    return path.string();
  }

  TemporaryFolder folder_;
  ManualClock clock_{kStart};
  const StoreOptions options_;
  SharedTally tally_;
  const std::unique_ptr<Environment> environment_ = must(Environment::open(make_file(), options_));
  const Txn::Owner owner_{*environment_, clock_, options_, tally_};
};

TEST_F(TxnPurgeTest, APlanHasWhatIsDueInTheOrderOfKeys) {
  put({"d", "b", "a", "c"});
  clock_.advance(3ms);
  PurgePlan made = plan();

  std::string keys;
  for (; !made.done(); made.advance()) keys += made.key();
  EXPECT_EQ(keys, "abd");
  EXPECT_TRUE(made.complete());
}

TEST_F(TxnPurgeTest, APlanWithALimitHasTheNearestDeadlines) {
  put({"d", "b", "a", "c"});
  clock_.advance(1s);
  EXPECT_FALSE(plan(0).complete());
  EXPECT_EQ(plan(0).size(), 0u);
  PurgePlan made = plan(2);
  EXPECT_FALSE(made.complete());
  EXPECT_EQ(made.key(), "b");
  EXPECT_EQ(sweep(made), 2u);
  made = plan(2);
  EXPECT_TRUE(made.complete());
  EXPECT_EQ(made.size(), 2u);
}

TEST_F(TxnPurgeTest, APlanOfAFamilyWithoutDeadlinesIsEmptyAndComplete) {
  const PurgePlan made = plan();
  EXPECT_TRUE(made.complete());
  EXPECT_TRUE(made.done());
}

TEST_F(TxnPurgeTest, ASweepGoesOnWhereTheLastOneStopped) {
  put({"d", "b", "a", "c"});
  clock_.advance(1s);
  PurgePlan made = plan();
  EXPECT_EQ(sweep(made, 3), 3u);
  EXPECT_FALSE(made.done());
  EXPECT_EQ(count().stored, 1u);
  EXPECT_EQ(sweep(made, 3), 1u);
  EXPECT_TRUE(made.done());
  EXPECT_EQ(count().stored, 0u);
}

TEST_F(TxnPurgeTest, ASweepLeavesWhatOthersHaveChangedSince) {
  put({"erased", "later", "due at another time", "permanent", "due"});
  clock_.advance(1s);
  PurgePlan made = plan();
  erase("erased");
  put("later", kStart + 1h);
  put("due at another time", kStart + 500ms);
  put("permanent", kNever);

  EXPECT_EQ(sweep(made), 2u) << "also what is due with another deadline";
  EXPECT_TRUE(made.done());
  const FamilyCounts left = count();
  EXPECT_EQ(left.stored, 2u);
  EXPECT_EQ(left.live, 2u);
}

TEST_F(TxnPurgeTest, ASweepIsDoneIfOthersHaveRemovedEverything) {
  put({"a", "b"});
  clock_.advance(1s);
  PurgePlan made = plan();
  PurgePlan same = plan();
  EXPECT_EQ(sweep(same), 2u);
  EXPECT_EQ(sweep(made), 0u);
  EXPECT_TRUE(made.done());
}

TEST_F(TxnPurgeTest, ASweepLeavesWhatIsNotDueAfterTheClockWasPutBack) {
  put({"a", "b", "c"});
  clock_.advance(1s);
  PurgePlan made = plan();
  clock_.set(kStart + 2ms);
  EXPECT_EQ(sweep(made), 2u);
  EXPECT_TRUE(made.done());
  EXPECT_EQ(count().live, 1u);
}

}  // namespace txn_purge_test
}  // namespace mayfly::internal
