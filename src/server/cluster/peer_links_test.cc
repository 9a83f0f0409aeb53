// SPDX-License-Identifier: Apache-2.0
// Connections between nodes: made when needed, made anew when they break, and never waited for.

#include "server/cluster/peer_links.h"

#include <gtest/gtest.h>

#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace peer_links_test {

using namespace std::chrono_literals;

// Two servers that are no nodes of a cluster: nothing else uses the links.
class PeerLinksTest : public testing::Test {
 protected:
  static Config secret() {
    Config config = ClusterFixture::cluster_config();
    config.requirepass = "secret";
    config.primaryauth = "secret";
    return config;
  }
  void start(const Config& config = ClusterFixture::cluster_config()) {
    servers_ = std::make_unique<ClusterFixture>(2, config);
    links_ = std::make_unique<PeerLinks>(servers_->server(0).parts());
  }
  ~PeerLinksTest() override {
    if (links_) links_->close_all();
    if (servers_) turn();
  }

  // Replies come into `replies_`, "none" for those that will not come.
  void send(const std::vector<std::string>& words, int to = 1) {
    links_->send("node", {"127.0.0.1", servers_->port(to)}, words, [this](const ReplyValue* reply) {
      replies_ += (reply == nullptr ? "none" : reply->to_text()) + ";";
    });
  }
  void turn() {
    for (int i = 0; i < 3; ++i) servers_->turn();
  }
  std::string take() {
    turn();
    return std::exchange(replies_, {});
  }
  Time now() { return (*servers_)[0].lease_clock().now(); }

  std::unique_ptr<ClusterFixture> servers_;
  std::unique_ptr<PeerLinks> links_;
  std::string replies_;
};

TEST_F(PeerLinksTest, OneConnectionServesAllRequestsInOrder) {
  start();
  send({"PING"});
  send({"ECHO", "1"});
  EXPECT_EQ(take(), "PONG;\"1\";");
  send({"ECHO", "2"});
  EXPECT_EQ(take(), "\"2\";");
  EXPECT_EQ(links_->count(), 1u);
  EXPECT_EQ(servers_->server(1).parts().stats.connections, 2u)
      << "the client of the test, and ours";
}

TEST_F(PeerLinksTest, ABrokenConnectionFailsWhatWaitsAndIsMadeAnew) {
  start();
  send({"PING"});
  EXPECT_EQ(take(), "PONG;");
  servers_->set_stopped(1, true);
  send({"PING"});
  servers_->turn();
  servers_->cut(0);
  EXPECT_EQ(replies_, "none;");
  EXPECT_EQ(links_->count(), 0u);
  replies_.clear();
  servers_->set_stopped(1, false);
  send({"PING"});
  EXPECT_EQ(take(), "PONG;");
}

TEST_F(PeerLinksTest, ANodeThatCannotBeReachedFailsAtOnce) {
  start();
  servers_->set_reachable(1, false);
  send({"PING"});
  send({"PING"});
  EXPECT_EQ(take(), "none;none;");
  EXPECT_EQ(links_->count(), 0u);
  servers_->set_reachable(1, true);
  send({"PING"});
  EXPECT_EQ(take(), "PONG;");
}

TEST_F(PeerLinksTest, ThePasswordIsSentFirst) {
  start(secret());
  send({"PING"});
  EXPECT_EQ(take(), "PONG;");
}

TEST_F(PeerLinksTest, ARefusedPasswordIsAnErrorOfTheRequest) {
  Config wrong = secret();
  wrong.primaryauth = "guess";
  start(wrong);
  send({"CLUSTER", "PULSE"});
  EXPECT_EQ(take(), "(error) NOAUTH Authentication required.;");
}

TEST_F(PeerLinksTest, AnotherAddressMakesAnotherConnection) {
  start();
  servers_->set_stopped(1, true);
  send({"PING"});
  turn();
  send({"ECHO", "here"}, 0);
  EXPECT_EQ(take(), "none;\"here\";");
  EXPECT_EQ(links_->count(), 1u);
}

TEST_F(PeerLinksTest, AConnectionWithoutAnAnswerIsClosedInTime) {
  start();
  servers_->set_stopped(1, true);
  send({"PING"});
  turn();
  servers_->advance(999ms);
  links_->close_stuck(now(), 1s);
  EXPECT_EQ(replies_, "");
  servers_->advance(1ms);
  links_->close_stuck(now(), 1s);
  EXPECT_EQ(replies_, "none;");
  EXPECT_EQ(links_->count(), 0u);
}

TEST_F(PeerLinksTest, AnIdleConnectionIsNotStuck) {
  start();
  send({"PING"});
  EXPECT_EQ(take(), "PONG;");
  servers_->advance(1h);
  links_->close_stuck(now(), 1s);
  EXPECT_EQ(links_->count(), 1u);
}

TEST_F(PeerLinksTest, NodesThatAreNotKnownAnyMoreAreLetGo) {
  start();
  send({"PING"});
  EXPECT_EQ(take(), "PONG;");
  links_->forget([](const std::string& node) { return node == "node"; });
  EXPECT_EQ(links_->nodes(), std::vector<std::string>{"node"});
  links_->forget([](const std::string&) { return false; });
  EXPECT_EQ(links_->count(), 0u);
}

TEST_F(PeerLinksTest, AReplyMayComeInPieces) {
  start();
  send({"COMMAND", "INFO", "get"});
  const std::string whole = take();
  servers_->set_piece(3);
  send({"COMMAND", "INFO", "get"});
  for (int i = 0; i < 1000 && replies_.empty(); ++i) servers_->turn();
  EXPECT_EQ(replies_, whole);
}

TEST_F(PeerLinksTest, AReplyThatIsTooLargeClosesTheConnection) {
  start();
  send({"ECHO", std::string(65'000, 'x')});
  EXPECT_NE(take(), "none;");
  send({"ECHO", std::string(65'537, 'x')});
  EXPECT_EQ(take(), "none;");
  EXPECT_EQ(links_->count(), 0u);
}

TEST_F(PeerLinksTest, AReplyToNoRequestClosesTheConnection) {
  start();
  send({"SUBSCRIBE", "a"});
  take();
  EXPECT_EQ(links_->count(), 1u);
  servers_->run(1, "PUBLISH a message");
  turn();
  EXPECT_EQ(links_->count(), 0u);
}

TEST_F(PeerLinksTest, AReplyMayEndItsOwnConnection) {
  start();
  links_->send("node", {"127.0.0.1", servers_->port(1)}, {"PING"}, [this](const ReplyValue* reply) {
    replies_ += reply == nullptr ? "none;" : "reply;";
    links_->close_all();
  });
  send({"PING"});
  EXPECT_EQ(take(), "reply;none;");
}

}  // namespace peer_links_test
}  // namespace mayfly
