// SPDX-License-Identifier: Apache-2.0
// What a register does by itself: the watch, the announcement, and tokens.

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "etcd/blocking_register.h"
#include "etcd/etcd_register_fixture.h"
#include "etcd/etcd_status.h"
#include "etcd/gateway/requests.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

std::string event(std::string_view key, std::string_view value, int version) {
  return R"({"result":{"events":[{"kv":{"key":")" + base64(std::string("/m/").append(key)) +
         R"(","mod_revision":")" + std::to_string(version) + R"(","value":")" + base64(value) +
         R"("}}]}})" + "\n";
}

struct WatchFixture : EtcdFixture {
  using EtcdFixture::EtcdFixture;

  void start() {
    open();
    records->watch([this](const std::vector<RegisterEntry>& entries) {
      for (const RegisterEntry& entry : entries) seen.push_back(entry);
    });
    wait_for_watches(1);
  }

  // At least so many: the next one may have begun before anybody looks.
  void wait_for_watches(std::size_t count) {
    wait_until([&] { return requests(kWatchPath).size() >= count; });
  }

  // Waits for the next record that is told.
  RegisterEntry next() {
    wait_until([&] { return taken < seen.size(); });
    return seen[taken++];
  }

  std::vector<RegisterEntry> seen;
  std::size_t taken = 0;
};

TEST(EtcdWatch, BeginsBehindWhatItHasReadAndAsksForALeader) {
  WatchFixture etcd;
  etcd.model.put("/m/a", "one");  // version 2
  etcd.start();

  EXPECT_EQ(etcd.next().value, "one");
  const ScriptedRequest request = etcd.requests(kWatchPath).at(0);
  EXPECT_NE(request.body.find(R"("start_revision": "3")"), std::string::npos) << request.body;
  EXPECT_NE(request.head.find("Grpc-Metadata-hasleader: true"), std::string::npos);
}

TEST(EtcdWatch, TellsLinesHoweverTheyAreCut) {
  WatchFixture etcd;
  etcd.start();
  const std::string line = event("b", "two", 9);

  etcd.servers[0]->push(line.substr(0, 30));
  etcd.servers[0]->push(line.substr(30) + event("c", "three", 10) + line.substr(0, 5));
  etcd.servers[0]->push(line.substr(5));
  for (const char* const key : {"b", "c", "b"}) EXPECT_EQ(etcd.next().key, key);
  EXPECT_EQ(etcd.records->stats().watch_restarts, 0u);
}

TEST(EtcdWatch, ReadsEverythingAndBeginsAnewHoweverItEnds) {
  const std::string lines[] = {
      R"({"result":{"canceled":true,"compact_revision":"9"}})"
      "\n",
      R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}})"
      "\n",
      "what is this?\n", ""};
  for (const std::string& line : lines) {
    WatchFixture etcd;
    etcd.start();
    etcd.model.put("/m/a", "one");
    if (line.empty()) etcd.servers[0]->end_streams();
    if (!line.empty()) etcd.servers[0]->push(line);

    EXPECT_EQ(etcd.next().value, "one") << line;
    etcd.wait_for_watches(2);
    EXPECT_EQ(etcd.records->stats().watch_restarts, 1u);
  }
}

TEST(EtcdWatch, IsRenewedWhenItIsSilentAndThatIsNoFailure) {
  WatchFixture etcd;
  etcd.options.watch_silence = Millis(20);
  etcd.start();

  etcd.wait_for_watches(3);
  EXPECT_EQ(etcd.records->stats().watch_restarts, 0u);
}

TEST(EtcdWatch, LeavesAMemberThatStopsAnswering) {
  WatchFixture etcd(2);
  etcd.options.call_timeout = Millis(1000);
  etcd.start();
  etcd.set_faults([](std::size_t member, const ScriptedRequest&) {
    return member == 0 ? Fault::hang : Fault::none;
  });

  ASSERT_TRUE(etcd.read());
  etcd.wait_for_watches(2);
  EXPECT_GE(etcd.records->stats().watch_restarts, 1u);  // not renewed for silence, later
  etcd.servers[1]->push(event("b", "two", 9));
  EXPECT_EQ(etcd.next().key, "b");
}

TEST(EtcdAnnounce, PutsTheRecordWithALeaseAndChangesIt) {
  EtcdFixture etcd;
  etcd.model.put("/m/live/1", "of the process before");
  etcd.open();
  etcd.records->announce("live/1", "one");
  etcd.wait_until([&] { return etcd.value("live/1") == "one"; });
  EXPECT_EQ(etcd.model.records().at("/m/live/1").lease, etcd.model.leases().at(0));

  etcd.records->announce("live/1", "two");
  etcd.records->announce("live/1", "three");
  etcd.wait_until([&] { return etcd.value("live/1") == "three"; });
  EXPECT_EQ(etcd.model.leases().size(), 1u);
}

TEST(EtcdAnnounce, TakesANewLeaseWhenTheOldOneIsLost) {
  EtcdFixture etcd;
  etcd.options.keepalive = Millis(10);
  etcd.open();
  etcd.records->announce("live/1", "one");
  etcd.wait_until([&] { return etcd.value("live/1") == "one"; });
  const std::int64_t lease = etcd.model.leases().at(0);

  etcd.model.end_lease(lease);
  etcd.wait_until([&] { return etcd.value("live/1") == "one"; });
  EXPECT_NE(etcd.model.leases().at(0), lease);
}

TEST(EtcdAnnounce, PutsARecordAgainThatSomebodyHasDeleted) {
  EtcdFixture etcd;
  etcd.open();
  etcd.records->announce("live/1", "one");
  etcd.wait_until([&] { return etcd.value("live/1") == "one"; });
  const std::uint64_t version = etcd.model.records().at("/m/live/1").version;
  ASSERT_EQ(
      etcd.commit({.compares = {{"live/1", version}}, .puts = {{"live/1", std::nullopt}}}).outcome,
      CommitOutcome::done);

  ASSERT_TRUE(etcd.read());
  etcd.wait_until([&] { return etcd.value("live/1") == "one"; });
}

TEST(EtcdAnnounce, ReplacesOnlyWhatItHasRead) {
  EtcdFixture etcd;
  bool is_first = true;
  etcd.set_faults([&](std::size_t, const ScriptedRequest& request) {
    // Between its reading and its putting.
    if (request.path == kTxnPath && std::exchange(is_first, false)) {
      etcd.model.put("/m/live/1", "of somebody else");
    }
    return Fault::none;
  });
  etcd.open();
  etcd.records->announce("live/1", "one");
  etcd.wait_until([&] { return etcd.value("live/1") == "one"; });

  EXPECT_EQ(etcd.requests(kTxnPath).size(), 2u);
  EXPECT_EQ(etcd.requests(kRangePath).size(), 2u);
}

TEST(EtcdAnnounce, IsGoneWhenTheRegisterIsClosed) {
  EtcdFixture etcd;
  etcd.options.goodbye = Millis(10'000);
  etcd.open();
  etcd.records->announce("live/1", "one");
  etcd.wait_until([&] { return etcd.value("live/1") == "one"; });

  etcd.records.reset();
  EXPECT_EQ(etcd.value("live/1"), std::nullopt);
  EXPECT_TRUE(etcd.model.leases().empty());
}

// A server that wants the token it gave out last.
class TokenServer {
 public:
  std::string url() const { return server_.url(); }
  void forget_token() { ++token_; }
  std::atomic<int> authenticated = 0;

 private:
  ScriptedReply answer(const ScriptedRequest& request) {
    if (request.path == kAuthenticatePath) {
      if (request.body.find(R"("password": "right")") == std::string::npos) {
        return {.status = 400,
                .body = R"({"message":"etcdserver: authentication failed, invalid user ID or )"
                        R"(password","code":3})"};
      }
      ++authenticated;
      return {.body = R"({"token":"t)" + std::to_string(++token_) + R"("})"};
    }
    if (request.head.find("Authorization: t" + std::to_string(token_)) == std::string::npos) {
      return {.status = 401, .body = R"({"message":"etcdserver: invalid auth token","code":16})"};
    }
    return model_.answer(request);
  }

  EtcdModel model_;
  std::atomic<int> token_ = 0;
  ScriptedHttp server_{[this](const ScriptedRequest& request) { return answer(request); }};
};

EtcdOptions user_options(const TokenServer& server, const char* password) {
  EtcdOptions options;
  options.endpoints = {server.url()};
  options.prefix = "/m/";
  options.user = "joe";
  options.password = password;
  options.call_timeout = Millis(30'000);
  options.give_up_after = Millis(60'000);
  return options;
}

TEST(EtcdToken, IsFetchedOnceAndAgainWhenItIsNoLongerGood) {
  TokenServer server;
  auto records = *BlockingRegister::open(user_options(server, "right"));

  ASSERT_TRUE(records->read());
  ASSERT_TRUE(records->read());
  EXPECT_EQ(server.authenticated, 1);
  server.forget_token();
  ASSERT_TRUE(records->read());
  EXPECT_EQ(server.authenticated, 2);
}

TEST(EtcdToken, IsDeniedWithTheWrongPassword) {
  TokenServer server;
  auto records = *BlockingRegister::open(user_options(server, "wrong"));

  const auto snapshot = records->read();
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, Code::denied);
  EXPECT_NE(snapshot.error().message.find("'joe'"), std::string::npos);
}

TEST(EtcdToken, WithoutAUserTheErrorSaysWhatToSet) {
  TokenServer server;
  EtcdOptions options = user_options(server, "");
  options.user.clear();
  auto records = *BlockingRegister::open(options);

  const auto snapshot = records->read();
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().message.find("cluster-etcd-user"), std::string::npos);
}

TEST(BlockingRegister, WaitsForAChangeSinceTheLastRead) {
  EtcdFixture etcd;
  etcd.model.put("/m/a", "one");
  auto records = *BlockingRegister::open(etcd.options);
  ASSERT_TRUE(records->read());
  EXPECT_FALSE(records->wait_change(Millis(50)));
  etcd.wait_until([&] { return !etcd.requests(kWatchPath).empty(); });

  etcd.servers[0]->push(event("b", "two", 9));
  EXPECT_TRUE(records->wait_change(Millis(100'000)));
  EXPECT_FALSE(records->wait_change(Millis(1)));
}

TEST(EtcdStatus, HasALineForEachEndpoint) {
  const ScriptedHttp leader([](const ScriptedRequest& request) -> ScriptedReply {
    if (request.path == kMembersPath) {
      return {.body = R"({"members":[{"ID":"7","name":"etcd-a"}]})"};
    }
    return {.body = R"({"header":{"member_id":"7"},"version":"3.4.23","dbSize":"20480",)"
                    R"("leader":"7","dbSizeInUse":"16384"})"};
  });
  EtcdOptions options;
  options.prefix = "/m/";
  options.endpoints = {"http://127.0.0.1:1", leader.url()};
  options.call_timeout = Millis(30'000);

  const auto status = etcd_status(options);
  ASSERT_TRUE(status);
  ASSERT_EQ(status->size(), 2u);
  EXPECT_NE(status->at(0).error.find("cannot be reached"), std::string::npos);
  EXPECT_EQ(status->at(1).error, "");
  EXPECT_EQ(status->at(1).name, "etcd-a");
  EXPECT_EQ(status->at(1).version, "3.4.23");
  EXPECT_TRUE(status->at(1).is_leader);
  EXPECT_EQ(status->at(1).database_bytes, 20480u);
}

}  // namespace
}  // namespace mayfly
