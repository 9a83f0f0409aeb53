// SPDX-License-Identifier: Apache-2.0
// All systems that are compared do the same: each is held to a plain map, too simple to be wrong.

#include "bench/peers/peer.h"

#include <gtest/gtest.h>

#include <map>

#include "tools/scratch_directory.h"

namespace mayfly::bench {
namespace peer_test {

constexpr std::size_t kKeys = 600;
constexpr std::size_t kBatch = 100;

// What the systems should say, and the reason.
class Model {
 public:
  void put(const StoreOp& op, std::string_view value) {
    rows_[std::string(op.key_view())] = {std::string(value), op.deadline};
  }

  PeerTally apply(const StoreOps& ops, Time now) {
    PeerTally tally;
    for (const StoreOp& op : ops.ops) {
      const auto row = rows_.find(std::string(op.key_view()));
      const bool alive = row != rows_.end() && !is_due(row->second.deadline, now);
      if (op.kind == StoreOp::Kind::put) {
        put(op, (*ops.values)[op]);
        ++tally.entries;
      } else if (op.kind == StoreOp::Kind::erase) {
        if (alive) ++tally.entries;
        if (row != rows_.end()) rows_.erase(row);
      } else if (alive) {
        tally.read(row->second.value);
      }
    }
    return tally;
  }

  PeerTally get(const StoreOps& ops, Time now) const {
    PeerTally tally;
    for (const StoreOp& op : ops.ops) {
      const auto row = rows_.find(std::string(op.key_view()));
      if (row != rows_.end() && !is_due(row->second.deadline, now)) tally.read(row->second.value);
    }
    return tally;
  }

  PeerTally scan(Time now) const {
    PeerTally tally;
    for (const auto& [key, row] : rows_) {
      if (!is_due(row.deadline, now)) tally.read(row.value);
    }
    return tally;
  }

  PeerTally purge(Time now) {
    const auto removed =
        std::erase_if(rows_, [&](const auto& row) { return is_due(row.second.deadline, now); });
    return {.entries = removed};
  }

 private:
  struct Row {
    std::string value;
    Time deadline;
  };
  std::map<std::string, Row> rows_;
};

void expect_same(const PeerTally& seen, const PeerTally& expected, std::string_view what) {
  EXPECT_EQ(seen.entries, expected.entries) << what;
  EXPECT_EQ(seen.digest, expected.digest) << what;
}

class PeerTest : public testing::TestWithParam<const PeerRow*> {
 protected:
  void SetUp() override {
    if (!is_built_in(*GetParam())) GTEST_SKIP() << GetParam()->name << " is not built in";
    auto scratch = ScratchDirectory::make(std::filesystem::path(testing::TempDir()));
    ASSERT_TRUE(scratch);
    scratch_ = std::make_unique<ScratchDirectory>(std::move(*scratch));
  }

  void open(bool ttl, Durability durability = Durability::off) {
    peer_.reset();
    peer_ = GetParam()->make(clock_);
    peer_->open({scratch_->path(), durability, ttl, values_.value_bytes()});
  }

  // Puts all keys, both here and in the model.
  void fill(bool ttl) {
    open(ttl);
    const auto ops =
        make_ops({.keys = kKeys, .count = kKeys, .order = KeyOrder::shuffled, .ttl = ttl});
    expect_same(peer_->apply({&values_, ops}, kBatch), model_.apply({&values_, ops}, clock_.now()),
                "fill");
  }

  void expect_same_reads() {
    const auto ops = make_ops({.keys = kKeys * 2, .count = 1000, .seed = 7});
    const StoreOps gets{&values_, ops};
    expect_same(peer_->get(gets), model_.get(gets, clock_.now()), "get");
    expect_same(peer_->scan(), model_.scan(clock_.now()), "scan");
    // Not where something is due: a get of Mayfly's own transaction removes what it meets.
    if (clock_.now() != kStoreBenchStart) return;
    expect_same(peer_->get_each(gets), model_.get(gets, clock_.now()), "get_each");
  }

  ManualClock clock_{kStoreBenchStart};
  ValuePool values_{60, 1};
  Model model_;
  std::unique_ptr<ScratchDirectory> scratch_;
  std::unique_ptr<Peer> peer_;
};

TEST_P(PeerTest, ReadsWhatItWroteWithoutTtls) {
  fill(false);
  expect_same_reads();
}

TEST_P(PeerTest, KeepsWhatItWroteWhenOpenedAgainWithAnotherDurability) {
  fill(true);
  for (const Durability durability : {Durability::normal, Durability::full}) {
    open(true, durability);
    const auto ops = make_ops({.keys = kKeys, .count = 5, .ttl = true, .generation = 3});
    expect_same(peer_->apply({&values_, ops}, 1), model_.apply({&values_, ops}, clock_.now()),
                "single puts");
    expect_same_reads();
  }
}

TEST_P(PeerTest, NeverShowsWhatIsDue) {
  fill(true);
  clock_.set(kStoreBenchHalfDue);
  expect_same_reads();
}

// Nothing is read before: Mayfly's next commit removes what reads have met, and a purge does not
// count that.
TEST_P(PeerTest, PurgesAllThatIsDueOnce) {
  fill(true);
  clock_.set(kStoreBenchHalfDue);
  const PeerTally expected = model_.purge(clock_.now());
  EXPECT_GT(expected.entries, kPeerPurgeBatch);  // more than one transaction of them
  expect_same(peer_->purge(), expected, "purge");
  expect_same(peer_->purge(), {}, "purge again");
  clock_.set(kStoreBenchStart);  // so that only what was removed is gone
  expect_same_reads();
}

TEST_P(PeerTest, MixesReadsWritesAndErasuresAsAMapDoes) {
  fill(true);
  for (unsigned round = 1; round < 4; ++round) {
    if (round == 3) clock_.set(kStoreBenchHalfDue);
    const auto ops = make_ops({.keys = kKeys,
                               .count = 1000,
                               .ttl = true,
                               .mixed = true,
                               .generation = round,
                               .seed = round});
    expect_same(peer_->apply({&values_, ops}, kBatch), model_.apply({&values_, ops}, clock_.now()),
                "mixed");
    expect_same_reads();
  }
  peer_->purge();  // Mayfly has removed some of it already, when it met it
  model_.purge(clock_.now());
  clock_.set(kStoreBenchStart);
  expect_same_reads();
}

std::vector<const PeerRow*> whole_peers() {
  std::vector<const PeerRow*> peers;
  for (const PeerRow& peer : peer_rows()) {
    if (peer.name != "mayfly-c") peers.push_back(&peer);
  }
  return peers;
}

INSTANTIATE_TEST_SUITE_P(All, PeerTest, testing::ValuesIn(whole_peers()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(CapiPeer, ReadsWhatMayflyWrote) {
  const auto scratch = ScratchDirectory::make(std::filesystem::path(testing::TempDir()));
  ASSERT_TRUE(scratch);
  const ManualClock clock{kStoreBenchStart};
  const ValuePool values(60, 1);
  const auto ops = make_ops({.keys = kKeys, .count = kKeys, .order = KeyOrder::shuffled});
  const auto mayfly = make_mayfly_peer(clock);
  const auto capi = make_capi_peer(clock);
  mayfly->open({scratch->path()});
  mayfly->apply({&values, ops}, kBatch);
  capi->open({scratch->path()});
  const auto expected = mayfly->get({&values, ops});
  EXPECT_EQ(expected.entries, kKeys);
  expect_same(capi->get_each({&values, ops}), expected, "get_each");
}

TEST(PeerList, LetsEachDoWhatItCan) {
  EXPECT_TRUE(takes(peer_named("mayfly"), store_workload("put-single", Durability::normal)));
  EXPECT_FALSE(takes(peer_named("lmdb"), store_workload("put-single", Durability::normal)));
  EXPECT_TRUE(takes(peer_named("lmdb"), store_workload("put-single", Durability::full)));
  EXPECT_TRUE(takes(peer_named("mayfly-c"), store_workload("get-auto")));
  EXPECT_FALSE(takes(peer_named("mayfly-c"), store_workload("get")));
}

}  // namespace peer_test
}  // namespace mayfly::bench
