// SPDX-License-Identifier: Apache-2.0
// Random workloads with deadlines of keys and members, clients that wait for members, connections
// that break at random, servers that change their parts: at every quiet point all have the same
// data, deadlines included.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "mayfly/random.h"
#include "server/core/server_call.h"
#include "server/monitoring/stats.h"
#include "server/replication/cluster_fixture.h"

namespace mayfly {
namespace replication_model_test {

std::string pick(Random& random, std::initializer_list<std::string_view> words) {
  return std::string(*(words.begin() + random.below(words.size())));
}

std::string number(Random& random, std::uint64_t below) {
  return std::to_string(random.below(below));
}

using Request = std::vector<std::string>;

// Names and deadlines come from small sets, so that commands often meet each other's work, and what
// is due and not swept yet.
struct Chance {
  explicit Chance(Random& source)
      : random(source),
        key("k" + number(random, 4)),
        field("f" + number(random, 6)),
        other("f" + number(random, 6)),
        ms(number(random, 300)) {}

  std::string some(char letter) { return letter + number(random, 4); }
  std::string any_key() { return pick(random, {key, some('h'), some('s'), some('z')}); }

  Random& random;
  std::string key, field, other, ms;
};

Request random_key_command(Chance chance) {
  Random& random = chance.random;
  const char letter = "hsz"[random.below(3)];
  switch (random.below(9)) {
    case 0:
      return {"SET", chance.key, number(random, 100)};
    case 1:
      return {"SET", chance.key, number(random, 100), "PX", std::to_string(random.below(300) + 1)};
    case 2:
      return {"PEXPIRE", chance.any_key(), chance.ms, pick(random, {"NX", "XX", "GT", "LT"})};
    case 3:
      return {"PERSIST", chance.any_key()};
    case 4:
      return {pick(random, {"DEL", "UNLINK"}), chance.any_key()};
    case 5:
      return {"INCR", chance.key};
    case 6:
      return {"RENAME", chance.some(letter), chance.some(letter)};
    case 7:
      return {"COPY", chance.some(letter), chance.some(letter), "REPLACE"};
    default:
      return {"SELECT", number(random, 2)};
  }
}

// Commands that hashes, sets and sorted sets have alike.
Request random_member_command(Chance chance) {
  Random& random = chance.random;
  const std::size_t type = random.below(3);
  const std::string key = chance.some("hsz"[type]);
  const std::string letter(1, "HSZ"[type]);
  const std::string list = type == 0 ? "FIELDS" : "MEMBERS";
  switch (random.below(8)) {
    case 0:
    case 1:
      return {letter + "PEXPIRE", key, chance.ms, list, "2", chance.field, chance.other};
    case 2:
      return {letter + "PEXPIRE", key, chance.ms, pick(random, {"NX", "XX", "GT", "LT"}), list, "1",
              chance.field};
    case 3:
      return {letter + "PERSIST", key, list, "2", chance.field, chance.other};
    case 4:
      return {type == 0 ? "HDEL" : letter + "REM", key, chance.field, chance.other};
    default:
      break;
  }
  Request request = {type == 0 ? "HSETEX" : letter + "ADDEX", key};
  if (random.below(3) == 0) request.push_back(pick(random, {"FNX", "FXX"}));
  if (random.below(4) == 0) {
    request.emplace_back("KEEPTTL");
  } else {
    request.insert(request.end(), {"PX", chance.ms});
  }
  request.insert(request.end(), {list, "2"});
  for (const std::string& name : {chance.field, chance.other}) {
    if (type == 2) request.push_back(number(random, 10));
    request.push_back(name);
    if (type == 0) request.push_back(number(random, 100));
  }
  return request;
}

Request random_hash_command(Chance chance) {
  Random& random = chance.random;
  const std::string hash = chance.some('h');
  switch (random.below(7)) {
    case 0:
    case 1:
      return {"HSET", hash, chance.field, number(random, 100), chance.other, number(random, 100)};
    case 2:
      return {"HGETEX", hash, "PX", chance.ms, "FIELDS", "2", chance.field, chance.other};
    case 3:
      return {"HGETDEL", hash, "FIELDS", "1", chance.field};
    case 4:
      return {"HINCRBY", hash, chance.field, "7"};
    case 5:
      return {"HINCRBYFLOAT", hash, chance.field, "0.5"};
    default:
      return {"HGETALL", hash};
  }
}

Request random_set_command(Chance chance) {
  Random& random = chance.random;
  const std::string set = chance.some('s');
  switch (random.below(6)) {
    case 0:
    case 1:
      return {"SADD", set, chance.field, chance.other, number(random, 10)};
    case 2:
      return {"SMOVE", set, chance.some('s'), chance.field};
    case 3:
      return {"SPOP", set, number(random, 3)};
    case 4:
      return {pick(random, {"SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"}), "s4", set,
              chance.some('s')};
    default:
      return {"SMEMBERS", set};
  }
}

Request random_zset_command(Chance chance) {
  Random& random = chance.random;
  const std::string zset = chance.some('z');
  const std::string score = number(random, 10);
  switch (random.below(10)) {
    case 0:
    case 1:
      return {"ZADD", zset, score, chance.field, number(random, 10), chance.other};
    case 2:
      return {"ZADD", zset, pick(random, {"NX", "XX", "GT", "LT"}), score, chance.field};
    case 3:
      return {"ZINCRBY", zset, "1.5", chance.field};
    case 4:
      return {pick(random, {"ZPOPMIN", "ZPOPMAX"}), zset};
    case 5:
      return {"ZREMRANGEBYRANK", zset, score, score};
    case 6:
      return {"ZREMRANGEBYSCORE", zset, score, score};
    case 7:
      return {"ZRANGESTORE", "z4", zset, "0", "2"};
    case 8:
      return {pick(random, {"ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"}), "z4", "2", zset,
              pick(random, {chance.some('z'), chance.some('s')})};
    default:
      return {"ZRANGE", zset, "0", "-1"};
  }
}

Request random_command(Random& random) {
  const Chance chance(random);
  switch (random.below(8)) {
    case 0:
    case 1:
      return random_key_command(chance);
    case 2:
      return random_hash_command(chance);
    case 3:
      return random_set_command(chance);
    case 4:
    case 5:
      return random_zset_command(chance);
    default:
      return random_member_command(chance);
  }
}

class Torture {
 public:
  explicit Torture(std::uint64_t seed) : random_(seed), cluster_(3, config()) {
    cluster_.follow(1, 0);
    cluster_.follow(2, 0);
  }

  // Returns what is wrong, or nothing.
  std::string run(int steps) {
    for (int step = 0; step < steps; ++step) {
      disturb();
      for (std::uint64_t i = random_.below(8); i > 0; --i) write();
      cluster_.advance(Millis(static_cast<std::int64_t>(random_.below(40))));
      if (random_.below(3) > 0) cluster_.turn();
      if (random_.below(20) > 0) continue;
      if (std::string wrong = check(); !wrong.empty()) {
        return "step " + std::to_string(step) + ": " + wrong;
      }
    }
    return check();
  }

  int promotions() const { return promotions_; }
  std::uint64_t partial_syncs() { return sum(&Stats::partial_syncs); }
  std::uint64_t full_syncs() { return sum(&Stats::full_syncs); }

 private:
  static Config config() {
    Config config = ClusterFixture::cluster_config();
    // So that there are tables, too.
    config.hash_max_listpack_entries = 4;
    config.set_max_listpack_entries = 4;
    config.zset_max_listpack_entries = 4;
    config.repl_backlog_size = 16 * 1024;
    return config;
  }

  std::uint64_t sum(std::uint64_t Stats::*count) {
    std::uint64_t all = 0;
    for (int i = 0; i < 3; ++i) all += cluster_.server(i).parts().stats.*count;
    return all;
  }

  // A client that waits until it gets a member, or the leader is one no more.
  void wait_for_member() {
    std::erase_if(waiters_, [](const auto& waiter) {
      return !waiter->is_connected() || !waiter->client().is_blocked();
    });
    if (waiters_.size() == 3) return;
    waiters_.push_back(std::make_unique<TestClient>(cluster_.server(leader_), "127.0.0.1:6000"));
    waiters_.back()->run("BZPOPMIN z0 z4 z1 0");
  }

  void write() {
    if (random_.below(40) == 0) wait_for_member();
    if (random_.below(10) > 0) {
      cluster_.run(leader_, random_command(random_));
      return;
    }
    cluster_.run(leader_, "MULTI");
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      cluster_.run(leader_, random_command(random_));
    }
    cluster_.run(leader_, "EXEC");
  }

  void disturb() {
    const auto replica = static_cast<int>(random_.below(3));
    switch (random_.below(30)) {
      case 0:
        return cluster_.cut(replica);
      case 1:
        return cluster_.set_piece(random_.below(2) > 0 ? std::string::npos
                                                       : 1 + random_.below(200));
      case 2:
        if (random_.below(4) == 0 && cluster_.is_up(replica)) promote(replica);
        return;
      case 3:
        // A chain, or two replicas of one.
        if (replica != leader_) {
          const int middle = 3 - leader_ - replica;
          cluster_.follow(replica, random_.below(2) > 0 ? middle : leader_);
          cluster_.follow(middle, leader_);
        }
        return;
      default:
        return;
    }
  }

  void promote(int replica) {
    ++promotions_;
    cluster_.lead(replica);
    for (int i = 0; i < 3; ++i) {
      if (i != replica) cluster_.follow(i, replica);
    }
    leader_ = replica;
  }

  std::string check() {
    cluster_.set_piece(std::string::npos);
    if (!cluster_.run_until_quiet(400)) return "it does not get quiet";
    for (int i = 0; i < 3; ++i) {
      for (int database = 0; database < 2; ++database) {
        std::string wrong = cluster_.server(i).parts().keyspace[database].check_invariants();
        if (!wrong.empty()) return wrong;
      }
      if (cluster_.digest(i) != cluster_.digest(leader_)) {
        return "server " + std::to_string(i) + " differs from " + std::to_string(leader_);
      }
    }
    return {};
  }

  Random random_;
  ClusterFixture cluster_;
  std::vector<std::unique_ptr<TestClient>> waiters_;
  int leader_ = 0;
  int promotions_ = 0;
};

TEST(ReplicationModelTest, AllHaveTheSameDataAtEveryQuietPoint) {
  int promotions = 0;
  std::uint64_t partial_syncs = 0;
  std::uint64_t full_syncs = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Torture torture(seed);
    ASSERT_EQ(torture.run(300), "") << "seed " << seed;
    promotions += torture.promotions();
    partial_syncs += torture.partial_syncs();
    full_syncs += torture.full_syncs();
  }
  // A test of what never happens would be worth nothing.
  EXPECT_GT(promotions, 10);
  EXPECT_GT(partial_syncs, 100u);
  EXPECT_GT(full_syncs, 60u);
}

}  // namespace replication_model_test
}  // namespace mayfly
