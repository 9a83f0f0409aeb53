// SPDX-License-Identifier: Apache-2.0
// The picture of `status`, and what `check` finds.

#include "cli/cluster/watch/picture.h"

#include <gtest/gtest.h>

#include "cli/cluster/fake_cluster.h"
#include "cli/cluster/watch/check_command.h"
#include "cli/cluster/watch/status_command.h"
#include "text/json_reader.h"

namespace mayfly {
namespace {

class PictureTest : public testing::Test {
 protected:
  std::string status() {
    cluster_.talk.out.clear();
    (void)run_status(StatusArgs{}, cluster_.session);
    return cluster_.talk.out;
  }
  // Every node tells the map of etcd.
  void tell_maps() {
    ReplyValue slots;
    slots.kind = ReplyValue::Kind::array;
    const ClusterView view = cluster_.records.view();
    for (const ClusterShard& shard : view.shards()) {
      for (const SlotRange& range : shard.record.slots.ranges()) {
        ReplyValue entry;
        entry.items.resize(3);
        entry.items[0].integer = range.first;
        entry.items[1].integer = range.last;
        entry.items[2].items.resize(3);
        entry.items[2].items[2].text = shard.record.primary.node;
        slots.items.push_back(entry);
      }
    }
    for (auto& [address, node] : cluster_.nodes.nodes) node.slots = slots;
  }
  void start_etcd() {
    for (const char* name : {"etcd-a", "etcd-b", "etcd-c"}) {
      EtcdEndpointStatus member;
      member.endpoint = std::string("http://") + name + ":2379";
      member.name = name;
      member.version = "3.5.16";
      member.leader = 7;
      member.is_leader = member.name == "etcd-b";
      member.latency_ms = 2.1;
      cluster_.records.etcd.push_back(member);
    }
  }
  Exit check() {
    cluster_.talk.out.clear();
    return *run_cluster_check(ClusterCheckArgs{}, cluster_.session);
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  }

  FakeCluster cluster_;
};

TEST_F(PictureTest, ShowsShardsAndWhoIsInSync) {
  cluster_.make(3);
  start_etcd();
  cluster_.nodes.nodes[FakeCluster::address(1)].keys = 1'900'000;
  cluster_.nodes.nodes[FakeCluster::address(1)].lag = 1234;
  const std::string text = status();
  EXPECT_TRUE(has(text, "main   6 nodes, 3 shards, 16384 slots ok")) << text;
  EXPECT_TRUE(has(text, "etcd 3/3, leader etcd-b, 2.1 ms, 3.5.16")) << text;
  EXPECT_TRUE(has(text,
                  "a  10.0.0.1:6379  serving  epoch 1    5461 slots    1.9 M keys    1.0 MB"
                  "   in sync: 10.0.0.4 (1.2 KB, +3 ms)"))
      << text;
  EXPECT_FALSE(has(text, "!")) << text;
}

TEST_F(PictureTest, TheBarHasALetterForEveryPartOfTheSlots) {
  cluster_.make(3);
  EXPECT_EQ(slot_bar(cluster_.records.view(), 12), "aaaa|bbb|ccc");
  MoveRecord move;
  move.source = "b";
  move.target = "a";
  move.slots = SlotSet({{5461, 5470}, {9557, 10'922}});
  move.state = MoveState::stream;
  cluster_.records.put("moves/1", to_text(move));
  EXPECT_EQ(slot_bar(cluster_.records.view(), 12), "aaaa>bb>cccc");
}

TEST_F(PictureTest, SlotsOfNobodyAreDots) {
  cluster_.make(2);
  ShardRecord record = cluster_.shard("b");
  record.slots -= SlotSet({{12'288, 16'383}});
  cluster_.put_shard("b", record);
  EXPECT_EQ(slot_bar(cluster_.records.view(), 16), "aaaaaaaa|bbb|...");
  EXPECT_TRUE(has(status(), "12288 of 16384 slots"));
}

TEST_F(PictureTest, LongNamesGetLetters) {
  cluster_.make(1, false);
  cluster_.put_shard("north", cluster_.shard("a"));
  cluster_.put_shard("south", cluster_.shard("a"));
  const auto letters = shard_letters(cluster_.records.view());
  EXPECT_EQ(letters.at("a"), 'a');
  EXPECT_EQ(letters.at("north"), 'b');
  EXPECT_EQ(letters.at("south"), 'c');
}

TEST_F(PictureTest, ShowsWhatIsDown) {
  cluster_.make(2);
  cluster_.nodes.nodes[FakeCluster::address(2)].is_up = false;
  cluster_.records.erase(live_key(FakeCluster::id(2)));
  cluster_.nodes.nodes[FakeCluster::address(1)].is_serving = false;
  const std::string text = status();
  EXPECT_TRUE(has(text, "b  10.0.0.2:6379  down")) << text;
  EXPECT_TRUE(has(text, "a  10.0.0.1:6379  fenced")) << text;
  EXPECT_TRUE(has(text, "! shard b: its primary 10.0.0.2:6379 is not alive")) << text;
}

TEST_F(PictureTest, ShowsANodeThatDoesNotAnswerHere) {
  cluster_.make(2);
  cluster_.nodes.nodes[FakeCluster::address(2)].is_up = false;
  const std::string text = status();
  EXPECT_TRUE(has(text, "b  10.0.0.2:6379  no answer")) << text;
  EXPECT_TRUE(has(text, "10.0.0.2:6379 lives, but does not answer here")) << text;
}

TEST_F(PictureTest, ShowsMoves) {
  cluster_.make(2);
  MoveRecord move;
  move.source = "b";
  move.target = "a";
  move.slots = SlotSet({{10'000, 11'023}});
  move.state = MoveState::stream;
  cluster_.records.put("moves/1", to_text(move));
  EXPECT_TRUE(has(status(), "move b -> a  1024 slots  stream"));
}

TEST_F(PictureTest, WithoutEtcdItSaysWhy) {
  cluster_.records.error = "cannot connect";
  EXPECT_EQ(*run_status(StatusArgs{}, cluster_.session), Exit::failed);
  EXPECT_TRUE(
      has(cluster_.talk.out, "etcd cannot be read; nodes go on without it: cannot connect"));
}

TEST_F(PictureTest, WithoutAClusterItSaysHowToMakeOne) {
  EXPECT_TRUE(has(status(), "! there is no cluster yet"));
}

TEST_F(PictureTest, IsJsonToo) {
  cluster_.make(2);
  start_etcd();
  cluster_.start(9);
  cluster_.session.is_json = true;
  const auto json = read_json(status());
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_EQ(json->find("cluster")->text, "main");
  ASSERT_EQ(json->find("shards")->values.size(), 2u);
  const JsonValue& shard = json->find("shards")->values[0];
  EXPECT_EQ(shard.find("state")->text, "serving");
  EXPECT_EQ(shard.find("slots")->text, "0-8191");
  EXPECT_EQ(shard.find("nodes")->values.size(), 2u);
  EXPECT_EQ(json->find("nodes")->values.size(), 1u) << "in no shard";
  EXPECT_EQ(json->find("etcd")->values.size(), 3u);
}

TEST_F(PictureTest, RatesNeedTwoLooks) {
  MoveRates rates;
  EXPECT_TRUE(rates.update({{"1", {0.2, 100.0}}}, 0).empty());
  const auto later = rates.update({{"1", {0.6, 300.0}}}, 2'000'000'000);
  EXPECT_DOUBLE_EQ(*later.at("1").keys_per_s, 100);
  EXPECT_DOUBLE_EQ(*later.at("1").seconds_left, 2);
}

TEST_F(PictureTest, NumbersAreShort) {
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(1'900'000), "1.9 M");
  EXPECT_EQ(short_bytes(0), "0 B");
  EXPECT_EQ(short_bytes(1234), "1.2 KB");
  EXPECT_EQ(short_bytes(412.0 * 1024 * 1024), "412 MB");
}

// ---- check ----

TEST_F(PictureTest, ASoundClusterPassesTheCheck) {
  cluster_.make(3);
  start_etcd();
  tell_maps();
  EXPECT_EQ(check(), Exit::ok) << cluster_.talk.out;
  EXPECT_FALSE(has(cluster_.talk.out, "WRONG"));
}

TEST_F(PictureTest, TheCheckFindsAMapThatDiffers) {
  cluster_.make(3);
  start_etcd();
  tell_maps();
  cluster_.nodes.nodes[FakeCluster::address(2)].slots.items[0].items[1].integer = 5000;
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "10.0.0.2:6379 tells clients another map"))
      << cluster_.talk.out;
  EXPECT_TRUE(has(cluster_.talk.out, "5001-5460")) << cluster_.talk.out;
}

TEST_F(PictureTest, TheCheckFindsClocksThatDiffer) {
  cluster_.make(3);
  start_etcd();
  tell_maps();
  cluster_.nodes.nodes[FakeCluster::address(2)].clock_ahead = Millis(-600);
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "differ by 600 ms"));
  EXPECT_TRUE(has(cluster_.talk.out, "does not get in sync: its clock is 600 ms behind"));
}

TEST_F(PictureTest, TheCheckAllowsClocksWhatTheNodesAllow) {
  cluster_.make(2);
  start_etcd();
  tell_maps();
  for (auto& [address, node] : cluster_.nodes.nodes) node.max_clock_difference = 100;
  cluster_.nodes.nodes[FakeCluster::address(2)].clock_ahead = Millis(-150);
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "differ by 150 ms; 100 are allowed")) << cluster_.talk.out;

  cluster_.nodes.nodes[FakeCluster::address(2)].clock_ahead = Millis(0);
  FakeNode& primary = cluster_.nodes.nodes[FakeCluster::address(1)];
  primary.clock_floor = Millis(700);
  ShardRecord record = cluster_.shard("a");
  record.since = cluster_.clock.now() + Millis(700);
  cluster_.put_shard("a", record);
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "primary began 700 ms from now")) << cluster_.talk.out;
  for (auto& [address, node] : cluster_.nodes.nodes) node.max_clock_difference = 1000;
  EXPECT_EQ(check(), Exit::ok) << cluster_.talk.out;
}

TEST_F(PictureTest, TheCheckShowsFloorsOfClocks) {
  cluster_.make(3);
  start_etcd();
  tell_maps();
  FakeNode& node = cluster_.nodes.nodes[FakeCluster::address(2)];
  node.clock_floor = Millis(400);
  EXPECT_EQ(check(), Exit::ok) << cluster_.talk.out;
  EXPECT_TRUE(has(cluster_.talk.out, "greatest floor 400 ms"));
  EXPECT_TRUE(has(cluster_.talk.out, "time of 10.0.0.2:6379 is 400 ms ahead of the clock of its"));
  node.clock_floor = Millis(501);
  EXPECT_EQ(check(), Exit::problems);
}

TEST_F(PictureTest, TheCheckFindsATimeOfARecordThatIsWrong) {
  cluster_.make(3);
  start_etcd();
  tell_maps();
  ShardRecord record = cluster_.shard("a");
  record.since = cluster_.clock.now() + std::chrono::hours(1);
  cluster_.put_shard("a", record);
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "primary began 3600000 ms from now")) << cluster_.talk.out;
  EXPECT_TRUE(has(cluster_.talk.out, "mayfly cluster reset-clock a"));
  record.since = cluster_.clock.now() + Millis(400);
  cluster_.put_shard("a", record);
  EXPECT_EQ(check(), Exit::ok) << cluster_.talk.out;
}

TEST_F(PictureTest, TheCheckFindsTwoThatServe) {
  cluster_.make(2);
  start_etcd();
  tell_maps();
  cluster_.nodes.nodes[FakeCluster::address(3)].is_serving = true;
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "10.0.0.3:6379 serves shard a, but the record names another"));
  cluster_.nodes.nodes[FakeCluster::address(3)].is_serving = false;
  cluster_.nodes.nodes[FakeCluster::address(1)].epoch = 2;
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "with epoch 2, the record has 1"));
}

TEST_F(PictureTest, TheCheckLooksAtEtcd) {
  cluster_.make(2);
  start_etcd();
  tell_maps();
  cluster_.records.etcd[0].error = "connection refused";
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "etcd-a: connection refused"));
  cluster_.records.etcd[0].error = "";
  cluster_.records.etcd[0].database_bytes = 1'900'000'000;
  EXPECT_EQ(check(), Exit::problems);
  EXPECT_TRUE(has(cluster_.talk.out, "it refuses writes at 2 GiB"));
  cluster_.records.etcd[0].database_bytes = 0;
  cluster_.records.etcd[0].version = "3.4.23";
  EXPECT_EQ(check(), Exit::ok) << "an old version is no failure";
  EXPECT_TRUE(has(cluster_.talk.out, "3.5 or later"));
}

}  // namespace
}  // namespace mayfly
