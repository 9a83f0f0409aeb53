// SPDX-License-Identifier: Apache-2.0
// Far more members are due than a command removes at once: each command must still reply and leave
// behind what it would if all of them had been swept before, and a replica must hold what its
// primary holds.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "commands/members/members_model_fixture.h"

namespace mayfly {
namespace members_many_due_test {

using Lines = std::vector<std::string>;

// What is alive at this time.
ModelKeys alive_in(Database& database, Time now) {
  ModelKeys keys = stored_in(database);
  for (auto& [key, members] : keys) {
    std::erase_if(members, [&](const auto& item) { return is_due(item.second.deadline, now); });
  }
  std::erase_if(keys, [](const auto& item) { return item.second.empty(); });
  return keys;
}

// A primary and its replica. In the key k are members that are due, and between them a few that are
// not; so they are in j.
class ManyDue : public ModelReplica {
 public:
  static constexpr int kMembers = 2600;
  static constexpr int kAlivePart = 100;

  explicit ManyDue(ValueType type) : ModelReplica(KeyspaceOptions{}), replica_(KeyspaceOptions{}) {
    context().policy = Policy::reclaim;
    std::string due;
    std::string alive;
    for (int i = 0; i < kMembers; ++i) {
      const std::string name = "m" + std::to_string(i);
      const std::string number = std::to_string(i / 3);
      std::string& list = i % kAlivePart == 1 ? alive : due;
      if (type == ValueType::zset) list.append(" ").append(number);
      list.append(" ").append(name);
      if (type == ValueType::hash) list.append(" ").append(number);
    }
    const int alive_count = kMembers / kAlivePart;
    for (const std::string key : {"k", "j"}) {
      const std::string put = std::string(words_of(type).put_command) + " " + key;
      write(put + " PX 1000 MEMBERS " + std::to_string(alive_count) + alive);
      write(put + " PX 10 MEMBERS " + std::to_string(kMembers - alive_count) + due);
    }
    advance(Millis(10));
  }

  std::string write(const std::string& line) {
    std::string reply = run(line);
    replica_.hear(propagated());
    return reply;
  }
  void sweep() {
    run("EXISTS none");
    while (keyspace().sweep(context(), 1000) > 0) {
    }
    replica_.hear(propagated());
  }

  ModelKeys alive() { return alive_in(database(), now()); }
  ModelKeys stored() { return stored_in(database()); }
  ModelKeys stored_by_replica() { return stored_in(replica_.database()); }
  std::string ask_replica(const std::string& line) { return replica_.ask(line, now()); }

 private:
  ModelReplica replica_;
};

// After each of the lines.
void expect_like_swept(ValueType type, const Lines& lines) {
  ManyDue late(type);
  ManyDue swept(type);
  swept.sweep();
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    EXPECT_EQ(late.write(line), swept.write(line));
    EXPECT_EQ(late.alive(), swept.alive());
    EXPECT_EQ(late.stored(), late.stored_by_replica());
  }
  late.sweep();
  EXPECT_EQ(late.stored(), swept.stored());
  EXPECT_EQ(late.stored(), late.stored_by_replica());
}

TEST(ManyDueTest, SortedSets) {
  for (const Lines& lines : {
           Lines{"ZCARD k", "ZRANK k m301", "ZRANK k m302", "ZREVRANK k m301", "ZCOUNT k 100 (300"},
           Lines{"ZRANGE k 0 -1 WITHSCORES", "ZRANGE k 3 5 REV", "ZRANGE k 50 200 BYSCORE"},
           Lines{"ZREMRANGEBYRANK k 2 4", "ZREMRANGEBYRANK k -3 -2", "ZCARD k"},
           Lines{"ZREMRANGEBYSCORE k 100 400", "ZREMRANGEBYSCORE k 500 (600"},
           Lines{"ZREMRANGEBYRANK k 0 -1", "EXISTS k", "ZADD k 1 a"},
           Lines{"ZPOPMIN k 2", "ZPOPMAX k 3", "ZMPOP 2 none k MIN COUNT 2", "BZPOPMAX none k 0"},
           Lines{"ZPOPMIN k 2600", "EXISTS k", "BZPOPMIN k j 0"},
           Lines{"ZRANGESTORE t k 1 5", "ZRANGESTORE k k 0 3", "ZRANGESTORE j j 9 9"},
           Lines{"ZUNIONSTORE t 2 k j", "ZDIFFSTORE u 2 k j", "ZINTERSTORE k 2 k j WEIGHTS 2 3"},
           Lines{"ZADD k NX 7 m1 7 m2", "ZADD k XX 8 m1 8 m3", "ZADD k GT 9000 m101 9000 m4"},
           Lines{"ZINCRBY k 5 m1", "ZINCRBY k 5 m2", "ZREM k m1 m7", "ZPERSIST k MEMBERS 2 m1 m9"},
           Lines{"RENAME k t", "COPY t j REPLACE", "ZRANGE j 0 -1", "DEL t", "EXISTS t j k"},
           Lines{"ZADDEX k FXX PX 50 MEMBERS 1 3 m2", "ZADDEX k FNX PX 50 MEMBERS 1 3 m2"},
       }) {
    expect_like_swept(ValueType::zset, lines);
  }
}

TEST(ManyDueTest, Sets) {
  for (const Lines& lines : {
           Lines{"SCARD k", "SMISMEMBER k m1 m2", "SINTERCARD 2 k j", "SADD k m1 m2 m3"},
           Lines{"SMOVE k j m1", "SMOVE k j m2", "SMOVE k t m101", "SREM k m201 m202"},
           Lines{"SUNIONSTORE t k j", "SDIFFSTORE u k j", "SINTERSTORE k k j"},
           Lines{"RENAME k t", "COPY t j REPLACE", "SCARD j", "DEL t", "EXISTS t j k"},
           Lines{"SADDEX k FXX PX 50 MEMBERS 1 m2", "SADDEX k FNX PX 50 MEMBERS 1 m2"},
       }) {
    expect_like_swept(ValueType::set, lines);
  }
}

TEST(ManyDueTest, Hashes) {
  for (const Lines& lines : {
           Lines{"HLEN k", "HMGET k m1 m2", "HSETNX k m1 a", "HSETNX k m2 a", "HINCRBY k m3 1"},
           Lines{"HDEL k m1 m2", "HGETDEL k FIELDS 2 m101 m102", "HINCRBYFLOAT k m104 0.5"},
           Lines{"RENAME k t", "COPY t j REPLACE", "HLEN j", "DEL t", "EXISTS t j k"},
       }) {
    expect_like_swept(ValueType::hash, lines);
  }
}

// Random choices are not the same twice.
TEST(ManyDueTest, PopsAndSamplesAreAlive) {
  ManyDue sets(ValueType::set);
  const ModelMembers before = sets.alive()["k"];
  for (const std::string& name : bulks_of(sets.write("SRANDMEMBER k 20"))) {
    EXPECT_TRUE(before.contains(name)) << name;
  }
  for (const std::string& name : bulks_of(sets.write("SPOP k 20"))) {
    EXPECT_TRUE(before.contains(name)) << name;
  }
  EXPECT_EQ(sets.alive()["k"].size(), before.size() - 20);
  EXPECT_EQ(sets.stored(), sets.stored_by_replica());
  EXPECT_EQ(bulks_of(sets.write("SPOP k 1000")).size(), before.size() - 20);
  EXPECT_EQ(sets.write("EXISTS k"), "(integer) 0");
  EXPECT_EQ(sets.stored(), sets.stored_by_replica());
}

// Those that its primary has not removed yet, too.
TEST(ManyDueTest, AReplicaHasTheSameRanks) {
  ManyDue zsets(ValueType::zset);
  for (const std::string line : {"ZRANGE k 0 -1 WITHSCORES", "ZRANK k m301", "ZREVRANK k m301",
                                 "ZCARD k", "ZCOUNT k 100 (300", "ZRANGE k -2 -1 REV"}) {
    const std::string reply = zsets.ask_replica(line);
    EXPECT_EQ(zsets.write(line), reply) << line;
    EXPECT_EQ(zsets.ask_replica(line), reply) << line;
  }
}

}  // namespace members_many_due_test
}  // namespace mayfly
