// SPDX-License-Identifier: Apache-2.0
// Each way in which a client can make the server hold memory: tot-mem is close to the allocator's
// count.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "server/admin/client_list.h"
#include "server/core/server_fixture.h"
#include "server/monitoring/memory.h"

namespace mayfly {
namespace client_memory_test {

constexpr int kTimes = 2000;

std::string name(int number, std::size_t size) {
  std::string text = std::to_string(number);
  return text.append(size - text.size(), 'n');
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string array(std::size_t words) { return "*" + std::to_string(words) + "\r\n"; }

struct Way {
  const char* what;
  std::function<void(TestClient&, std::size_t size)> take;
  std::function<void(TestClient&)> give_back;  // null: it lasts as long as the client
  bool is_before_auth = false;
  std::size_t least = 0;  // bytes that it takes, with names of 200 bytes
};

// One request with names as words.
void run_with_names(TestClient& client, const std::vector<std::string>& first, std::size_t size,
                    const std::vector<std::string>& last = {}) {
  std::string bytes = array(first.size() + kTimes + last.size());
  for (const std::string& word : first) bytes += bulk(word);
  for (int i = 0; i < kTimes; ++i) bytes += bulk(name(i, size));
  for (const std::string& word : last) bytes += bulk(word);
  client.send(bytes);
}

void queue(TestClient& client, std::size_t size) {
  client.run("MULTI");
  for (int i = 0; i < kTimes; ++i) client.run({"SET", name(i, size), name(i, size)});
}

void track(TestClient& client, std::size_t size) {
  client.run("CLIENT TRACKING ON");
  run_with_names(client, {"EXISTS"}, size);
}

void track_prefixes(TestClient& client, std::size_t size) {
  std::vector<std::string> words = {"CLIENT", "TRACKING", "ON", "BCAST"};
  for (int i = 0; i < 500; ++i) {
    words.emplace_back("PREFIX");
    words.push_back(name(10'000 + i, size));
  }
  client.run("HELLO 3");
  EXPECT_EQ(client.run(words), "OK");
}

void leave_replies(TestClient& client, std::size_t size) {
  arrive(client.link(), &client.client(), "*2\r\n$4\r\nECHO\r\n" + bulk(name(1, 1000 * size)));
}

void send_half_a_word(TestClient& client, std::size_t size) {
  client.send(array(2) + "$4\r\nECHO\r\n$100000000\r\n" + std::string(size * 1000, 'x'));
}

void send_half_an_array(TestClient& client, std::size_t size) {
  std::string bytes = array(1'000'000);
  for (std::size_t i = 0; i < 100 * size; ++i) bytes += "$1\r\na\r\n";
  client.send(bytes);
}

// Requests whose replies and messages are not read.
void run_unread(TestClient& client, const std::vector<std::string>& words) {
  std::string bytes = array(words.size());
  for (const std::string& word : words) bytes += bulk(word);
  arrive(client.link(), &client.client(), bytes);
}

void leave_messages(TestClient& client, std::size_t size) {
  client.run("HELLO 3");
  client.run("SUBSCRIBE news");
  for (int i = 0; i < 200; ++i) run_unread(client, {"PUBLISH", "news", name(i, 10 * size)});
}

void leave_monitored(TestClient& client, std::size_t size) {
  client.run("MONITOR");
  for (int i = 0; i < 200; ++i) run_unread(client, {"ECHO", name(i, 10 * size)});
}

void wait_for_streams(TestClient& client, std::size_t size) {
  std::vector<std::string> words = {"XREAD", "BLOCK", "0", "STREAMS"};
  for (int i = 0; i < kTimes; ++i) words.push_back(name(i, size));
  for (int i = 0; i < kTimes; ++i) words.emplace_back("0-1");
  client.send(array(words.size()) + [&] {
    std::string bytes;
    for (const std::string& word : words) bytes += bulk(word);
    return bytes;
  }());
}

// One name is another key in each database.
void watch_in_databases(TestClient& client, std::size_t size) {
  for (int database = 0; database < 8; ++database) {
    client.run({"SELECT", std::to_string(database)});
    for (int i = 0; i < 100; ++i) client.run({"WATCH", name(i, size)});
  }
}

void run_all(TestClient& client, const std::vector<std::string>& words) { client.run(words); }

// Those of requests that have been answered, or wait.
std::vector<Way> ways_of_requests() {
  return {
      {"channels", [](auto& c, auto size) { run_with_names(c, {"SUBSCRIBE"}, size); },
       [](auto& c) { run_all(c, {"UNSUBSCRIBE"}); }, false, kTimes * 200},
      {"patterns", [](auto& c, auto size) { run_with_names(c, {"PSUBSCRIBE"}, size); },
       [](auto& c) { run_all(c, {"PUNSUBSCRIBE"}); }, false, kTimes * 200},
      {"shard channels", [](auto& c, auto size) { run_with_names(c, {"SSUBSCRIBE"}, size); },
       [](auto& c) { run_all(c, {"SUNSUBSCRIBE"}); }, false, kTimes * 200},
      {"watches", [](auto& c, auto size) { run_with_names(c, {"WATCH"}, size); },
       [](auto& c) { run_all(c, {"UNWATCH"}); }, false, kTimes * 200},
      {"a queue", queue, [](auto& c) { run_all(c, {"DISCARD"}); }, false, kTimes * 400},
      {"tracked keys", track, [](auto& c) { run_all(c, {"FLUSHALL"}); }, false, kTimes * 200},
      {"tracked keys, then off",
       [](auto& c, auto size) {
         track(c, size);
         run_all(c, {"CLIENT", "TRACKING", "OFF"});
         run_all(c, {"CLIENT", "TRACKING", "ON"});
       },
       nullptr, false, kTimes * 200},
      {"prefixes", track_prefixes,
       [](auto& c) {
         run_all(c, {"CLIENT", "TRACKING", "OFF"});
       },
       false, 500 * 200},
      {"blocked by lists", [](auto& c, auto size) { run_with_names(c, {"BLPOP"}, size, {"0"}); },
       nullptr, false, 3 * kTimes * 200},
      {"blocked with a timeout",
       [](auto& c, auto size) { run_with_names(c, {"BZPOPMIN"}, size, {"100"}); }, nullptr, false,
       3 * kTimes * 200},
      {"blocked by streams", wait_for_streams, nullptr, false, 3 * kTimes * 200},
      {"watches in several databases", watch_in_databases, [](auto& c) { run_all(c, {"UNWATCH"}); },
       false, 8 * 100 * 200},
      {"its name by HELLO",
       [](auto& c, auto size) {
         run_all(c, {"HELLO", "3", "SETNAME", name(1, size * 100)});
       },
       nullptr, false, 20'000},
      {"its name",
       [](auto& c, auto size) {
         run_all(c, {"CLIENT", "SETNAME", name(1, size * 100)});
       },
       nullptr, false, 20'000},
      {"its library",
       [](auto& c, auto size) {
         run_all(c, {"CLIENT", "SETINFO", "LIB-NAME", name(1, size * 100)});
         run_all(c, {"CLIENT", "SETINFO", "LIB-VER", name(1, size * 100)});
       },
       nullptr, false, 40'000},
      {"replies", leave_replies, nullptr, false, 200'000},
      {"messages", leave_messages, nullptr, false, 200 * 2000},
      {"monitored requests", leave_monitored, nullptr, false, 200 * 2000},
      {"a broken queue",
       [](auto& c, auto size) {
         queue(c, size);
         run_all(c, {"NOSUCH"});
       },
       [](auto& c) { run_all(c, {"DISCARD"}); }, false, kTimes * 400},
  };
}

std::vector<Way> ways_of_bytes() {
  return {
      {"half a word", send_half_a_word, nullptr, false, 200'000},
      {"half an array", send_half_an_array, nullptr, false, 400'000},
      {"half a word before AUTH",
       [](auto& c, auto) {
         c.send("*10\r\n");
         for (int i = 0; i < 9; ++i) c.send(bulk(name(i, 16'384)));
       },
       nullptr, true, 9 * 16'384},
      {"replies before AUTH",
       [](auto& c, auto) {
         for (int i = 0; i < 450; ++i) arrive(c.link(), &c.client(), "*1\r\n$4\r\nPING\r\n");
       },
       nullptr, true, 15'000},
  };
}

const std::vector<Way>& ways() {
  static const std::vector<Way> all = [] {
    std::vector<Way> both = ways_of_requests();
    for (const Way& way : ways_of_bytes()) both.push_back(way);
    return both;
  }();
  return all;
}

class ClientMemoryTest : public testing::TestWithParam<std::size_t>, protected ServerFixture {
 protected:
  std::size_t total(TestClient& client) { return memory_of(client.client()); }

  static void expect_near(std::size_t said, std::size_t real, const char* what) {
    EXPECT_GT(static_cast<double>(said), 0.8 * static_cast<double>(real)) << what << ' ' << said;
    EXPECT_LT(static_cast<double>(said), 1.2 * static_cast<double>(real)) << what << ' ' << said;
  }
};

TEST_P(ClientMemoryTest, TotMemIsWhatTheAllocatorSays) {
  server().parts().config.slowlog_log_slower_than = -1;  // its entries belong to no client
  TestClient& admin = connect();
  admin.run("HELLO 3");
  EXPECT_EQ(admin.run("CLIENT TRACKING ON"),
            "OK");  // else no tracked keys are kept without readers
  for (const Way& way : ways()) {
    server().parts().config.requirepass = way.is_before_auth ? "secret" : "";
    TestClient& warm = connect();  // tables that grow once, for all clients
    way.take(warm, GetParam());
    warm.end();
    admin.run("FLUSHALL");
    for (int i = 0; i < 5; ++i) sweep();
    std::vector<std::string>().swap(propagated);
    TestClient& client = connect();
    client.run("PING");
    const std::size_t real_before = used_memory();
    const std::size_t said_before = total(client);
    way.take(client, GetParam());
    EXPECT_TRUE(client.is_connected()) << way.what;
    std::vector<std::string>().swap(propagated);  // what the fixture keeps
    const std::size_t real = used_memory() - real_before;
    const std::size_t said = total(client) - said_before;
    expect_near(said, real, way.what);
    if (GetParam() >= 200) {
      EXPECT_GE(said, way.least) << way.what;
    }
    if (way.give_back) {
      way.give_back(client);
      client.link().take();
      std::string().swap(client.link().output_);  // as a connection does when all was sent
      EXPECT_LT(total(client), said_before + 40'000) << way.what;
    }
    client.end();
    admin.run("FLUSHALL");
    sweep();
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ClientMemoryTest, testing::Values(20, 200, 1000));

// Names that are given back one by one leave no bytes counted.
TEST_F(ClientMemoryTest, NothingIsLeftOver) {
  TestClient& client = connect();
  TestClient& other = connect();
  client.run("PING");
  const std::size_t before = total(client);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) {
      client.run({"SUBSCRIBE", name(i, 100)});
      client.run({"PSUBSCRIBE", name(i, 100)});
      client.run({"SSUBSCRIBE", name(i, 100)});
      other.run({"SUBSCRIBE", name(i, 100)});
    }
    EXPECT_GT(total(client), before + 3 * 100 * 100);
    for (int i = 0; i < 100; ++i) {
      client.run({"UNSUBSCRIBE", name(i, 100)});
      client.run({"PUNSUBSCRIBE", name(i, 100)});
      client.run({"SUNSUBSCRIBE", name(i, 100)});
    }
    EXPECT_EQ(client.client().subscriptions.bytes, 0u);
    client.run("CLIENT TRACKING ON");
    for (int i = 0; i < 100; ++i) client.run({"GET", name(i, 100)});
    EXPECT_GT(total(client), before + 100 * 100);
    TestClient& writer = connect();
    for (int i = 0; i < 100; ++i) writer.run({"SET", name(i, 100), "v"});
    EXPECT_EQ(client.client().tracked_bytes, 0u);
    for (int i = 0; i < 100; ++i) client.run({"WATCH", name(i, 100)});
    client.run("MULTI");
    EXPECT_EQ(client.run("EXEC"), "[]");
    EXPECT_EQ(client.client().transaction.watched_bytes, 0u);
  }
}

TEST_F(ClientMemoryTest, SubscriptionsCountTowardsMaxmemoryClients) {
  TestClient& admin = connect();
  EXPECT_EQ(admin.run("CONFIG SET maxmemory-clients 4mb"), "OK");
  TestClient& client = connect();
  for (int i = 0; i < 10'000 && client.is_connected(); ++i) {
    client.run({"SUBSCRIBE", name(i, 1000)});
    sweep();
  }
  EXPECT_FALSE(client.is_connected());
  EXPECT_TRUE(admin.is_connected());
}

}  // namespace client_memory_test
}  // namespace mayfly
