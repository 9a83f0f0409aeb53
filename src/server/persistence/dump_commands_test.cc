// SPDX-License-Identifier: Apache-2.0
// DUMP and RESTORE: round trips, refusals, and what is told of them.

#include <gtest/gtest.h>

#include <set>

#include "persist/crc64.h"
#include "server/core/key_events.h"
#include "server/core/reclaimer.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"

namespace mayfly {
namespace dump_commands_test {

class DumpTest : public testing::Test {
 protected:
  using Words = std::vector<std::string>;

  std::string run(std::string_view line) { return client_.run(line); }
  std::string run(const Words& words) { return client_.run(words); }

  // The payload as bytes.
  std::string dump(const std::string& key) {
    std::string reply =
        client_.send("*2\r\n$4\r\nDUMP\r\n$" + std::to_string(key.size()) + "\r\n" + key + "\r\n");
    reply.erase(0, reply.find('\n') + 1);
    reply.resize(reply.size() - 2);
    return reply;
  }
  std::string in_ms(Millis from_now) const {
    return std::to_string((fixture_.wall().now() + from_now).time_since_epoch().count());
  }
  Database& database() { return fixture_.server().parts().keyspace[0]; }

  ServerFixture fixture_;
  TestClient& client_ = fixture_.connect();
};

TEST_F(DumpTest, WhatIsNotThereIsNull) { EXPECT_EQ(run("DUMP k"), "(nil)"); }

TEST_F(DumpTest, AValueComesBackWithTheDeadlinesOfItsFields) {
  run("HSETEX h PX 5000 FIELDS 1 a 1");
  run("HSET h b 2");
  run("SET s " + std::string(1000, 'x'));
  EXPECT_EQ(run({"RESTORE", "copy", "0", dump("h")}), "OK");
  EXPECT_EQ(run({"RESTORE", "t", "0", dump("s")}), "OK");
  EXPECT_EQ(run("DEBUG DIGEST-VALUE copy"), run("DEBUG DIGEST-VALUE h"));
  EXPECT_EQ(run("HPTTL copy FIELDS 2 a b"), "[(integer) 5000, (integer) -1]");
  EXPECT_EQ(run("GET t"), run("GET s"));
  EXPECT_EQ(run("PTTL t"), "(integer) -1");
}

TEST_F(DumpTest, TheDeadlineOfTheKeyIsGivenByTheCommand) {
  run("SET k v EX 100");
  EXPECT_EQ(run({"RESTORE", "a", "7000", dump("k")}), "OK");
  EXPECT_EQ(run("PTTL a"), "(integer) 7000");
  EXPECT_EQ(run({"RESTORE", "b", in_ms(Millis(8000)), dump("k"), "ABSTTL"}), "OK");
  EXPECT_EQ(run("PTTL b"), "(integer) 8000");
}

TEST_F(DumpTest, TheDeadlineOfTheKeyCanHaveJitter) {
  run("SET k v");
  const std::string payload = dump("k");
  for (const Words& options : {Words{"RESTORE", "a", "1000000", payload, "REPLACE", "JITTER", "50"},
                               Words{"RESTORE", "a", in_ms(Millis(1'000'000)), payload, "JITTER",
                                     "50", "ABSTTL", "REPLACE", "IDLETIME", "5"}}) {
    std::set<std::string> seen;
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(run(options), "OK");
      const Slot slot = database().stored_slot("a");
      const Millis ttl = database().deadline(slot) - fixture_.wall().now();
      EXPECT_GE(ttl, Millis(500'000));
      EXPECT_LE(ttl, Millis(1'500'000));
      seen.insert(run("PTTL a"));
      EXPECT_EQ(fixture_.propagated.back(),
                "0: RESTORE a " + in_ms(ttl) + " " + payload + " REPLACE" +
                    (options.size() > 8 ? " IDLETIME 5" : "") + " ABSTTL");
    }
    EXPECT_GT(seen.size(), 10u);
  }
  EXPECT_EQ(run({"RESTORE", "b", "0", payload, "JITTER", "5"}), "(error) ERR syntax error");
  EXPECT_EQ(run({"RESTORE", "b", "5", payload, "JITTER"}), "(error) ERR syntax error");
  EXPECT_EQ(run({"RESTORE", "b", "5", payload, "JITTER", "101"}),
            "(error) ERR JITTER must be a percentage from 0 to 100");
  EXPECT_EQ(run("EXISTS b"), "(integer) 0");
}

TEST_F(DumpTest, AKeyThatIsThereIsReplacedOnlyIfThatIsAskedFor) {
  run("SET k v");
  run("HSET h f 1");
  EXPECT_EQ(run({"RESTORE", "h", "0", dump("k")}),
            "(error) BUSYKEY Target key name already exists.");
  EXPECT_EQ(run({"RESTORE", "h", "0", dump("k"), "REPLACE"}), "OK");
  EXPECT_EQ(run("GET h"), "\"v\"");
  EXPECT_EQ(run("DBSIZE"), "(integer) 2");
  EXPECT_EQ(database().check_invariants(), "");
}

TEST_F(DumpTest, ADamagedPayloadChangesNothing) {
  run("SET k v");
  const std::string payload = dump("k");
  for (std::size_t i = 0; i < payload.size(); ++i) {
    std::string damaged = payload;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(run({"RESTORE", "k", "0", damaged, "REPLACE"}),
              "(error) ERR DUMP payload version or checksum are wrong")
        << i;
  }
  EXPECT_EQ(run({"RESTORE", "k", "0", "", "REPLACE"}),
            "(error) ERR DUMP payload version or checksum are wrong");
  // Right to the last byte, but no value: a hash of one field that is not there.
  std::string empty("\x04\x01\x0A\x00", 4);
  for (std::uint64_t crc = crc64(0, empty), i = 0; i < 8; ++i) {
    empty.push_back(static_cast<char>(crc >> (8 * i)));
  }
  EXPECT_EQ(run({"RESTORE", "k", "0", empty, "REPLACE"}), "(error) ERR Bad data format");
  EXPECT_EQ(run("GET k"), "\"v\"");
  EXPECT_EQ(run("DBSIZE"), "(integer) 1");
}

TEST_F(DumpTest, OptionsAreCheckedOneByOne) {
  run("SET k v");
  const std::string payload = dump("k");
  const auto restore = [&](const Words& options) {
    Words words = {"RESTORE", "new", "0", payload};
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  };
  EXPECT_EQ(restore({"SOON"}), "(error) ERR syntax error");
  EXPECT_EQ(restore({"IDLETIME"}), "(error) ERR syntax error");
  EXPECT_EQ(restore({"IDLETIME", "1", "FREQ", "1"}), "(error) ERR syntax error");
  EXPECT_EQ(restore({"IDLETIME", "-1"}), "(error) ERR Invalid IDLETIME value, must be >= 0");
  EXPECT_EQ(restore({"FREQ", "256"}), "(error) ERR Invalid FREQ value, must be >= 0 and <= 255");
  EXPECT_EQ(restore({"FREQ", "x"}), "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(run({"RESTORE", "new", "-1", payload}), "(error) ERR Invalid TTL value, must be >= 0");
  EXPECT_EQ(run({"RESTORE", "new", "x", payload}),
            "(error) ERR value is not an integer or out of range");
  EXPECT_EQ(run({"RESTORE", "new", "9223372036854775807", payload}),
            "(error) ERR invalid expire time in 'restore' command");
  EXPECT_EQ(run("EXISTS new"), "(integer) 0");
}

TEST_F(DumpTest, HowItWasUsedCanBeSaid) {
  run("SET k v");
  EXPECT_EQ(run({"RESTORE", "idle", "0", dump("k"), "IDLETIME", "1000"}), "OK");
  EXPECT_EQ(run("OBJECT IDLETIME idle"), "(integer) 1000");
  run("CONFIG SET maxmemory-policy allkeys-lfu");
  EXPECT_EQ(run({"RESTORE", "often", "0", dump("k"), "FREQ", "200"}), "OK");
  EXPECT_EQ(run("OBJECT FREQ often"), "(integer) 200");
}

TEST_F(DumpTest, ItIsPropagatedWithAnAbsoluteTime) {
  run("SET k v");
  const std::string payload = dump("k");
  fixture_.propagated.clear();
  run({"RESTORE", "a", "7000", payload});
  run({"RESTORE", "b", "0", payload});
  EXPECT_EQ(fixture_.propagated, (std::vector<std::string>{"0: RESTORE a " + in_ms(Millis(7000)) +
                                                               " " + payload + " ABSTTL",
                                                           "0: RESTORE b 0 " + payload}));
}

TEST_F(DumpTest, ItTellsOfAKeyThatWasRestored) {
  run("SET k v");
  const std::string payload = dump("k");
  run("CONFIG SET notify-keyspace-events Kg");
  TestClient& listener = fixture_.connect("127.0.0.1:5001");
  listener.run("PSUBSCRIBE *");
  run({"RESTORE", "a", "0", payload});
  EXPECT_NE(listener.messages().find("\"restore\""), std::string::npos);
}

TEST_F(DumpTest, ATimeInThePastRemovesWhatItReplaces) {
  run("SET k v");
  const std::string payload = dump("k");
  const std::string past = in_ms(Millis(-1));
  fixture_.propagated.clear();
  EXPECT_EQ(run({"RESTORE", "new", past, payload, "ABSTTL"}), "OK");
  EXPECT_TRUE(fixture_.propagated.empty());
  EXPECT_EQ(run({"RESTORE", "k", past, payload, "ABSTTL", "REPLACE"}), "OK");
  EXPECT_EQ(fixture_.propagated, std::vector<std::string>{"0: UNLINK k"});
  EXPECT_EQ(database().stored(), 0u);
}

TEST_F(DumpTest, FieldsThatAreDueAreRestoredHidden) {
  run("HSETEX h PX 1000 FIELDS 1 a 1");
  run("HSET h b 2");
  const std::string payload = dump("h");
  fixture_.advance(Millis(1000));
  EXPECT_EQ(run({"RESTORE", "copy", "0", payload}), "OK");
  EXPECT_EQ(run("HGETALL copy"), R"(["b", "2"])");
  fixture_.sweep();
  const ExecContext context = fixture_.server().parts().reclaimer.context();
  EXPECT_EQ(database().members(context, database().find(context, "copy")).stored(), 1u);
}

TEST_F(DumpTest, AHiddenKeyIsReplacedToo) {
  run("SET k v PX 1000");
  run("HSET l f w");
  const std::string payload = dump("l");
  fixture_.advance(Millis(1000));
  // What a replica's client does: dead keys are hidden, and stay.
  const ServerParts& server = fixture_.server().parts();
  const ExecContext context{.now = fixture_.wall().now(), .policy = Policy::hide};
  std::string out;
  Reply reply(out, 2);
  const std::vector<std::string_view> words = {"RESTORE", "k", "0", payload};
  const Command* const command = server.commands.find("restore");
  ServerCall call(server.events, server, client_.client(), context, *command, words, reply);
  command->handler(call);
  EXPECT_EQ(out, "+OK\r\n");
  EXPECT_EQ(database().stored(), 2u);
  EXPECT_EQ(database().check_invariants(), "");
}

// The payload of another version; its checksum is right.
std::string with_version(std::string payload, unsigned version) {
  payload.resize(payload.size() - sizeof(std::uint64_t));
  payload[payload.size() - 2] = static_cast<char>(version & 0xFF);
  payload[payload.size() - 1] = static_cast<char>(version >> 8);
  const std::uint64_t sum = crc64(0, payload);
  return payload.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

TEST_F(DumpTest, NewerVersionsAreTriedIfThatIsAllowed) {
  constexpr const char* kWrong = "(error) ERR DUMP payload version or checksum are wrong";
  run("SET k v");
  const std::string payload = dump("k");
  for (const unsigned version : {13u, 79u, 81u, 255u, 1000u}) {
    const std::string newer = with_version(payload, version);
    EXPECT_EQ(run("CONFIG SET rdb-version-check strict"), "OK");
    EXPECT_EQ(run({"RESTORE", "copy", "0", newer, "REPLACE"}), kWrong) << version;
    EXPECT_EQ(run("CONFIG SET rdb-version-check relaxed"), "OK");
    EXPECT_EQ(run({"RESTORE", "copy", "0", newer, "REPLACE"}), "OK") << version;
    EXPECT_EQ(run("GET copy"), "\"v\"");
  }
  std::string damaged = with_version(payload, 81);
  damaged[1] ^= 1;
  EXPECT_EQ(run({"RESTORE", "copy", "0", damaged, "REPLACE"}), kWrong);
  EXPECT_EQ(run({"RESTORE", "copy", "0", with_version(payload, 0), "REPLACE"}), kWrong);
  EXPECT_TRUE(run("CONFIG SET rdb-version-check maybe").starts_with("(error)"));
}

TEST_F(DumpTest, AWrongChecksumIsPassedOverIfThatIsAskedFor) {
  run("SET k v");
  std::string payload = dump("k");
  payload.back() ^= 1;
  EXPECT_TRUE(run({"RESTORE", "copy", "0", payload}).starts_with("(error)"));
  EXPECT_EQ(run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1"), "OK");
  EXPECT_EQ(run({"RESTORE", "copy", "0", payload}), "OK");
  EXPECT_EQ(run("GET copy"), "\"v\"");
  EXPECT_EQ(run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 0"), "OK");
  EXPECT_TRUE(run({"RESTORE", "copy", "0", payload, "REPLACE"}).starts_with("(error)"));
}

}  // namespace dump_commands_test
}  // namespace mayfly
