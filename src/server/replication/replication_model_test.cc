// SPDX-License-Identifier: Apache-2.0
// Random workloads with deadlines of keys and fields, connections that break at random, servers
// that change their parts: at every quiet point all have the same data, deadlines included.

#include <gtest/gtest.h>

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

// Names and deadlines come from small sets, so that commands often meet each other's work, and what
// is due and not swept yet.
std::vector<std::string> random_command(Random& random) {
  const std::string key = "k" + number(random, 4);
  const std::string hash = "h" + number(random, 4);
  const std::string field = "f" + number(random, 6);
  const std::string other = "f" + number(random, 6);
  const std::string ms = number(random, 300);
  switch (random.below(26)) {
    case 0:
      return {"SET", key, number(random, 100)};
    case 1:
      return {"SET", key, number(random, 100), "PX", std::to_string(random.below(300) + 1)};
    case 2:
      return {"PEXPIRE", pick(random, {key, hash}), ms, pick(random, {"NX", "XX", "GT", "LT"})};
    case 3:
      return {"PERSIST", pick(random, {key, hash})};
    case 4:
      return {pick(random, {"DEL", "UNLINK"}), pick(random, {key, hash})};
    case 5:
      return {"INCR", key};
    case 6:
    case 7:
      return {"HSET", hash, field, number(random, 100), other, number(random, 100)};
    case 8:
    case 9:
      return {"HSETEX", hash, "PX", ms, "FIELDS", "2", field, "1", other, "2"};
    case 10:
      return {"HSETEX", hash, pick(random, {"FNX", "FXX"}), "PX", ms, "FIELDS", "1", field, "3"};
    case 11:
      return {"HSETEX", hash, "KEEPTTL", "FIELDS", "2", field, "4", other, "5"};
    case 12:
    case 13:
      return {"HPEXPIRE", hash, ms, "FIELDS", "2", field, other};
    case 14:
      return {"HPEXPIRE", hash, ms, pick(random, {"NX", "XX", "GT", "LT"}), "FIELDS", "1", field};
    case 15:
    case 16:
      return {"HPERSIST", hash, "FIELDS", "2", field, other};
    case 17:
      return {"HDEL", hash, field, other};
    case 18:
      return {"HGETEX", hash, "PX", ms, "FIELDS", "2", field, other};
    case 19:
      return {"HGETDEL", hash, "FIELDS", "1", field};
    case 20:
      return {"HINCRBY", hash, field, "7"};
    case 21:
      return {"HINCRBYFLOAT", hash, field, "0.5"};
    case 22:
      return {"RENAME", hash, "h" + number(random, 4)};
    case 23:
      return {"COPY", hash, "h" + number(random, 4), "REPLACE"};
    case 24:
      return {"HGETALL", hash};
    default:
      return {"SELECT", number(random, 2)};
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
    config.hash_max_listpack_entries = 4;  // so that there are tables, too
    config.repl_backlog_size = 16 * 1024;
    return config;
  }

  std::uint64_t sum(std::uint64_t Stats::*count) {
    std::uint64_t all = 0;
    for (int i = 0; i < 3; ++i) all += cluster_.server(i).parts().stats.*count;
    return all;
  }

  void write() {
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
