// SPDX-License-Identifier: Apache-2.0
// A register that was restored, emptied or exchanged while a process works with it: nothing it
// answers is used, and nothing is changed in it.

#include <gtest/gtest.h>

#include <string>

#include "etcd/etcd_register_fixture.h"
#include "etcd/gateway/requests.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kId = 10'555'973'267'567'409'278U;

struct TrustFixture : EtcdFixture {
  TrustFixture() {
    model.become(kId, 100);
    model.put("/m/a", "one");
    open();
    const auto snapshot = read();
    EXPECT_EQ(snapshot->id, kId);
    records->trust({snapshot->id, snapshot->version});
    records->announce("live/x", "me");
    wait_until([this] { return value("live/x").has_value(); });
  }

  bool is_refused(const std::string& part) {
    const auto snapshot = read();
    return !snapshot && snapshot.error().message.find(part) != std::string::npos &&
           records->stats().refused == snapshot.error().message;
  }
};

const RegisterCommit kChange{.compares = {{"b", 0}}, .puts = {{"b", "two"}}};

TEST(EtcdTrust, TheRightRegisterGoesOn) {
  TrustFixture etcd;
  EXPECT_EQ(etcd.commit(kChange).outcome, CommitOutcome::done);
  EXPECT_TRUE(etcd.read());
  EXPECT_EQ(etcd.records->stats().refused, "");
}

TEST(EtcdTrust, AnOlderStateIsNeitherReadNorChanged) {
  TrustFixture etcd;
  etcd.model.become(kId, 50);
  EXPECT_TRUE(etcd.is_refused("it has revision 50, but had"));
  const CommitAnswer answer = etcd.commit(kChange);
  EXPECT_EQ(answer.outcome, CommitOutcome::unknown);
  EXPECT_EQ(etcd.value("b"), std::nullopt);
  EXPECT_TRUE(etcd.records->stats().is_refused_for_good);
  etcd.model.become(kId, 5000);
  EXPECT_TRUE(etcd.is_refused("it has revision 50"));
  EXPECT_EQ(etcd.value("b"), std::nullopt);
}

// The first that is asked of it may be a change, which it carries out.
TEST(EtcdTrust, AChangeInAnOlderStateIsOfUnknownOutcome) {
  TrustFixture etcd;
  etcd.model.become(kId, 50);
  EXPECT_EQ(etcd.commit(kChange).outcome, CommitOutcome::unknown);
  EXPECT_NE(etcd.records->stats().refused, "");
}

TEST(EtcdTrust, AnotherRegisterIsNotUsedUntilTheRightOneIsBack) {
  TrustFixture etcd;
  const std::uint64_t version = etcd.model.version();
  etcd.model.become(77, 5000);
  EXPECT_TRUE(etcd.is_refused("its cluster id is 77"));
  EXPECT_EQ(etcd.commit(kChange).outcome, CommitOutcome::unknown);
  EXPECT_EQ(etcd.value("b"), std::nullopt);
  EXPECT_FALSE(etcd.records->stats().is_refused_for_good);
  etcd.model.become(kId, version);
  EXPECT_TRUE(etcd.read());
  EXPECT_EQ(etcd.records->stats().refused, "");
  EXPECT_EQ(etcd.commit(kChange).outcome, CommitOutcome::done);
}

TEST(EtcdTrust, AWatchReportsNothingOfAnotherRegister) {
  TrustFixture etcd;
  std::size_t notices = 0;
  etcd.model.become(77, 5000);
  etcd.records->watch([&](const std::vector<RegisterEntry>&) { ++notices; });
  etcd.wait_until([&] { return etcd.requests(kRangePath).size() >= 6; });
  EXPECT_EQ(notices, 0u);
  EXPECT_TRUE(etcd.requests(kWatchPath).empty());
}

TEST(EtcdTrust, DistrustEndsAllUse) {
  TrustFixture etcd;
  etcd.records->distrust("it has lost changes");
  EXPECT_TRUE(etcd.is_refused("it has lost changes"));
  EXPECT_EQ(etcd.commit(kChange).outcome, CommitOutcome::unknown);
  EXPECT_EQ(etcd.value("b"), std::nullopt);
}

}  // namespace
}  // namespace mayfly
