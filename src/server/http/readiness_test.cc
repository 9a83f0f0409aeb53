// SPDX-License-Identifier: Apache-2.0
// Each bad state of one server in GET /ready, the log, CLUSTER INFO and INFO, by table. `mayfly
// cluster status` and `check` are tested in src/cli/cluster/watch/picture_table_test.cc.

#include "server/http/readiness.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/cluster/cluster_nodes_fixture.h"
#include "server/monitoring/info.h"

namespace mayfly {
namespace readiness_test {

using namespace std::chrono_literals;

struct Seen {
  std::string not_ready;  // the body of /ready; empty: it is ready
  std::string log;
  std::string cluster_info;
  std::string info;
};

struct Row {
  const char* name;
  std::function<Seen()> happens;
  std::string_view not_ready;  // it begins so; empty: the server is ready
  std::string_view log;        // a line has this
  std::string_view cluster_info;
  std::string_view info;
};

class ReadinessTest : public ClusterNodesFixture {
 protected:
  Seen look(int node) {
    Seen seen;
    seen.not_ready = why_not_ready(parts(node)).value_or("");
    for (const std::string& line : (*servers_)[node].lines) seen.log += line + "\n";
    seen.cluster_info = anew(node, "CLUSTER INFO");
    seen.info = anew(node, "INFO");
    return seen;
  }
  std::string anew(int node, const std::string& line) {
    TestClient client(servers_->server(node), "127.0.0.1:9000");
    return client.run(line);
  }

  static Config with_log() {
    Config config = ClusterNodesFixture::config();
    config.appendonly = true;
    config.appendfsync = "everysec";
    return config;
  }

  Seen sound() {
    start_shard(2);
    return look(0);
  }
  Seen out_of_memory() {
    start_shard(1);
    ask(0, "CONFIG SET maxmemory 1");
    ask(0, "SET a 1");
    return look(0);
  }
  Seen full_disk() {
    start_shard(1, with_log());
    (*servers_)[0].fake_disk().set_room(0);
    ask(0, "SET a 2");
    run(1500ms);
    return look(0);
  }
  Seen few_replicas() {
    start_shard(1);
    ask(0, "CONFIG SET min-replicas-to-write 1");
    run(kStep);
    return look(0);
  }
  // The replica of a primary that does not respond.
  Seen without_primary(const char* serves_stale) {
    start_shard(2);
    ask(1, std::string("CONFIG SET replica-serve-stale-data ") + serves_stale);
    records_.is_down = true;  // it cannot take over
    servers_->set_stopped(0, true);
    servers_->cut(1);
    run(2s);
    return look(1);
  }
  Seen script() {
    start_shard(1);
    ask(0, "CONFIG SET busy-reply-threshold 1");
    Seen seen;
    (*servers_)[0].when_busy = [&] {
      if (seen.info.empty()) seen = look(0);
      anew(0, "SCRIPT KILL");
    };
    servers_->client(0).run({"EVAL", "while true do end", "0"});
    return seen;
  }
  Seen stopping() {
    start_shard(2);
    ask(0, "SET a 1");
    servers_->set_stopped(1, true);
    ask(0, "SHUTDOWN");
    return look(0);
  }
  Seen without_etcd() {
    start_shard(2);
    records_.is_down = true;
    run(6s);
    return look(0);
  }
  Seen without_promise() {
    start_shard(2);
    servers_->set_stopped(1, true);
    records_.is_down = true;
    run(4s);
    return look(0);
  }
  Seen alone() {
    start(1);
    return look(0);
  }
};

TEST_F(ReadinessTest, EachStateShowsEverywhere) {
  const std::vector<Row> rows = {
      {"sound", [&] { return sound(); }, "", "serves", "cluster_refused_writes:\\r", ""},
      {"OOM", [&] { return out_of_memory(); }, "OOM ", "maxmemory is reached",
       "cluster_refused_writes:OOM ", "maxmemory:1\\r"},
      {"MISCONF", [&] { return full_disk(); }, "MISCONF Errors writing to the AOF file",
       "Cannot write the append-only file", "cluster_refused_writes:MISCONF Errors",
       "aof_last_write_status:err"},
      {"NOREPLICAS", [&] { return few_replicas(); }, "NOREPLICAS ",
       "Writes are refused (NOREPLICAS)", "cluster_refused_writes:NOREPLICAS ",
       "min_slaves_good_slaves:0"},
      {"a stale replica", [&] { return without_primary("no"); }, "stale: the primary is not",
       "Lost the connection to the primary", "cluster_role:", "master_link_status:down"},
      {"a replica without its primary", [&] { return without_primary("yes"); }, "",
       "Lost the connection to the primary", "cluster_role:", "master_link_status:down"},
      {"busy", [&] { return script(); }, "busy: a script runs for long", "", "BUSY ", "BUSY "},
      {"stopping", [&] { return stopping(); }, "stopping: the server shuts down",
       "Shutting down: waiting", "cluster_", "shutdown_in_milliseconds:"},
      {"etcd is lost", [&] { return without_etcd(); }, "", "the records cannot be read",
       "cluster_register_state:disconnected", "cluster_register_state:disconnected"},
      {"no promise", [&] { return without_promise(); }, "cluster: this primary may not serve",
       "fenced: ", "cluster_serving:0", "cluster_serving:0"},
      {"no shard", [&] { return alone(); }, "cluster: this node belongs to no shard", "",
       "cluster_my_shard:\\r", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    records_ = FakeRecords();
    const Seen seen = row.happens();
    EXPECT_EQ(seen.not_ready.empty(), row.not_ready.empty()) << seen.not_ready;
    EXPECT_TRUE(seen.not_ready.starts_with(row.not_ready)) << seen.not_ready;
    EXPECT_NE(seen.log.find(row.log), seen.log.npos) << seen.log;
    EXPECT_NE(seen.cluster_info.find(row.cluster_info), seen.cluster_info.npos)
        << seen.cluster_info;
    EXPECT_NE(seen.info.find(row.info), seen.info.npos) << seen.info;
    servers_.reset();
  }
}

TEST_F(ReadinessTest, AServerThatLoadsIsNotReady) {
  Config config = ClusterFixture::cluster_config();
  config.appendonly = true;
  ServerFixture before(config);
  ASSERT_TRUE(before.server().parts().persistence.start());
  before.sweep();
  EXPECT_EQ(before.connect().run("SET a 1"), "OK");
  before.sweep();
  ServerFixture again(config, nullptr, &before.fake_disk());
  ASSERT_TRUE(again.server().parts().persistence.start());
  EXPECT_TRUE(why_not_ready(again.server().parts()).value_or("").starts_with("loading: "));
  EXPECT_NE(again.connect().run("INFO").find("loading:1\\r"), std::string::npos);
  again.sweep();
  EXPECT_EQ(why_not_ready(again.server().parts()), std::nullopt);
}

}  // namespace readiness_test
}  // namespace mayfly
