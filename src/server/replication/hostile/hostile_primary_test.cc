// SPDX-License-Identifier: Apache-2.0
// A primary that answers what no primary answers: the replica keeps its data, and tries again.

#include <gtest/gtest.h>

#include "server/replication/hostile/primary_bytes.h"

namespace mayfly {
namespace hostile_primary_test {

class HostilePrimaryTest : public testing::Test {
 protected:
  std::string run(std::string_view line) { return primary_.client().run(line); }
  bool has_logged(std::string_view text) {
    return std::ranges::any_of(primary_.lines, [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  // The primary sends this file, by its length or with a mark at its end.
  void send_file(std::string_view bytes, bool has_mark = false) {
    const std::string mark(40, 'm');
    const std::string head = has_mark ? "EOF:" + mark : std::to_string(bytes.size());
    primary_.send("+FULLRESYNC " + PrimaryBytes::id() + " 100\r\n$" + head + "\r\n");
    primary_.send(bytes);
    if (has_mark) primary_.send(mark);
    primary_.turn(50);
  }
  void expect_refused(std::string_view file, bool has_mark, std::string_view why) {
    primary_.lines.clear();
    primary_.greet();
    send_file(file, has_mark);
    EXPECT_FALSE(primary_.is_connected()) << why;
    EXPECT_TRUE(has_logged(why)) << why;
    EXPECT_TRUE(has_logged("The data of this server stays")) << why;
    EXPECT_EQ(run("GET mine"), "\"1\"") << why;
    EXPECT_FALSE(primary_.fake_disk().exists("./temp-primary-0.rdb")) << why;
    ASSERT_TRUE(primary_.reconnect()) << why;
  }

  PrimaryBytes primary_;
};

TEST_F(HostilePrimaryTest, AnAnswerThatIsNoneIsARefusal) {
  const std::string id = PrimaryBytes::id();
  for (const std::string& line :
       {std::string(" "), std::string("   \t"), std::string("+"), std::string("+CONTINUE"),
        "+CONTINUE " + id, "+CONTINUE " + id + " 1", std::string("+FULLRESYNC"),
        "+FULLRESYNC " + id, "+FULLRESYNC " + id.substr(1) + " 1", "+FULLRESYNC " + id + "a 1",
        "+FULLRESYNC " + std::string(40, 'g') + " 1", "+FULLRESYNC " + id + " -1",
        "+FULLRESYNC " + id + " x", "+FULLRESYNC " + id + " 9223372036854775807",
        "+FULLRESYNC " + id + " 1 1"}) {
    primary_.lines.clear();
    primary_.greet();
    ASSERT_NE(primary_.sent().find("PSYNC"), std::string::npos);
    primary_.send(line + "\r\n");
    EXPECT_FALSE(primary_.is_connected()) << line;
    EXPECT_TRUE(has_logged("The primary refused to synchronise")) << line;
    EXPECT_EQ(primary_.primary().state(), LinkState::waiting) << line;
    ASSERT_TRUE(primary_.reconnect()) << line;
  }
  EXPECT_EQ(run("GET mine"), "\"1\"");
}

TEST_F(HostilePrimaryTest, AReplicaWithAHistoryGoesOnOnlyWithAnId) {
  const std::string id = PrimaryBytes::id();
  primary_.synchronise(PrimaryBytes::file());
  ASSERT_TRUE(primary_.primary().is_up());
  for (const std::string& line : {"+CONTINUE " + id.substr(1), "+CONTINUE " + id + "b",
                                  "+CONTINUE " + std::string(40, 'z'), "+CONTINUE " + id + " b"}) {
    ASSERT_TRUE(primary_.reconnect()) << line;
    primary_.greet();
    EXPECT_NE(primary_.sent().find(id), std::string::npos);
    primary_.send(line + "\r\n");
    EXPECT_FALSE(primary_.is_connected()) << line;
    EXPECT_EQ(primary_.server().parts().replication.stream().ids().id, id) << line;
  }
  ASSERT_TRUE(primary_.reconnect());
  primary_.greet();
  primary_.send("+CONTINUE " + std::string(40, 'b') + "\r\n");
  EXPECT_TRUE(primary_.primary().is_up());
  EXPECT_EQ(primary_.server().parts().replication.stream().ids().id, std::string(40, 'b'));
}

TEST_F(HostilePrimaryTest, ItsLinesGoIntoTheLogAsText) {
  primary_.greet();
  primary_.send("-ERR \x1b[2J no\n");
  EXPECT_TRUE(has_logged("\\x1b[2J"));
  for (const std::string header : {"-\x1b[3J no", "\x1b[4J"}) {
    primary_.reconnect();
    primary_.greet();
    primary_.send("+FULLRESYNC " + PrimaryBytes::id() + " 100\r\n" + header +
                  std::string(1000, 'x') + "\r\n");
  }
  EXPECT_TRUE(has_logged("aborted the synchronisation: -\\x1b[3J no"));
  EXPECT_TRUE(has_logged("invalid header of a transfer: '\\x1b[4J"));
  for (const std::string& line : primary_.lines) {
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
    EXPECT_LT(line.size(), 400u) << line;
  }
}

TEST_F(HostilePrimaryTest, AFileIsKnownToBeGoodBeforeTheDataIsDropped) {
  const std::string good = PrimaryBytes::file();
  std::string damaged = good;
  damaged[good.find("theirs")] ^= 1;
  std::string bare = PrimaryBytes::file(false);
  bare[bare.find("theirs") - 1] = '\x3f';  // the length of the name
  for (const bool has_mark : {false, true}) {
    expect_refused("REDIS0011\xff", has_mark, "does not end as an RDB file does");
    expect_refused("REDIS00", has_mark, "not an RDB file");
    expect_refused("REDIS0099" + good.substr(9), has_mark, "REDIS0099 is not supported");
    expect_refused("VALKEY081" + good.substr(9), has_mark, "VALKEY081 is not supported");
    expect_refused("<!DOCTYPE html>", has_mark, "not an RDB file");
    expect_refused(good.substr(0, good.size() - 1), has_mark, "does not end as an RDB file does");
    expect_refused(good + "x", has_mark, "does not end as an RDB file does");
    expect_refused(damaged, has_mark, "the checksum is wrong");
    expect_refused(bare, has_mark, "damaged at offset");
  }
  primary_.greet();
  send_file(good, true);
  EXPECT_TRUE(primary_.primary().is_up());
  EXPECT_EQ(run("GET mine"), "(nil)");
  EXPECT_EQ(run("GET theirs"), "\"2\"");
}

TEST_F(HostilePrimaryTest, AFileWithoutAChecksumIsReadFirst) {
  primary_.greet();
  send_file(PrimaryBytes::file(false));
  EXPECT_TRUE(has_logged("has no checksum"));
  EXPECT_TRUE(primary_.primary().is_up());
  EXPECT_EQ(run("GET theirs"), "\"2\"");
}

TEST_F(HostilePrimaryTest, AnyBytesLeaveASoundServer) {
  std::uint64_t seed = 7;
  const std::string good = PrimaryBytes::file();
  for (int i = 0; i < 60; ++i) {
    std::string bytes(1, static_cast<char>(i));
    bytes += "+FULLRESYNC ID 5\r\n$" + std::to_string(good.size()) + "\r\n" + good +
             "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n";
    for (int changes = 0; changes < i % 5; ++changes) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      bytes[1 + (seed >> 33) % (bytes.size() - 1)] = static_cast<char>(seed >> 25);
    }
    EXPECT_EQ(run_primary_bytes(bytes), "") << i;
  }
}

}  // namespace hostile_primary_test
}  // namespace mayfly
