// SPDX-License-Identifier: Apache-2.0
// Connections of HTTP that want to keep others out.

#include <gtest/gtest.h>

#include "server/core/server_fixture.h"
#include "server/http/http_connection.h"
#include "server/http/http_server.h"

namespace mayfly {
namespace http_places_test {

using namespace std::chrono_literals;

class Visitor {
 public:
  Visitor(ServerFixture& server, const std::string& address)
      : link_(address), peer_(server.server().accept_http(link_)) {}
  ~Visitor() { leave(); }

  void leave() {
    if (auto peer = std::exchange(peer_, nullptr)) peer->closed("the test ends");
  }
  int get(const std::string& path) {
    send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    const std::string response = std::exchange(link_.output_, {});
    if (!response.empty() && peer_) peer_->drained();
    return response.empty() ? 0 : std::stoi(response.substr(9, 3));
  }
  void send(std::string_view bytes) { arrive(link_, peer_.get(), bytes); }
  bool is_open() const { return peer_ != nullptr && !link_.closing(); }

 private:
  TestLink link_;
  std::unique_ptr<Peer> peer_;
};

class HttpPlacesTest : public testing::Test, protected ServerFixture {
 protected:
  HttpPlacesTest() { server_->parts().config.protected_mode = false; }

  Visitor& visit(const std::string& address) {
    ServerFixture& server = *this;
    visitors_.push_back(std::make_unique<Visitor>(server, address));
    return *visitors_.back();
  }
  Visitor& drip(const std::string& address) {
    Visitor& visitor = visit(address);
    visitor.send("GET /");
    advance(1ms);
    return visitor;
  }
  std::size_t open() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(visitors_, [](const auto& each) { return each->is_open(); }));
  }

 private:
  std::vector<std::unique_ptr<Visitor>> visitors_;
};

TEST_F(HttpPlacesTest, DripsKeepNobodyOut) {
  for (const std::string from : {"127.0.0.1", "10.0.0.9"}) {
    for (int i = 0; i < 1000; ++i) drip(from + ":" + std::to_string(i + 1));
    EXPECT_LE(open(), 128u);
    for (const std::string address : {"127.0.0.1:9", "10.0.0.9:9", "10.0.0.1:9"}) {
      for (const char* const path : {"/health", "/ready", "/metrics"}) {
        EXPECT_EQ(visit(address).get(path), 200) << from << address << path;
      }
    }
  }
}

// The first bytes of a probe from far away come after its connection.
TEST_F(HttpPlacesTest, NewConnectionsAreNotTheFirstToGo) {
  for (const std::string from : {"127.0.0.1", "10.0.0.9"}) {
    for (int i = 0; i < 1000; ++i) drip(from + ":" + std::to_string(i + 1));
    Visitor& probe = visit(from + ":9");
    for (int i = 0; i < 40; ++i) drip(from + ":" + std::to_string(i + 1));
    EXPECT_EQ(probe.get("/health"), 200) << from;
    for (int i = 0; i < 5; ++i) drip(from + ":" + std::to_string(i + 1));
    EXPECT_FALSE(probe.is_open());  // it was answered, and is kept alive only
  }
}

TEST_F(HttpPlacesTest, AnswersThatAreNotReadHereLeaveSomePlacesForProbes) {
  for (int i = 0; i < 300; ++i) {
    visit("127.0.0.1:" + std::to_string(i + 1))
        .send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  }
  EXPECT_EQ(visit("127.0.0.1:9").get("/metrics"), 503);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(visit("127.0.0.1:9").get("/health"), 200);
  for (int i = 0; i < 100; ++i) drip("127.0.0.1:" + std::to_string(i + 1));
  EXPECT_EQ(visit("127.0.0.1:9").get("/ready"), 200);
  EXPECT_EQ(visit("10.0.0.1:9").get("/ready"), 200);
  EXPECT_LE(open(), 128u);
}

TEST_F(HttpPlacesTest, DripsOfManyNetworksKeepNobodyOut) {
  for (int i = 0; i < 1000; ++i) drip("10.0." + std::to_string(i) + ".1:1");
  EXPECT_EQ(open(), 96u);
  EXPECT_EQ(visit("10.1.1.1:1").get("/health"), 200);
  EXPECT_EQ(visit("10.1.1.1:2").get("/metrics"), 200);
  EXPECT_EQ(visit("127.0.0.1:1").get("/metrics"), 200);
}

TEST_F(HttpPlacesTest, OneNetworkTakesHalf) {
  for (int i = 0; i < 200; ++i) visit("[2001:db8::" + std::to_string(i + 1) + "]:1");
  EXPECT_EQ(open(), 48u);
  std::vector<Visitor*> others;
  for (int i = 0; i < 48; ++i) others.push_back(&visit("10.0.0." + std::to_string(i) + ":1"));
  EXPECT_EQ(open(), 96u);
  visit("[2001:db8::ff]:1");
  EXPECT_EQ(open(), 96u);
  for (Visitor* const other : others) EXPECT_TRUE(other->is_open());
}

// They have asked, and take no answer.
TEST_F(HttpPlacesTest, AnswersThatAreNotReadLeaveTheLastQuarter) {
  std::vector<Visitor*> stuck;
  for (int i = 0; i < 96; ++i) {
    stuck.push_back(&visit("10.0." + std::to_string(i) + ".1:1"));
    stuck.back()->send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  }
  Visitor& scraper = visit("10.1.1.1:1");
  EXPECT_EQ(scraper.get("/metrics"), 503);
  Visitor& probe = visit("10.1.1.1:2");
  EXPECT_EQ(probe.get("/health"), 200);
  EXPECT_EQ(visit("127.0.0.1:1").get("/metrics"), 200);
  advance(2s);
  EXPECT_EQ(visit("10.1.1.1:3").get("/metrics"), 200);  // the first that is stuck was closed
  EXPECT_FALSE(stuck[0]->is_open());
  EXPECT_TRUE(stuck[1]->is_open());
  EXPECT_EQ(probe.get("/metrics"), 200);  // in place of one that idles
  EXPECT_TRUE(stuck[1]->is_open());
}

TEST_F(HttpPlacesTest, ProbesDoNotKeepProbesOut) {
  for (int i = 0; i < 96; ++i) {
    visit("10.0." + std::to_string(i) + ".1:1")
        .send("GET /metrics HTTP/1.1\r\nHost: 1.1.1.1\r\n\r\n");
  }
  for (int i = 0; i < 100; ++i) drip("10.1." + std::to_string(i) + ".1:1");
  EXPECT_EQ(open(), 128u);
  EXPECT_EQ(visit("10.2.1.1:2").get("/ready"), 200);
  EXPECT_EQ(visit("127.0.0.1:1").get("/metrics"), 200);
}

TEST_F(HttpPlacesTest, FewPlacesWorkToo) {
  server_->parts().config.http_maxconnections = 1;
  Visitor& first = drip("10.0.0.1:1");
  EXPECT_EQ(visit("10.0.0.2:1").get("/metrics"), 200);
  EXPECT_FALSE(first.is_open());
  EXPECT_EQ(visit("127.0.0.1:1").get("/metrics"), 200);
}

}  // namespace http_places_test
}  // namespace mayfly
