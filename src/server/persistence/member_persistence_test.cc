// SPDX-License-Identifier: Apache-2.0
// Hashes, sets and sorted sets with deadlines of members, lists, and streams with groups and their
// pending entries: whatever becomes of a key, on disk, in a payload or under another name, it is
// the same afterwards.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/server_call.h"
#include "server/persistence/persistence_fixture.h"

namespace mayfly {
namespace member_persistence_test {

// How a type is written and read.
struct TypeWords {
  const char* name;
  const char* put;      // before a member
  const char* payload;  // what a member has beside its name, and where
  bool is_payload_first;
  const char* letter;  // of its commands for deadlines
  const char* word;
  const char* count;
  const char* small;  // its encodings
  const char* large;
};

class MemberPersistence : public RestartFixture, public testing::WithParamInterface<TypeWords> {
 protected:
  void put(const std::string& key, const std::string& name) {
    const TypeWords& words = GetParam();
    const std::string payload = words.payload;
    const std::string member = words.is_payload_first ? payload + " " + name : name + " " + payload;
    const std::string reply = run(std::string(words.put) + " " + key + " " + member);
    ASSERT_EQ(reply, "(integer) 1") << key << " " << name;
  }
  void expire_at(const std::string& key, const std::string& name, Millis from_now) {
    ASSERT_EQ(run(deadline_command("PEXPIREAT", key, in_ms(from_now), name)), "[(integer) 1]");
  }
  std::string ttl(const std::string& key, const std::string& name) {
    return run(deadline_command("PTTL", key, "", name));
  }
  std::string count(const std::string& key) { return run(GetParam().count + (" " + key)); }

  // A small key, a large one and one of integers, each without deadlines and with some.
  void fill() {
    for (const std::string key : {"small", "timed"}) {
      for (const std::string name : {"a", "b", "c"}) put(key, name);
    }
    for (const std::string name : {"7", "300", "-5"}) put("ints", name);
    for (int i = 0; i < 600; ++i) {
      put("large", "m" + std::to_string(i));
      put("mixed", "m" + std::to_string(i));
    }
    expire_at("timed", "a", Millis(50'000));
    expire_at("timed", "b", Millis(60'000));
    for (int i = 0; i < 600; i += 7) {
      expire_at("mixed", "m" + std::to_string(i), Millis(50'000 + i % 3));
    }
    run("PEXPIREAT small " + in_ms(Millis(70'000)));
  }

  std::string digest() { return run("DEBUG DIGEST"); }
  std::string digest_of(const std::string& key) { return run("DEBUG DIGEST-VALUE " + key); }
  std::string dump(const std::string& key) {
    std::string reply =
        client_->send("*2\r\n$4\r\nDUMP\r\n$" + std::to_string(key.size()) + "\r\n" + key + "\r\n");
    reply.erase(0, reply.find('\n') + 1);
    reply.resize(reply.size() - 2);
    return reply;
  }
  void check() {
    for (int i = 0; i < server().parts().keyspace.count(); ++i) {
      EXPECT_EQ(server().parts().keyspace[i].check_invariants(), "");
    }
  }

 private:
  std::string deadline_command(const std::string& verb, const std::string& key,
                               const std::string& time, const std::string& name) {
    return GetParam().letter + verb + " " + key + " " + time + " " + GetParam().word + " 1 " + name;
  }
};

TEST_P(MemberPersistence, ASnapshotHoldsEverything) {
  const Config config = config_with(false);
  start(config);
  fill();
  const std::string before = digest();
  EXPECT_EQ(run("SAVE"), "OK");
  EXPECT_EQ(disk_.bytes("./dump.rdb").substr(0, 9), "VALKEY080");
  clock_.advance(Millis(1'000));
  EXPECT_EQ(restart(config), "");
  EXPECT_EQ(digest(), before);
  EXPECT_EQ(ttl("timed", "a"), "[(integer) 49000]");
  check();
}

TEST_P(MemberPersistence, WithoutDeadlinesTheSnapshotIsForEverybody) {
  start(config_with(false));
  fill();
  run("DEL timed mixed");
  EXPECT_EQ(run("SAVE"), "OK");
  EXPECT_EQ(disk_.bytes("./dump.rdb").substr(0, 9), "REDIS0010");
}

TEST_P(MemberPersistence, DebugReloadChangesNothing) {
  start(config_with(false));
  fill();
  const std::string before = digest();
  EXPECT_EQ(run("DEBUG RELOAD"), "OK");
  EXPECT_EQ(digest(), before);
  EXPECT_EQ(run("OBJECT ENCODING small"), "\"" + std::string(GetParam().small) + "\"");
  EXPECT_EQ(run("OBJECT ENCODING large"), "\"" + std::string(GetParam().large) + "\"");
  EXPECT_EQ(run("OBJECT ENCODING timed"), "\"" + std::string(GetParam().large) + "\"");
  if (GetParam().name == std::string("Set")) {
    EXPECT_EQ(run("OBJECT ENCODING ints"), "\"intset\"");
  }
  check();
}

TEST_P(MemberPersistence, TheLogHoldsEverythingInBothForms) {
  for (const bool preamble : {true, false}) {
    Config config = config_with(true);
    config.aof_use_rdb_preamble = preamble;
    start(config);
    run("FLUSHALL");
    fill();
    const std::string before = digest();
    EXPECT_EQ(restart(config), "");
    EXPECT_EQ(digest(), before) << "commands as they came";
    EXPECT_EQ(run("BGREWRITEAOF"), "Background append only file rewriting started");
    turn();
    put("after", "x");
    const std::string after = digest();
    clock_.advance(Millis(1'000));
    EXPECT_EQ(restart(config), "");
    EXPECT_EQ(digest(), after) << "a base, and commands since";
    check();
    clock_.advance(Millis(100'000));
    fixture_->sweep();
    EXPECT_EQ(restart(config), "");
    EXPECT_EQ(run("EXISTS small"), "(integer) 0");
    EXPECT_EQ(count("timed"), "(integer) 1") << "what expired does not come back";
    clock_.advance(Millis(-101'000));
  }
}

TEST_P(MemberPersistence, APayloadHoldsEverything) {
  start(config_with(false));
  fill();
  for (const std::string key : {"small", "timed", "ints", "large", "mixed"}) {
    run("PERSIST " + key);
    EXPECT_EQ(client_->run({"RESTORE", "copy", "0", dump(key), "REPLACE"}), "OK") << key;
    EXPECT_EQ(digest_of("copy"), digest_of(key)) << key;
  }
  const std::string payload = dump("timed");
  clock_.advance(Millis(50'000));
  EXPECT_EQ(client_->run({"RESTORE", "copy", "0", payload, "REPLACE"}), "OK");
  EXPECT_EQ(count("copy"), "(integer) 2");
  check();
}

TEST_P(MemberPersistence, APayloadOfWhichAllIsDueIsNoKey) {
  start(config_with(false));
  put("k", "a");
  expire_at("k", "a", Millis(1'000));
  const std::string payload = dump("k");
  clock_.advance(Millis(1'000));
  EXPECT_EQ(client_->run({"RESTORE", "copy", "0", payload}), "OK");
  EXPECT_EQ(run("EXISTS copy"), "(integer) 0");
  EXPECT_EQ(run("DBSIZE"), "(integer) 0");
  fixture_->sweep();
  EXPECT_EQ(server().parts().keyspace[0].stored(), 0u);
  check();
}

TEST_P(MemberPersistence, ADamagedPayloadChangesNothing) {
  start(config_with(false));
  fill();
  for (const std::string key : {"small", "timed", "ints"}) {
    const std::string payload = dump(key);
    for (std::size_t i = 0; i < payload.size(); ++i) {
      std::string damaged = payload;
      damaged[i] = static_cast<char>(damaged[i] ^ 1);
      EXPECT_EQ(client_->run({"RESTORE", "copy", "0", damaged}),
                "(error) ERR DUMP payload version or checksum are wrong");
    }
  }
  EXPECT_EQ(run("EXISTS copy"), "(integer) 0");
}

TEST_P(MemberPersistence, CopyMoveAndRenameTakeDeadlinesAlong) {
  start(config_with(false));
  fill();
  for (const std::string key : {"timed", "mixed", "ints", "large"}) {
    const std::string before = digest_of(key);
    EXPECT_EQ(run("COPY " + key + " copy REPLACE"), "(integer) 1");
    EXPECT_EQ(digest_of("copy"), before);
    EXPECT_EQ(run("RENAME copy renamed"), "OK");
    EXPECT_EQ(digest_of("renamed"), before);
    EXPECT_EQ(run("MOVE renamed 1"), "(integer) 1");
    run("SELECT 1");
    EXPECT_EQ(digest_of("renamed"), before);
    run("DEL renamed");
    run("SELECT 0");
  }
  check();
}

TEST_P(MemberPersistence, TheDigestKnowsDeadlinesButNotOrderOrForm) {
  start(config_with(false));
  for (const std::string name : {"1", "2", "3"}) put("up", name);
  for (const std::string name : {"3", "1", "2"}) put("down", name);
  EXPECT_EQ(digest_of("up"), digest_of("down"));
  // A long member makes a table of it, or what is one for clients, and goes again.
  put("down", std::string(100, 'x'));
  run(std::string(GetParam().letter == std::string("H") ? "HDEL" : GetParam().letter) +
      (GetParam().letter == std::string("H") ? " down " : "REM down ") + std::string(100, 'x'));
  EXPECT_EQ(digest_of("up"), digest_of("down"));
  expire_at("up", "2", Millis(1'000));
  EXPECT_NE(digest_of("up"), digest_of("down"));
  expire_at("down", "2", Millis(1'000));
  EXPECT_EQ(digest_of("up"), digest_of("down"));
  expire_at("down", "2", Millis(1'001));
  EXPECT_NE(digest_of("up"), digest_of("down"));
}

TEST_P(MemberPersistence, MemoryUsageGrowsWithMembersAndDeadlines) {
  start(config_with(false));
  const auto usage = [&](const std::string& key) {
    return std::stoll(run("MEMORY USAGE " + key).substr(std::string("(integer) ").size()));
  };
  fill();
  const auto small = usage("small");
  EXPECT_GT(small, 20);
  EXPECT_LT(small, 200);
  EXPECT_GT(usage("large"), 600 * 8);
  EXPECT_GT(usage("mixed"), usage("large")) << "the same members, some with deadlines";
}

constexpr TypeWords kTypes[] = {
    {"Hash", "HSET", "v", false, "H", "FIELDS", "HLEN", "listpack", "hashtable"},
    {"Set", "SADD", "", false, "S", "MEMBERS", "SCARD", "listpack", "hashtable"},
    {"Zset", "ZADD", "1.5", true, "Z", "MEMBERS", "ZCARD", "listpack", "skiplist"},
};

INSTANTIATE_TEST_SUITE_P(Types, MemberPersistence, testing::ValuesIn(kTypes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace member_persistence_test

// ---- Lists and streams ----

namespace list_persistence_test {

const std::vector<std::string> kKeys = {"small", "ints",    "large", "long",
                                        "x",     "trimmed", "empty", "emptied"};

class ListPersistence : public RestartFixture {
 protected:
  void good(const std::string& line) {
    const std::string reply = run(line);
    ASSERT_FALSE(reply.starts_with("(error)")) << line << ": " << reply;
  }

  // Lists of one chunk and of many, and streams in every state.
  void fill() {
    good("RPUSH small a b a");
    good("LPUSH ints 1 -5 300 70000 5000000000");
    for (int i = 0; i < 3'000; ++i) good("RPUSH large element-" + std::to_string(i));
    good("RPUSH long a " + std::string(20'000, 'x') + " b");
    for (int i = 1; i <= 300; ++i) {
      good("XADD x " + std::to_string(i) + "-1 f " + std::to_string(i) +
           (i % 5 == 0 ? " g 7" : ""));
    }
    good("XDEL x 2-1 150-1 300-1");
    good("XGROUP CREATE x readers 0");
    good("XGROUP CREATE x late $");
    good("XGROUP CREATE x some 100-1 ENTRIESREAD 99");
    good("XREADGROUP GROUP readers ann COUNT 10 STREAMS x >");
    clock_.advance(Millis(7));
    good("XREADGROUP GROUP readers bob COUNT 10 STREAMS x >");
    good("XACK x readers 3-1 4-1");
    good("XCLAIM x readers bob 0 5-1 RETRYCOUNT 7 JUSTID");
    good("XGROUP CREATECONSUMER x late idle");
    for (int i = 1; i <= 250; ++i) good("XADD trimmed MAXLEN 120 " + std::to_string(i) + "-0 f v");
    good("XSETID trimmed 1000-1 ENTRIESADDED 5000 MAXDELETEDID 900-0");
    good("XGROUP CREATE empty g $ MKSTREAM");
    good("XADD emptied MAXLEN 0 7-7 f v");
    good("PEXPIREAT small " + in_ms(Millis(70'000)));
    good("PEXPIREAT x " + in_ms(Millis(70'000)));
  }

  std::string digest() { return run("DEBUG DIGEST"); }
  std::string digest_of(const std::string& key) { return run("DEBUG DIGEST-VALUE " + key); }
  std::string dump(const std::string& key) {
    std::string reply =
        client_->send("*2\r\n$4\r\nDUMP\r\n$" + std::to_string(key.size()) + "\r\n" + key + "\r\n");
    reply.erase(0, reply.find('\n') + 1);
    reply.resize(reply.size() - 2);
    return reply;
  }
  void check() {
    for (int i = 0; i < server().parts().keyspace.count(); ++i) {
      EXPECT_EQ(server().parts().keyspace[i].check_invariants(), "");
    }
  }
};

TEST_F(ListPersistence, ASnapshotHoldsEverythingAndIsForEverybody) {
  const Config config = config_with(false);
  start(config);
  fill();
  const std::string before = digest();
  EXPECT_EQ(run("SAVE"), "OK");
  EXPECT_EQ(disk_.bytes("./dump.rdb").substr(0, 9), "REDIS0010");
  EXPECT_EQ(restart(config), "");
  EXPECT_EQ(digest(), before);
  EXPECT_EQ(run("OBJECT ENCODING small"), R"("listpack")");
  EXPECT_EQ(run("OBJECT ENCODING large"), R"("quicklist")");
  EXPECT_EQ(run("DEBUG RELOAD"), "OK");
  EXPECT_EQ(digest(), before);
  check();
}

TEST_F(ListPersistence, TheLogHoldsEverythingInBothForms) {
  for (const bool preamble : {true, false}) {
    Config config = config_with(true);
    config.aof_use_rdb_preamble = preamble;
    start(config);
    run("FLUSHALL");
    fill();
    const std::string before = digest();
    EXPECT_EQ(restart(config), "");
    EXPECT_EQ(digest(), before) << "commands as they came";
    EXPECT_EQ(run("BGREWRITEAOF"), "Background append only file rewriting started");
    turn();
    good("RPUSH small c");
    good("XREADGROUP GROUP readers eve COUNT 3 STREAMS x >");
    const std::string after = digest();
    EXPECT_EQ(restart(config), "");
    EXPECT_EQ(digest(), after) << "a base, and commands since";
    check();
  }
}

TEST_F(ListPersistence, APayloadHoldsEverything) {
  start(config_with(false));
  fill();
  for (const std::string& key : kKeys) {
    run("PERSIST " + key);
    EXPECT_EQ(client_->run({"RESTORE", "copy", "0", dump(key), "REPLACE"}), "OK") << key;
    EXPECT_EQ(digest_of("copy"), digest_of(key)) << key;
  }
  check();
}

TEST_F(ListPersistence, ADamagedPayloadChangesNothing) {
  start(config_with(false));
  fill();
  run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
  for (const std::string key : {"small", "ints", "empty"}) {
    const std::string payload = dump(key);
    for (std::size_t i = 0; i < payload.size(); ++i) {
      for (const int bit : {1, 2, 128}) {
        std::string damaged = payload;
        damaged[i] = static_cast<char>(damaged[i] ^ bit);
        client_->run({"RESTORE", "copy", "0", damaged, "REPLACE"});
      }
    }
  }
  check();
  EXPECT_EQ(client_->run({"RESTORE", "copy", "0", "\x12", "REPLACE"}),
            "(error) ERR DUMP payload version or checksum are wrong");
}

TEST_F(ListPersistence, CopyMoveAndRenameTakeEverythingAlong) {
  start(config_with(false));
  fill();
  for (const std::string& key : kKeys) {
    const std::string before = digest_of(key);
    EXPECT_EQ(run("COPY " + key + " copy REPLACE"), "(integer) 1");
    EXPECT_EQ(digest_of("copy"), before) << key;
    EXPECT_EQ(run("RENAME copy renamed"), "OK");
    EXPECT_EQ(run("MOVE renamed 1"), "(integer) 1");
    run("SELECT 1");
    EXPECT_EQ(digest_of("renamed"), before) << key;
    run("DEL renamed");
    run("SELECT 0");
  }
  check();
}

TEST_F(ListPersistence, APayloadTellsWhenConsumersWereActiveAndASnapshotWhenTheyAsked) {
  const Config config = config_with(false);
  start(config);
  good("XADD x 1-1 f v");
  good("XGROUP CREATE x g 0");
  good("XREADGROUP GROUP g ann STREAMS x >");
  clock_.advance(Millis(500));
  good("XREADGROUP GROUP g ann STREAMS x >");
  const std::string before = run("XINFO CONSUMERS x g");
  EXPECT_NE(before.find("(integer) 500"), std::string::npos) << before;
  EXPECT_EQ(client_->run({"RESTORE", "x", "0", dump("x"), "REPLACE"}), "OK");
  EXPECT_EQ(run("XINFO CONSUMERS x g"), before);
  EXPECT_EQ(run("SAVE"), "OK");
  EXPECT_EQ(restart(config), "");
  EXPECT_EQ(run("XINFO CONSUMERS x g").find("(integer) 500"), std::string::npos);
}

TEST_F(ListPersistence, MemoryUsageGrowsWithElementsAndEntries) {
  start(config_with(false));
  fill();
  const auto usage = [&](const std::string& key) {
    return std::stoll(run("MEMORY USAGE " + key).substr(std::string("(integer) ").size()));
  };
  EXPECT_GT(usage("small"), 20);
  EXPECT_LT(usage("small"), 200);
  EXPECT_GT(usage("large"), 3'000 * 12);
  EXPECT_GT(usage("x"), 300 * 5);
  EXPECT_GT(usage("x"), usage("empty"));
}

}  // namespace list_persistence_test
}  // namespace mayfly
