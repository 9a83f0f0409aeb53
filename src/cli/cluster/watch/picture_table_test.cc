// SPDX-License-Identifier: Apache-2.0
// The words of `status` and `check`, as text and as JSON, and the exit code of `check`, in each bad
// state of a node, a shard and etcd, by table. The table of /ready, the log and INFO is in
// src/server/http/readiness_test.cc.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cluster/watch/picture_world.h"
#include "text/json_reader.h"

namespace mayfly {
namespace {

// ---- Each state alone ----

struct Row {
  const char* name;
  std::function<void(World&)> happens;
  std::vector<const char*> status;  // all of these are in it
  std::vector<const char*> check;   // the same, and it exits with 3
};

// Nodes that do not answer.
const std::vector<Row> kStopped = {
    {"the primary was killed a moment ago",
     [](World& w) { w.stop(kPrimary, Code::not_found); },
     {"3 of 4 nodes answer", "8192 of 16384 slots served", "a  10.0.0.1:6379  down",
      "does not run (etcd counts it as alive for 15 s at most); a replica that is in sync takes"},
     {"WRONG  nodes", "3 of 4 answer", "1 of 2 shards take writes", "wait some seconds",
      "8192 of 16384 slots are not served"}},
    {"the primary and its replica were killed a moment ago",
     [](World& w) {
       w.stop(kPrimary, Code::not_found);
       w.stop(kReplica, Code::not_found);
     },
     {"2 of 4 nodes answer", "the shard waits for 10.0.0.1:6379 and 10.0.0.3:6379",
      "in sync: 10.0.0.3 (down)"},
     {"start 10.0.0.1:6379 and 10.0.0.3:6379 again. Only if that is impossible: mayfly cluster "
      "recover a (it shows what would be lost, and changes nothing)"}},
    {"both are long dead",
     [](World& w) {
       for (const int number : {kPrimary, kReplica}) {
         w.stop(number, Code::not_found);
         w.forget(number);
       }
     },
     {"2 of 4 nodes answer", "8192 of 16384 slots served", "is not alive; the shard waits for"},
     {"the primary of shard a, 10.0.0.1:6379, does not serve: it is down"}},
    {"the primary is frozen",
     [](World& w) { w.stop(kPrimary, Code::busy); },
     {"a  10.0.0.1:6379  no answer", "does not answer; a replica that is in sync takes over",
      "lives, but does not answer here"},
     {"serves is unknown: it does not answer", "is it stopped (kill -CONT)"}},
    {"the primary and its replica are frozen",
     [](World& w) {
       w.stop(kPrimary, Code::busy);
       w.stop(kReplica, Code::busy);
     },
     {"does not answer; nor does a replica that could take over", "in sync: 10.0.0.3 (no answer)"},
     {"look at 10.0.0.1:6379 and 10.0.0.3:6379: stopped (kill -CONT), overloaded"}},
};

// Nodes that answer and have a problem.
const std::vector<Row> kUnwell = {
    {"the disk of a primary is full",
     [](World& w) { w.node(kPrimary).refused_writes = "MISCONF Errors writing to the AOF file"; },
     {"4 nodes, 2 shards, 16384 slots, 8192 refuse writes", "a  10.0.0.1:6379  refuses writes",
      "shard a refuses writes: 10.0.0.1:6379 says MISCONF Errors writing"},
     {"1 of 2 shards take writes", "free space on its disk", "Or mayfly cluster failover a"}},
    {"a primary could not save a snapshot",
     [](World& w) {
       w.node(kPrimary).refused_writes = "MISCONF Mayfly is configured to save RDB snapshots, but";
     },
     {"shard a refuses writes: 10.0.0.1:6379 says MISCONF Mayfly is configured"},
     {"(its log says what fails), then BGSAVE there"}},
    {"a primary has no memory left",
     [](World& w) { w.node(kPrimary).refused_writes = "OOM 105 bytes are used"; },
     {"8192 refuse writes", "says OOM 105 bytes"},
     {"WRONG  writes", "raise maxmemory"}},
    {"a primary soon has none",
     [](World& w) { w.node(kPrimary).max_memory = 1'100'000; },
     {"10.0.0.1:6379 uses 1.0 MB of maxmemory 1.0 MB, and evicts nothing"},
     {"WRONG  writes"}},
    {"a replica cannot write its file",
     [](World& w) { w.node(kReplica).is_log_good = false; },
     {"10.0.0.3:6379 cannot write its append-only file"},
     {"WRONG  storage"}},
    {"a disk is nearly full",
     [](World& w) { w.node(kReplica).disk_free = 100'000; },
     {"the disk of 10.0.0.3:6379 has 97.7 KB free of 100 GB"},
     {"WRONG  storage", "free space"}},
    {"a primary loads",
     [](World& w) { w.node(kPrimary).is_loading = true; },
     {"a  10.0.0.1:6379  loading", "8192 of 16384 slots served"},
     {"does not serve: it is loading", "wait until it has loaded"}},
    {"a primary is fenced",
     [](World& w) { w.node(kPrimary).is_serving = false; },
     {"a  10.0.0.1:6379  fenced", "8192 of 16384 slots served"},
     {"does not serve: it is fenced"}},
    {"etcd was restored from a snapshot",
     [](World& w) { w.node(kPrimary).refused_register = "etcd is not usable: it has revision 3"; },
     {"10.0.0.1:6379 does not use this etcd: etcd is not usable: it has revision 3"},
     {"WRONG  nodes", "fault: 10.0.0.1:6379 does not use this etcd", "mayfly cluster accept"}},
    {"a slot move is refused again and again",
     [](World& w) {
       MoveRecord move;
       move.source = "a";
       move.target = "b";
       move.slots = SlotSet({{0, 9}});
       move.error = "the target: BUSY keys of these slots are still being removed here";
       move.busy_since = w.cluster.clock.now() - Millis(61'000);
       w.cluster.records.put("moves/7", to_text(move));
     },
     {"move 7 from a to b has been refused for more than a minute: the target: BUSY"},
     {"WRONG  records", "mayfly cluster cancel 7"}},
};

// Data that is gone or may go, all nodes at once, and etcd.
const std::vector<Row> kLost = {
    {"a primary was started again, and its replica is dead",
     [](World& w) {
       w.restart(kPrimary);
       w.stop(kReplica, Code::not_found);
       w.forget(kReplica);
     },
     {"lost memory", "the shard waits for 10.0.0.3:6379"},
     {"start 10.0.0.3:6379 again"}},
    {"a shard came back empty",
     [](World& w) {
       w.node(kPrimary).came_back_empty = true;
       ShardRecord record = w.cluster.shard("a");
       record.since = w.cluster.clock.now();
       w.cluster.put_shard("a", record);
     },
     {"shard a came back empty"},
     {"WRONG  storage", "appendonlydir.not-loaded-N) or a dump that was not loaded",
      "restore a backup"}},
    {"no node of a shard keeps its data",
     [](World& w) {
       w.node(kPrimary).keeps_data = false;
       w.node(kReplica).keeps_data = false;
     },
     {"no node of shard a keeps its data"},
     {"2 of 4 answering nodes keep their data", "appendonly yes"}},
    {"the append-only files of a shard have no base yet",  // CONFIG SET appendonly yes
     [](World& w) {
       for (const int number : {kPrimary, kReplica}) {
         w.node(number).keeps_data = false;
         w.node(number).failed_rewrites = 1;
       }
     },
     {"no node of shard a keeps its data",
      "could not rewrite its append-only file, 1 time in a row"},
     {"2 of 4 answering nodes keep their data"}},
    {"a primary has as many clients as it takes",
     [](World& w) { w.stop(kPrimary, Code::full); },
     {"a  10.0.0.1:6379  takes no more clients", "8192 of 16384 slots known to be served",
      "10.0.0.1:6379 takes no more clients: "},
     {"raise maxclients", "CLIENT LIST", "serves is unknown: it takes no more clients"}},
    {"a primary is in protected mode",
     [](World& w) { w.stop(kPrimary, Code::unsupported); },
     {"a  10.0.0.1:6379  is closed from here", "10.0.0.1:6379 lets nobody in from here: "},
     {"set requirepass there, or protected-mode no"}},
    {"a script runs for long",
     [](World& w) {
       w.node(kPrimary).error =
           "BUSY Mayfly is busy running a script. You can only call SCRIPT "
           "KILL or SHUTDOWN NOSAVE.";
     },
     {"a  10.0.0.1:6379  busy", "8192 of 16384 slots served",
      "10.0.0.1:6379 runs a script or a function, and does nothing else: BUSY Mayfly"},
     {"SCRIPT KILL there, or FUNCTION KILL", "1 of 2 shards take writes"}},
    {"the user may not ask",
     [](World& w) { w.node(kPrimary).error = "NOPERM User has no permissions"; },
     {"a  10.0.0.1:6379  wants password", "does not let us in: NOPERM"},
     {"WRONG  nodes"}},
    {"nodes want a password",
     [](World& w) {
       for (const int number : {1, 2, 3, 4}) w.stop(number, Code::denied);
     },
     {"0 of 4 nodes answer", "0 of 16384 slots known to be served",
      "a  10.0.0.1:6379  wants password"},
     {"give the password: --password", "0 of 2 shards take writes", "WRONG  maps", "WRONG  clocks",
      "WRONG  storage"}},
    {"all nodes are stopped",
     [](World& w) {
       for (const int number : {1, 2, 3, 4}) {
         w.stop(number, Code::not_found);
         w.forget(number);
       }
     },
     {"0 of 4 nodes answer, 2 shards, 0 of 16384 slots served"},
     {"WRONG  nodes", "WRONG  epochs", "WRONG  maps", "WRONG  clocks", "WRONG  writes",
      "WRONG  storage"}},
    {"a member of etcd is down",
     [](World& w) { w.lose_etcd(1); },
     {"etcd 2/3", "16384 slots ok"},
     {"WRONG  etcd", "etcd-a: connection refused"}},
    {"a member of etcd is down that --etcd does not name",
     [](World& w) {
       w.lose_etcd(1);
       w.cluster.records.etcd[0].is_named = false;
       for (EtcdEndpointStatus& member : w.cluster.records.etcd) member.members = 3;
     },
     {"etcd 2/3", "etcd member etcd-a at http://etcd-a:2379: connection refused"},
     {"WRONG  etcd", "name it in --etcd with an address that is right here"}},
    {"the append-only file of a primary cannot be rewritten",
     [](World& w) { w.node(kPrimary).failed_rewrites = 3; },
     {"10.0.0.1:6379 could not rewrite its append-only file, 3 times in a row"},
     {"WRONG  storage", "then BGREWRITEAOF"}},
    {"most of etcd is down",
     [](World& w) { w.lose_etcd(2); },
     {"4 nodes, 2 shards, 16384 slots ok", "etcd 1/3", "etcd cannot be read",
      "the records shown are from one member of etcd, and may not be the latest"},
     {"WRONG  etcd", "etcd has no majority: 1 of 3 members answer", "WRONG  records"}},
};

// Odd states of nodes that answer, cut connections, and members of etcd that are unwell.
const std::vector<Row> kOdd = {
    {"a node cannot reach etcd",
     [](World& w) { w.node(kReplica).is_register_connected = false; },
     {"10.0.0.3:6379 cannot reach etcd"},
     {"WRONG  nodes"}},
    {"etcd has forgotten a node that runs",
     [](World& w) { w.forget(kReplica); },
     {"10.0.0.3:6379 runs, but etcd has forgotten it", "in sync: 10.0.0.3 (forgotten by etcd)"},
     {"can it reach etcd?"}},
    {"etcd has forgotten a primary that serves",
     [](World& w) { w.forget(kPrimary); },
     {"a  10.0.0.1:6379  serving", "10.0.0.1:6379 runs, but etcd has forgotten it"},
     {"can it reach etcd?"}},
    {"a node of another cluster",
     [](World& w) { w.node(kReplica).cluster_id = "dddd"; },
     {"10.0.0.3:6379 belongs to another cluster, dddd"},
     {"has it another cluster-etcd?"}},
    {"clocks differ",
     [](World& w) { w.node(kOther).clock_ahead = Millis(600); },
     {"the clocks of the nodes differ by 600 ms"},
     {"WRONG  clocks", "NTP"}},
    {"two serve one shard",
     [](World& w) { w.node(kReplica).is_serving = true; },
     {"10.0.0.3:6379 serves shard a, but the record names another primary"},
     {"WRONG  epochs"}},
    {"a primary has another epoch than its record",
     [](World& w) { w.node(kPrimary).epoch = 2; },
     {"10.0.0.1:6379 serves shard a with epoch 2, the record has 1"},
     {"WRONG  epochs"}},
    {"a primary misses its replicas",
     [](World& w) { w.node(kPrimary).refused_writes = "NOREPLICAS Not enough good replicas"; },
     {"8192 refuse writes", "shard a refuses writes: 10.0.0.1:6379 says NOREPLICAS"},
     {"WRONG  writes", "lower min-replicas-to-write"}},
    {"a primary lets its clients wait",
     [](World& w) { w.node(kPrimary).paused = "write"; },
     {"10.0.0.1:6379 makes its clients wait with writes (CLIENT PAUSE)"},
     {"WRONG  writes", "CLIENT UNPAUSE"}},
    {"a firewall between here and a primary",
     [](World& w) {
       w.stop(kPrimary, Code::busy);
       w.node(kReplica).hears_primary = true;
     },
     {"a  10.0.0.1:6379  no answer", "8192 of 16384 slots known to be served",
      "10.0.0.1:6379 lives, but does not answer here"},
     {"its replica hears it, so look again; is there a firewall between here and that node?",
      "whether the primary of shard a, 10.0.0.1:6379, serves is unknown"}},
    {"a node is frozen for long",
     [](World& w) {
       w.stop(kReplica, Code::busy);
       w.forget(kReplica);
     },
     {"10.0.0.3:6379 is not alive"},
     {"start 10.0.0.3:6379 again (it may be stopped: kill -CONT; or the machine is down or cut "
      "off), or remove it"}},
    {"a primary and its replica are frozen for long",
     [](World& w) {
       for (const int number : {kPrimary, kReplica}) {
         w.stop(number, Code::busy);
         w.forget(number);
       }
     },
     {"its primary 10.0.0.1:6379 is not alive; nor does a replica that could take over"},
     {"look at 10.0.0.1:6379 and 10.0.0.3:6379: stopped (kill -CONT)"}},
    {"a member of etcd has no room",
     [](World& w) { w.cluster.records.etcd[0].alarms = {"NOSPACE"}; },
     {"etcd member etcd-a: NOSPACE"},
     {"WRONG  etcd", "etcdctl alarm disarm"}},
    {"etcd has become large",
     [](World& w) { w.cluster.records.etcd[0].database_bytes = 1'900'000'000; },
     {"etcd member etcd-a has 1.8 GB"},
     {"WRONG  etcd", "defragment"}},
    {"a member of etcd is cut off from the others",
     [](World& w) { w.cluster.records.etcd[0].leader = 0; },
     {"etcd member etcd-a knows of no leader"},
     {"WRONG  etcd"}},
};

// Replicas that are not in sync, or may have other data.
const std::vector<Row> kReplicaStates = {
    {"a replica in the record has no connection",
     [](World& w) {
       w.node(kReplica).role = "following";
       w.node(kReplica).is_link_down = true;
     },
     {"10.0.0.3:6379, a replica of shard a, has had no connection to its primary, 10.0.0.1:6379, "
      "for 41 s",
      "in sync: 10.0.0.3 (no connection)"},
     {"WRONG  replicas  1 of 2 replicas are in sync",
      "can it reach 10.0.0.1:6379 (firewall, maxclients, masterauth)? its log says what fails"}},
    {"a replica that has left the record has no connection",
     [](World& w) {
       w.take_out_replica();
       w.node(kReplica).role = "outside";
       w.node(kReplica).is_link_down = true;
     },
     {"is not in sync: it has had no connection to its primary", "10.0.0.3 has no connection",
      "shard a would not survive the loss of 10.0.0.1:6379"},
     {"WRONG  replicas  1 of 2", "WRONG  records"}},
    {"the same, and no replica was asked for at init",
     [](World& w) {
       w.want_replicas(0);
       w.take_out_replica();
       w.node(kReplica).role = "outside";
       w.node(kReplica).is_link_down = true;
     },
     {"shard a would not survive the loss of 10.0.0.1:6379",
      "is not in sync: it has had no connection to its primary"},
     {"WRONG  replicas", "look at the log of its replicas"}},
    {"one that tries to take over, without a connection",
     [](World& w) {
       w.node(kReplica).role = "canvassing";
       w.node(kReplica).is_link_down = true;
     },
     {"has had no connection to its primary"},
     {"WRONG  replicas"}},
    {"a second replica that never gets in sync",
     [](World& w) { w.add_replica().role = "outside"; },
     {"10.0.0.9:6379, a replica of shard a, is not in sync: it is connected, and its primary does "
      "not count on it"},
     {"WRONG  replicas  2 of 3 replicas are in sync", "look again in some seconds"}},
    {"a second replica that copies",
     [](World& w) {
       FakeNode& added = w.add_replica();
       added.role = "outside";
       added.is_link_down = added.is_syncing = true;
     },
     {"10.0.0.9:6379, a replica of shard a, is not in sync: it copies all data of its primary"},
     {"WRONG  replicas  2 of 3", "if it begins again and again, its log and that of its primary"}},
    {"a replica loads",
     [](World& w) {
       w.take_out_replica();
       w.node(kReplica).is_loading = true;
     },
     {"is not in sync: it loads its files"},
     {"WRONG  replicas", "wait until it has loaded them"}},
    {"a stale replica",
     [](World& w) {
       w.node(kReplica).role = "following";
       w.node(kReplica).is_link_down = w.node(kReplica).refuses_reads = true;
     },
     {"for 41 s, and refuses reads (MASTERDOWN: replica-serve-stale-data is no)"},
     {"WRONG  replicas"}},
    {"a replica on which commands of its primary have failed",
     [](World& w) { w.node(kReplica).unexpected_errors = 2; },
     {"10.0.0.3:6379 may have other data than its primary: 2 commands of its primary failed there "
      "(unexpected_error_replies)"},
     {"WRONG  replicas", "its log names them"}},
};

TEST(PictureTable, ASoundClusterIsFine) {
  World world;
  EXPECT_TRUE(has(world.status(), "4 nodes, 2 shards, 16384 slots ok")) << world.said();
  EXPECT_FALSE(has(world.said(), "!")) << world.said();
  EXPECT_EQ(*world.check(), Exit::ok) << world.said();
  EXPECT_EQ(good_lines(world.said()).size(), 10u) << world.said();
}

TEST(PictureTable, ANodeOfNoShardIsNotCountedAmongItsNodes) {
  World world;
  world.cluster.start(9).is_serving = false;
  EXPECT_EQ(*world.check(), Exit::ok) << world.said();
  EXPECT_TRUE(has(world.said(), "maps      4 of 4 nodes compared with etcd")) << world.said();
}

TEST(PictureTable, NoPartIsCalledOk) {
  World world;
  world.stop(kReplica, Code::not_found);
  EXPECT_EQ(*world.check(), Exit::problems);
  EXPECT_TRUE(has(world.said(), "WRONG  maps      3 of 4 nodes compared")) << world.said();
  EXPECT_TRUE(has(world.said(), "ok     storage   3 of 3 answering nodes keep")) << world.said();
}

std::string text_of(const JsonValue& object, const char* name) {
  const JsonValue* const member = object.find(name);
  return member == nullptr ? "" : member->text;
}

// The JSON of `check` has each line of its text, and no other problem.
void expect_same_problems(const JsonValue& json, const std::string& text) {
  std::size_t problems = 0;
  for (const JsonValue& check : json.find("checks")->values) {
    EXPECT_TRUE(has(text, text_of(check, "what"))) << text;
    EXPECT_TRUE(has(text, text_of(check, "detail"))) << text;
    for (const JsonValue& problem : check.find("problems")->values) {
      const std::string line = "       " + text_of(problem, "severity") + ": ";
      const std::string advice = text_of(problem, "advice");
      EXPECT_TRUE(has(text, line + text_of(problem, "what") + "\n")) << text;
      EXPECT_TRUE(advice.empty() || has(text, "         do: " + advice + "\n")) << text;
      ++problems;
    }
  }
  std::size_t lines = 0;
  for (const char* severity : {"\n       info: ", "\n       risk: ", "\n       fault: "}) {
    for (std::size_t at = text.find(severity); at != text.npos; at = text.find(severity, at + 1)) {
      ++lines;
    }
  }
  EXPECT_EQ(problems, lines) << text;
}

// The JSON of `status` has what its picture has.
void expect_same_picture(const JsonValue& json, const std::string& text) {
  for (const JsonValue& problem : json.find("problems")->values) {
    EXPECT_TRUE(has(text, "\n  ! " + text_of(problem, "what") + "\n")) << text;
  }
  for (const JsonValue& shard : json.find("shards")->values) {
    EXPECT_TRUE(has(text, "  " + text_of(shard, "state") + " ")) << text;
  }
  const std::string served = json.find("served_slots")->text;
  const std::string writable = json.find("writable_slots")->text;
  const bool is_ok = has(text, "16384 slots ok");
  EXPECT_EQ(is_ok, served == "16384" && writable == "16384") << text;
  EXPECT_TRUE(served == "16384" || has(text, ", " + served + " of 16384 slots")) << text;
}

TEST(PictureTable, EachBadStateIsSaidWithWhatToDo) {
  std::vector<Row> rows = kStopped;
  rows.insert(rows.end(), kUnwell.begin(), kUnwell.end());
  rows.insert(rows.end(), kLost.begin(), kLost.end());
  rows.insert(rows.end(), kOdd.begin(), kOdd.end());
  rows.insert(rows.end(), kReplicaStates.begin(), kReplicaStates.end());
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    World world;
    row.happens(world);
    const std::string status = world.status();
    for (const char* part : row.status) EXPECT_TRUE(has(status, part)) << part << "\n" << status;
    EXPECT_TRUE(has(status, "\n  ! ")) << status;
    EXPECT_TRUE(has(status, "\n  what to do: mayfly cluster check\n")) << status;
    EXPECT_EQ(*world.check(), Exit::problems) << world.said();
    for (const char* part : row.check) {
      EXPECT_TRUE(has(world.said(), part)) << part << "\n" << world.said();
    }
    EXPECT_FALSE(has(world.said(), "--accept-loss")) << "a dry run comes first\n" << world.said();
    const std::string text = world.said();
    EXPECT_EQ(*world.check(true), Exit::problems);
    const auto json = read_json(world.said());
    ASSERT_TRUE(json.ok()) << world.said();
    EXPECT_FALSE(json->find("is_fine")->truth);
    expect_same_problems(*json, text);
    const auto shown = read_json(world.status(true));
    ASSERT_TRUE(shown.ok()) << world.said();
    expect_same_picture(*shown, status);
  }
}

TEST(PictureTable, WithoutAnyEtcdNothingIsKnown) {
  World world;
  world.lose_etcd(3);
  const std::string status = world.status();
  EXPECT_TRUE(has(status, "main   nodes, shards and slots: unknown")) << status;
  EXPECT_TRUE(has(status, "mayfly cluster status --node HOST:PORT")) << status;
  EXPECT_FALSE(has(status, "0 of 16384")) << status;
  const Result<Exit> exit = world.check();
  ASSERT_FALSE(exit);
  EXPECT_TRUE(has(exit.error().message, "--node HOST:PORT")) << exit.error().message;
}

TEST(PictureTable, WithoutAnyEtcdJsonHasNoNumbers) {
  World world;
  world.lose_etcd(3);
  const auto shown = read_json(world.status(true));
  ASSERT_TRUE(shown.ok()) << world.said();
  for (const char* name : {"uncovered_slots", "nodes_of_shards", "nodes_answering", "served_slots",
                           "writable_slots", "shards", "nodes", "moves"}) {
    EXPECT_TRUE(shown->find(name)->is(JsonValue::Kind::null)) << name;
  }
  EXPECT_FALSE(world.check(true));
  const auto checked = read_json(world.said());
  ASSERT_TRUE(checked.ok()) << world.said();
  EXPECT_FALSE(checked->find("is_fine")->truth);
  EXPECT_EQ(checked->find("error")->text, "etcd has no majority");
  EXPECT_EQ(checked->find("checks")->values[0].find("what")->text, "etcd");
}

// The records of nodes, while etcd is down: which processes live is not known.
TEST(PictureTable, ANodeIsAskedWithoutEtcd) {
  struct NodeRow {
    const char* name;
    std::function<void(World&)> happens;
    std::vector<const char*> status;
    std::vector<const char*> check;
    std::vector<const char*> untrue;  // in neither
  };
  const std::vector<NodeRow> rows = {
      {"all nodes are sound",
       [](World&) {},
       {"4 nodes, 2 shards, 16384 slots ok", "in sync: 10.0.0.3"},
       {"WRONG  records", "4 of 4 answer", "2 of 2 replicas"},
       {"is not alive", "down,"}},
      {"a primary is frozen",
       [](World& w) { w.stop(kPrimary, Code::busy); },
       {"a  10.0.0.1:6379  no answer", "8192 of 16384 slots known to be served",
        "its primary 10.0.0.1:6379 does not answer; no replica can take over before etcd is back"},
       {"start etcd again, or look at 10.0.0.1:6379: stopped (kill -CONT)",
        "10.0.0.1:6379 does not answer here"},
       {"is not alive", "10.0.0.1:6379  down", "takes over", "lives", "are not served",
        "no replica could"}},
      {"a primary and its replica are frozen",
       [](World& w) {
         w.stop(kPrimary, Code::busy);
         w.stop(kReplica, Code::busy);
       },
       {"10.0.0.1:6379  no answer", "in sync: 10.0.0.3 (no answer)"},
       {"look at 10.0.0.1:6379 and 10.0.0.3:6379: stopped (kill -CONT)"},
       {"is not alive", "no replica could", "would not survive"}},
      {"only its replica hears a primary",
       [](World& w) {
         w.stop(kPrimary, Code::busy);
         w.node(kReplica).hears_primary = true;
       },
       {"a  10.0.0.1:6379  no answer", "8192 of 16384 slots known to be served"},
       {"its replica hears it"},
       {"is not alive", "is not served", "take over before", "would not survive"}},
      {"a primary was killed",
       [](World& w) { w.stop(kPrimary, Code::not_found); },
       {"a  10.0.0.1:6379  down", "8192 of 16384 slots served",
        "10.0.0.1:6379 is not alive; no replica can take over before etcd is back"},
       {"start etcd again, or start 10.0.0.1:6379 again"},
       {"takes over", "etcd counts it as alive"}},
  };
  for (const NodeRow& row : rows) {
    SCOPED_TRACE(row.name);
    World world;
    world.options.node = FakeCluster::address(kOther);
    world.node(kOther).lines = world.lines();
    for (const int number : {1, 2, 3, 4}) world.node(number).cluster_id = std::string(40, 'c');
    world.node(kReplica).role = "following";
    world.lose_etcd(3);
    row.happens(world);
    const std::string status = world.status();
    for (const char* part : row.status) EXPECT_TRUE(has(status, part)) << part << "\n" << status;
    EXPECT_EQ(*world.check(), Exit::problems);
    for (const char* part : row.check) {
      EXPECT_TRUE(has(world.said(), part)) << part << "\n" << world.said();
    }
    for (const char* part : row.untrue) {
      EXPECT_FALSE(has(status + world.said(), part)) << part << "\n" << status << world.said();
    }
  }
}

TEST(PictureTable, ACacheNeedsNoFiles) {
  World world;
  for (const int number : {1, 2, 3, 4}) world.node(number).keeps_data = false;
  EXPECT_EQ(*world.check(), Exit::problems);
  EXPECT_TRUE(has(world.said(), "no node of shards a, b keeps its data")) << world.said();
  world.options.is_cache = true;
  EXPECT_EQ(*world.check(), Exit::ok) << world.said();
}

TEST(PictureTable, NoWordIsUntrue) {
  World alone;  // a failover needs a replica in sync
  alone.node(kPrimary).refused_writes = "MISCONF no";
  alone.take_out_replica();
  EXPECT_EQ(*alone.check(), Exit::problems);
  EXPECT_TRUE(has(alone.said(), "free space")) << alone.said();
  EXPECT_FALSE(has(alone.said(), "mayfly cluster failover")) << alone.said();

  World behind;  // a primary that its replica hears needs no successor
  behind.stop(kPrimary, Code::busy);
  behind.node(kReplica).hears_primary = true;
  EXPECT_EQ(*behind.check(), Exit::problems);
  for (const char* wrong : {"takes over", "kill -CONT", "does not serve"}) {
    EXPECT_FALSE(has(behind.said(), wrong)) << behind.said();
  }

  World locked;  // it may well serve
  for (const int number : {1, 2, 3, 4}) locked.stop(number, Code::denied);
  EXPECT_EQ(*locked.check(), Exit::problems);
  for (const char* wrong : {"does not serve", "are not served", "start "}) {
    EXPECT_FALSE(has(locked.said(), wrong)) << locked.said();
  }

  World forgotten;  // a primary that serves has no successor
  forgotten.forget(kPrimary);
  EXPECT_EQ(*forgotten.check(), Exit::problems);
  for (const char* wrong : {"takes over", "lost its memory", "is not alive"}) {
    EXPECT_FALSE(has(forgotten.said(), wrong)) << forgotten.said();
  }
}

TEST(PictureTable, FunctionsAreTheSameInAllShards) {
  World world;
  world.node(kPrimary).functions = "code";
  EXPECT_EQ(*world.check(), Exit::problems);
  for (const char* part : {"WRONG  functions 2 of 2 shards compared, 1 library",
                           "the function library lib is missing in shard b",
                           "FUNCTION LOAD REPLACE it at the primary of every shard"}) {
    EXPECT_TRUE(has(world.said(), part)) << world.said();
  }
  world.node(kOther).functions = "other code";
  EXPECT_EQ(*world.check(), Exit::problems);
  EXPECT_TRUE(has(world.said(), "the code of the function library lib is not the same in all"));
  world.node(kOther).functions = "code";
  EXPECT_EQ(*world.check(), Exit::ok) << world.said();
}

TEST(PictureTable, TwoVersionsAreToldAndAreFine) {
  World world;
  EXPECT_EQ(*world.check(), Exit::ok);
  EXPECT_TRUE(has(world.said(), "4 of 4 answer, version 0.1.0")) << world.said();
  world.node(kReplica).version = "0.2.0";
  EXPECT_EQ(*world.check(), Exit::ok);
  EXPECT_TRUE(has(world.said(), "nodes run versions 0.1.0 and 0.2.0")) << world.said();
}

TEST(PictureTable, OldVersionsOfEtcdAreOneLine) {
  World world;
  for (EtcdEndpointStatus& member : world.cluster.records.etcd) member.version = "3.4.23";
  EXPECT_EQ(*world.check(), Exit::ok);
  const std::string_view line = "version 3.4 or older, which gets no fixes: etcd-a, etcd-b, etcd-c";
  EXPECT_TRUE(has(world.said(), line)) << world.said();
  EXPECT_EQ(world.said().find("3.5 or later"), world.said().rfind("3.5 or later"));
}

}  // namespace
}  // namespace mayfly
