// SPDX-License-Identifier: Apache-2.0
// Purges against a model, where a floor could hide something: deadlines that are put behind the
// place where the last purge ended, by the same transaction, another handle or another process;
// clocks that go back, rollbacks, touches, families that come and go, long keys, old snapshots,
// direct commits, and checkpoints that change the tree below.
//
// Nothing here reads a key that is due: the next commit would remove it.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "store/api/store_fixture.h"
#include "store/api/store_model_process.h"

namespace mayfly::internal {
namespace purge_model_test {

using namespace std::chrono_literals;

constexpr Time kEnd = kStart + 24h;

// The entries of a family, with their deadlines.
class Model {
 public:
  void put(const std::string& key, Time deadline) {
    erase(key);
    entries_[key] = deadline;
    if (deadline != kNever) order_.emplace(deadline, key);
  }
  void erase(const std::string& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    order_.erase({found->second, key});
    entries_.erase(found);
  }
  std::uint64_t due(Time now) const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(order_, [now](const auto& each) { return is_due(each.first, now); }));
  }
  std::uint64_t purge(Time now, std::uint64_t limit) {
    std::uint64_t removed = 0;
    while (removed < limit && !order_.empty() && is_due(order_.begin()->first, now)) {
      erase(std::string(order_.begin()->second));
      ++removed;
    }
    return removed;
  }
  const std::map<std::string, Time>& entries() const { return entries_; }
  const std::set<std::pair<Time, std::string>>& order() const { return order_; }

 private:
  std::map<std::string, Time> entries_;
  std::set<std::pair<Time, std::string>> order_;
};

// `from` is a store or a transaction, at the moment `now`.
template <class From>
void expect_as(const Model& model, const From& from, Family family, Time now) {
  const FamilyCounts counts = must(from.count(family));
  const std::uint64_t due = model.due(now);
  EXPECT_EQ(counts.expired, due);
  EXPECT_EQ(counts.stored, model.entries().size());
  EXPECT_EQ(counts.with_ttl, model.order().size() - due);
  EXPECT_EQ(must(from.next_deadline(family)),
            model.order().empty() ? kNever : model.order().begin()->first);
  const auto coming = must(from.expiring(Time(), kEnd, SIZE_MAX, family));
  ASSERT_EQ(coming.size(), model.order().size() - due);
  auto expected = std::next(model.order().begin(), static_cast<std::ptrdiff_t>(due));
  for (const Expiring& each : coming) {
    EXPECT_EQ(each.deadline, expected->first);
    EXPECT_EQ(each.key, expected->second);
    ++expected;
  }
}

class PurgeModelTest : public StoreFixture, public testing::WithParamInterface<std::uint64_t> {
 protected:
  struct Kept {
    ReadTxn txn;
    Model model;
    Family family;
  };

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  Store& store() { return below(2) == 0 ? one_ : two_; }

  // Some are long, and those begin alike.
  std::string some_key() {
    const std::string number = std::to_string(below(400));
    return below(8) == 0 ? std::string(600, 'k') + number : number;
  }
  // Behind or ahead of the clock; many are the same.
  Time some_deadline() {
    return below(10) == 0 ? kNever : clock_.now() + 5ms * (static_cast<int>(below(50)) - 20);
  }
  // One that is not due, and has a deadline.
  std::optional<std::string> some_live_key(const Model& model) {
    const auto first = model.order().lower_bound({clock_.now() + 1ms, ""});
    const auto live = std::distance(first, model.order().end());
    if (live == 0) return std::nullopt;
    return std::next(first, static_cast<std::ptrdiff_t>(below(static_cast<std::uint64_t>(live))))
        ->second;
  }

  // One change, by a store or a transaction.
  template <class To>
  void change(To& to, Model& model) {
    const std::uint64_t what = below(5);
    if (what < 2) {
      const std::string key = some_key();
      const Time deadline = some_deadline();
      (void)to.put(key, "value", deadline == kNever ? Expiry::never() : Expiry(deadline), family_);
      model.put(key, deadline);
      return;
    }
    const auto key = some_live_key(model);
    if (!key) return;
    const Time later = clock_.now() + Millis(1 + below(200));
    if (what == 2) (void)to.erase(*key, family_);
    if (what == 3) (void)to.persist(*key, family_);
    if (what == 4) (void)to.expire(*key, Expiry(later), When::always, family_);
    model.erase(*key);
    if (what > 2) model.put(*key, what == 3 ? kNever : later);
  }

  void write_in_transaction() {
    WriteTxn txn = must(store().write());
    Model model = model_;
    if (below(8) == 0) must(txn.set_default_ttl(2h, family_));  // writes directly into LMDB
    for (std::uint64_t parts = 1 + below(3); parts > 0; --parts) {
      for (std::uint64_t left = below(100); left > 0; --left) change(txn, model);
      if (below(3) == 0) {
        const std::uint64_t limit = below(80);
        EXPECT_EQ(txn.purge_expired(limit, family_), model.purge(txn.now(), limit));
      }
      if (below(3) == 0) expect_as(model, txn, family_, txn.now());
    }
    if (below(6) == 0) must(txn.set_default_ttl(1h, family_));  // writes directly into LMDB
    if (below(5) == 0) return txn.rollback();
    must(txn.commit());
    model_ = model;
  }

  void write_elsewhere() {
    elsewhere_.set_clock(clock_.now());
    if (below(2) == 0) {
      const std::uint64_t limit = below(100);
      EXPECT_EQ(elsewhere_.purge(limit, family_), model_.purge(clock_.now(), limit));
      return;
    }
    elsewhere_.begin();
    for (std::uint64_t left = below(60); left > 0; --left) change(elsewhere_, model_);
    elsewhere_.commit();
  }

  // Due entries would vanish at a checkpoint, which is therefore made long before.
  void checkpoint() {
    const Time now = clock_.now();
    clock_.set(kStart - 1h);
    must(store().checkpoint());
    clock_.set(now);
  }

  void renew_family() {
    kept_.clear();
    must(store().drop_family("f"));
    family_ = must(store().create_family("f"));
    model_ = {};
  }

  void step() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return write_in_transaction();
      case 3:
      case 4:
        return write_elsewhere();
      case 5:
      case 6: {
        const std::uint64_t limit = below(4) == 0 ? UINT64_MAX : below(120);
        EXPECT_EQ(store().purge_expired({.entries = limit}, family_).removed,
                  model_.purge(clock_.now(), limit));
        return;
      }
      case 7:
        return change(store(), model_);
      case 8:
        if (below(2) == 0) return checkpoint();
        if (below(8) == 0) return renew_family();
        return;
      case 9:
        if (kept_.size() < 3) return kept_.push_back({must(store().read()), model_, family_});
        if (below(2) == 0) return kept_.clear();
        return;
      default:
        clock_.advance(Millis(below(80)) - (below(6) == 0 ? 100ms : 0ms));
    }
  }

  std::mt19937_64 random_{GetParam()};
  RemoteStore elsewhere_{path_, {}};
  Store one_ = open();
  Store two_ = open();
  Family family_ = must(one_.create_family("f"));
  Model model_;
  std::vector<Kept> kept_;
};

TEST_P(PurgeModelTest, NoDueEntryIsMissed) {
  elsewhere_.set_clock(clock_.now());
  elsewhere_.open();
  for (int i = 0; i < 250 && !HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    expect_as(model_, store(), family_, clock_.now());
    for (const Kept& old : kept_) {
      if (below(10) == 0) expect_as(old.model, old.txn, old.family, old.txn.now());
    }
  }
  kept_.clear();
}

INSTANTIATE_TEST_SUITE_P(Seeds, PurgeModelTest, testing::Range<std::uint64_t>(1, 9));

}  // namespace purge_model_test
}  // namespace mayfly::internal
