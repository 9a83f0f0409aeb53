// SPDX-License-Identifier: Apache-2.0
// Replicas that are not Mayfly: they follow as long as they understand what they get, and hear
// which key it is when they would not.

#include "server/replication/foreign_replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "resp/encode.h"
#include "server/monitoring/stats.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace foreign_replica_test {

std::string request(const std::vector<std::string>& words) {
  std::string bytes;
  append_request(bytes, words);
  return bytes;
}

TEST(MayflyOnly, NamesCommandAndKey) {
  EXPECT_EQ(mayfly_only(request({"SADDEX", "online", "PXAT", "5", "MEMBERS", "1", "a"})),
            "SADDEX of the key 'online'");
  EXPECT_EQ(mayfly_only(request({"zpexpireat", "z\n", "5", "MEMBERS", "1", "a"})),
            "zpexpireat of the key 'z\\x0a'");
  EXPECT_EQ(mayfly_only(request({"RESTORE", "s", "0", "\xC8..."})), "RESTORE of the key 's'");
  EXPECT_EQ(mayfly_only(request({"RESTORE", "s", "0", "\x02..."})), "");
  EXPECT_EQ(mayfly_only(request({"SET", "k", "v", "PXAT", "5", "PSTALE", "9"})),
            "SET of the key 'k'");
  EXPECT_EQ(mayfly_only(request({"SET", "k", "v", "PXAT", "5"})), "");
  EXPECT_EQ(mayfly_only(request({"SET", "k", "pstale", "PXAT", "5", "pxat", "pstale"})), "");
  for (const char* name : {"SET", "SADD", "ZADD", "HPEXPIREAT", "HSETEX", "RENAME", "SELECT"}) {
    EXPECT_EQ(mayfly_only(request({name, "k", "v"})), "") << name;
  }
}

TEST(MayflyOnly, TakesAnyBytes) {
  const std::string sound = request({"RESTORE", "s", "0", "\xC8..."});
  for (std::size_t size = 0; size < sound.size(); ++size) mayfly_only(sound.substr(0, size));
  for (const char* bytes : {"", "*", "*1", "*1\r\n", "*1\r\n$", "*1\r\n$9\r\nSADDEX", "PING\r\n",
                            "*1\r\n$99999999999999999999\r\n", "*2\r\n$6\r\nSADDEX\r\n$5\r\n"}) {
    mayfly_only(bytes);
  }
}

// Sends what Redis or Valkey sends at first.
class Foreign {
 public:
  Foreign(ClusterFixture& cluster, const std::string& version)
      : cluster_(cluster), client_(cluster.server(0), "127.0.0.1:5100") {
    client_.run("REPLCONF listening-port 9999");
    client_.run("REPLCONF capa eof capa psync2");
    if (!version.empty()) client_.run("REPLCONF version " + version);
  }

  // The first line of the answer.
  std::string synchronise(const std::string& from = "? -1") {
    std::string reply = client_.send("PSYNC " + from + "\r\n");
    for (int i = 0; i < 5; ++i) cluster_.turn();
    reply += client_.link().output_;
    return reply.substr(0, reply.find('\r'));
  }
  bool is_connected() const { return client_.is_connected(); }

 private:
  ClusterFixture& cluster_;
  TestClient client_;
};

class ForeignReplica : public testing::Test {
 protected:
  std::string run(std::string_view line) { return cluster_.run(0, line); }
  bool is_taken(const std::string& version) {
    Foreign replica(cluster_, version);
    const std::string reply = replica.synchronise();
    return replica.is_connected() && !reply.starts_with("-");
  }
  bool log_has(std::string_view text) {
    return std::ranges::any_of(cluster_[0].lines, [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  const ReplicationStream& stream() { return cluster_.server(0).parts().replication.stream(); }

  ClusterFixture cluster_{2};
};

constexpr const char* kRedis = "";
constexpr const char* kValkey8 = "8.1.0";
constexpr const char* kValkey9 = "9.0.0";

TEST_F(ForeignReplica, FollowsWhileNothingIsStrangeToIt) {
  run("SADD s a b");
  run("HSET h f v");
  for (const char* version : {kRedis, kValkey8, kValkey9}) EXPECT_TRUE(is_taken(version));
}

TEST_F(ForeignReplica, IsToldTheKeyThatItWouldNotUnderstand) {
  run("SELECT 3");
  run("SADDEX online EX 100 MEMBERS 1 ann");
  for (const char* version : {kRedis, kValkey8, kValkey9}) {
    Foreign replica(cluster_, version);
    EXPECT_EQ(replica.synchronise(),
              "-ERR Only a replica that is Mayfly can follow: the set 'online' in database 3 has "
              "members with deadlines");
    EXPECT_FALSE(replica.is_connected());
  }
  EXPECT_TRUE(log_has("which is not Mayfly: the set 'online' in database 3 has members"));
  run("DEL online");
  EXPECT_TRUE(is_taken(kRedis));
}

TEST_F(ForeignReplica, UnderstandsNoStaleTimes) {
  run("SET plain v EX 50");
  EXPECT_TRUE(is_taken(kValkey9));
  run("SET page html EX 100 STALE 10");
  Foreign replica(cluster_, kValkey9);
  EXPECT_EQ(replica.synchronise(),
            "-ERR Only a replica that is Mayfly can follow: the key 'page' in database 0 has a "
            "stale time");
  run("EXPIRE page 100");
  EXPECT_TRUE(is_taken(kRedis));
}

TEST_F(ForeignReplica, OfValkey9UnderstandsDeadlinesOfFields) {
  run("HSETEX h EX 100 FIELDS 1 f v");
  EXPECT_FALSE(is_taken(kRedis));
  EXPECT_FALSE(is_taken(kValkey8));
  EXPECT_TRUE(is_taken(kValkey9));
}

TEST_F(ForeignReplica, OfOursUnderstandsEverything) {
  run("SADDEX online EX 100 MEMBERS 1 ann");
  cluster_.follow(1, 0);
  ASSERT_TRUE(cluster_.run_until_quiet());
  run("SADDEX online EX 200 MEMBERS 1 bob");
  run("SEXPIRE online 300 MEMBERS 1 ann");
  run("SET page html EX 100 STALE 10");
  ASSERT_TRUE(cluster_.run_until_quiet());
  EXPECT_EQ(cluster_.digest(0), cluster_.digest(1));
  EXPECT_EQ(cluster_.server(0).parts().stats.full_syncs, 1u);
}

TEST_F(ForeignReplica, IsCutOffBeforeARequestThatItDoesNotKnow) {
  run("SADD online ann");
  Foreign replica(cluster_, kValkey9);
  ASSERT_TRUE(replica.synchronise().starts_with("+FULLRESYNC"));
  run("SADD online bob");
  cluster_.turn();
  EXPECT_TRUE(replica.is_connected());
  run("SEXPIRE online 100 MEMBERS 1 ann");
  cluster_.turn();
  EXPECT_FALSE(replica.is_connected());
  EXPECT_TRUE(log_has("does not know SPEXPIREAT of the key 'online'"));

  // It cannot go on over that request, but after it, when there is nothing strange left.
  const std::string id = stream().ids().id;
  const std::string before = std::to_string(stream().log().end() - 10);
  Foreign again(cluster_, kValkey9);
  EXPECT_TRUE(again.synchronise(id + " " + before).starts_with("-ERR Only a replica"));
  run("DEL online");
  run("SET k v");
  const std::string after = std::to_string(stream().log().end() + 1);
  Foreign third(cluster_, kValkey9);
  EXPECT_TRUE(third.synchronise(id + " " + after).starts_with("+CONTINUE"));
  Foreign fourth(cluster_, kValkey9);
  EXPECT_TRUE(fourth.synchronise(id + " " + before).starts_with("+FULLRESYNC"));
}

// The removals of a sweep and their entries in the expiry log are XEXPIRED, but not to such a one.
TEST_F(ForeignReplica, GetsTheExpiryLogInWordsThatItKnows) {
  run("CONFIG SET expiry-log yes");
  const auto expire_one = [this] {
    run("SET k v PX 10");
    cluster_.advance(std::chrono::milliseconds(20));
    cluster_.turn();
    return stream().mayfly_only().what;
  };
  {
    Foreign replica(cluster_, kValkey9);
    ASSERT_TRUE(replica.synchronise().starts_with("+FULLRESYNC"));
    EXPECT_EQ(expire_one(), "");
    EXPECT_EQ(run("XLEN __expired__"), "(integer) 1");
    EXPECT_TRUE(replica.is_connected());
  }
  EXPECT_EQ(expire_one(), "XEXPIRED of the key '__expired__'") << "it has gone";
  EXPECT_EQ(run("XLEN __expired__"), "(integer) 2");
  EXPECT_TRUE(is_taken(kValkey9)) << "it gets all data";
}

}  // namespace foreign_replica_test
}  // namespace mayfly
