// SPDX-License-Identifier: Apache-2.0
// A cluster for tests of commands: records in a map, nodes that answer from what the test says, and
// a person who says yes or no. Time passes only while somebody waits.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/cluster/session/cluster_session.h"
#include "cluster/plan/placement.h"

namespace mayfly {

class FakeClusterRecords final : public ClusterRecords {
 public:
  explicit FakeClusterRecords(ManualClock& clock) : clock_(clock) {}

  Result<RegisterSnapshot> read() override {
    if (is_down()) return Error{Code::io, "etcd cannot be reached"};
    if (!error.empty()) return Error{Code::io, error};
    RegisterSnapshot snapshot;
    snapshot.version = version;
    snapshot.id = id;
    for (const auto& [key, entry] : entries) snapshot.entries.push_back(entry);
    return snapshot;
  }

  Result<RegisterSnapshot> read_one() override {
    if (!has_one_member) return Error{Code::io, "no member of etcd answers"};
    RegisterSnapshot snapshot;
    snapshot.version = version;
    for (const auto& [key, entry] : entries) snapshot.entries.push_back(entry);
    return snapshot;
  }

  CommitAnswer commit(const RegisterCommit& commit) override {
    ++commits;
    most_puts = std::max(most_puts, commit.puts.size());
    if (before_commit) std::exchange(before_commit, nullptr)();
    if (loses_request || is_down()) return {CommitOutcome::unknown, 0, {}, "no answer"};
    CommitAnswer answer = done(commit);
    if (std::exchange(loses_answer, false)) {
      if (after_loss) after_loss();
      return {CommitOutcome::unknown, 0, {}, "no answer"};
    }
    return answer;
  }

  void wait_change(Millis timeout) override {
    clock_.advance(timeout);
    if (on_wait) on_wait();
  }

  Result<std::vector<EtcdEndpointStatus>> members() override { return etcd; }

  void put(const std::string& key, const std::string& text) {
    entries[key] = {key, text, ++version};
  }
  void erase(const std::string& key) {
    entries.erase(key);
    ++version;
  }
  bool has(const std::string& key) const { return entries.contains(key); }
  ClusterView view() { return *ClusterView::parse(*read()); }

  std::map<std::string, RegisterEntry> entries;
  std::uint64_t version = 0;
  std::uint64_t id = 1;  // etcd's cluster id
  int commits = 0;
  std::size_t most_puts = 0;
  std::string error;                    // why it cannot be read
  bool has_one_member = false;          // then
  bool loses_request = false;           // all commits
  bool loses_answer = false;            // of the next commit
  Time down_until{};                    // nothing is heard before
  std::function<void()> before_commit;  // once
  std::function<void()> after_loss;     // of an answer
  std::function<void()> on_wait;        // nodes do their part
  std::vector<EtcdEndpointStatus> etcd;

 private:
  bool is_down() const { return clock_.now() < down_until; }

  CommitAnswer done(const RegisterCommit& commit) {
    CommitAnswer answer;
    answer.outcome = CommitOutcome::done;
    for (const auto& [key, wanted] : commit.compares) {
      const auto found = entries.find(key);
      const std::uint64_t has = found == entries.end() ? 0 : found->second.version;
      if (has != wanted) answer.outcome = CommitOutcome::refused;
      answer.current.push_back(found == entries.end() ? RegisterEntry{key, std::nullopt, 0}
                                                      : found->second);
    }
    if (answer.outcome == CommitOutcome::refused) return answer;
    answer.current.clear();
    answer.version = ++version;
    for (const auto& [key, value] : commit.puts) {
      if (value) {
        entries[key] = {key, value, version};
      } else {
        entries.erase(key);
      }
    }
    return answer;
  }

  ManualClock& clock_;
};

struct FakeNode {
  std::string id;
  std::string incarnation = std::string(16, 'a');
  std::string name = "main";
  std::string shard;
  bool is_serving = true;
  std::uint64_t epoch = 1;
  std::uint64_t keys = 0;
  std::uint64_t lag = 0;  // of all its replicas
  std::uint64_t followed_offset = 0;
  Millis clock_ahead{0};
  Millis clock_floor{0};
  std::int64_t max_clock_difference = 500;  // ms
  bool is_up = true;
  Code fault = Code::io;  // of a call, if it is not up
  std::string refused_writes;
  std::string refused_register;  // why etcd is not usable; empty: it is
  bool keeps_data = true;
  bool came_back_empty = false;
  std::uint64_t disk_free = std::uint64_t{50} << 30;
  std::uint64_t max_memory = 0;
  bool evicts = false;
  bool is_log_good = true;
  bool is_register_connected = true;
  std::string cluster_id;
  std::string version = "0.1.0";
  std::string paused;          // by CLIENT PAUSE: "write"
  bool hears_primary = false;  // it is a replica, and its primary has sent something just now
  bool is_loading = false;
  bool is_plain = false;  // not in cluster mode
  ReplyValue slots;       // of CLUSTER SLOTS
  std::string lines;      // of CLUSTER NODES
  std::string functions;  // of FUNCTION DUMP: one library; empty: none
  bool takes_functions = true;
  std::string role;            // of CLUSTER INFO; empty: "leading", or "following" if it hears one
  bool is_link_down = false;   // a replica without a connection to its primary
  bool is_syncing = false;     // it copies all data
  bool refuses_reads = false;  // with MASTERDOWN
  std::string error;           // the reply to all requests
  std::uint64_t failed_rewrites = 0;
  std::uint64_t unexpected_errors = 0;
};

class FakeNodes final : public ClusterNodes {
 public:
  explicit FakeNodes(const ManualClock& clock) : clock_(clock) {}

  Result<std::vector<ReplyValue>> call(const NodeAddress& node,
                                       const std::vector<Request>& requests, Millis) override {
    const std::lock_guard lock(mutex_);
    const auto found = nodes.find(node.text());
    if (found == nodes.end()) return Error{Code::not_found, "no server at " + node.text()};
    if (!found->second.is_up) return Error{found->second.fault, "no server at " + node.text()};
    std::vector<ReplyValue> replies;
    for (const Request& request : requests) {
      const std::string words = fmt::format("{}", fmt::join(request, " "));
      calls.push_back(node.text() + " " + words);
      replies.push_back(answer(found->second, words));
    }
    return replies;
  }

  std::map<std::string, FakeNode> nodes;  // by address
  std::vector<std::string> calls;
  std::function<void(const std::string& node)> on_failover;

 private:
  static ReplyValue text(ReplyValue::Kind kind, std::string value) {
    ReplyValue reply;
    reply.kind = kind;
    reply.text = std::move(value);
    return reply;
  }
  static ReplyValue integer(std::uint64_t value) {
    ReplyValue reply;
    reply.kind = ReplyValue::Kind::integer;
    reply.integer = static_cast<std::int64_t>(value);
    return reply;
  }

  static bool is_replica(const FakeNode& node) {
    return node.followed_offset > 0 || node.hears_primary || node.is_link_down;
  }

  ReplyValue answer(const FakeNode& node, const std::string& words) const {
    using Kind = ReplyValue::Kind;
    if (!node.error.empty()) return text(Kind::error, node.error);
    if (words == "PING") return text(Kind::simple, "PONG");
    const bool reads = words == "DBSIZE";
    if (reads) return node.refuses_reads ? text(Kind::error, "MASTERDOWN ...") : integer(node.keys);
    if (words == "INFO") {
      return text(
          Kind::bulk,
          fmt::format("used_memory:1048576\r\nloading:{}\r\nrole:{}\r\n"
                      "slave_repl_offset:{}\r\nmaxmemory:{}\r\nmaxmemory_policy:{}\r\n"
                      "aof_last_write_status:{}\r\nmayfly_version:{}\r\npaused_reason:{}\r\n"
                      "paused_actions:{}\r\nmaster_link_status:{}\r\n",
                      node.is_loading ? 1 : 0, is_replica(node) ? "slave" : "master",
                      node.followed_offset, node.max_memory,
                      node.evicts ? "allkeys-lru" : "noeviction", node.is_log_good ? "ok" : "err",
                      node.version, node.paused.empty() ? "none" : "client_pause",
                      node.paused.empty() ? "none" : node.paused,
                      node.is_link_down    ? "down"
                      : node.hears_primary ? "up"
                                           : "") +
              fmt::format("master_link_down_since_seconds:{}\r\nmaster_sync_in_progress:{}\r\n"
                          "aof_enabled:{}\r\naof_last_bgrewrite_status:{}\r\n"
                          "aof_rewrites_consecutive_failures:{}\r\n"
                          "unexpected_error_replies:{}\r\n",
                          node.is_link_down ? 41 : 0, node.is_syncing ? 1 : 0,
                          node.failed_rewrites > 0 ? 1 : 0, node.failed_rewrites > 0 ? "err" : "ok",
                          node.failed_rewrites, node.unexpected_errors));
    }
    if (words == "TIME") {
      const auto ms = (clock_.now() + node.clock_ahead).time_since_epoch().count();
      ReplyValue reply;
      reply.kind = Kind::array;
      reply.items = {text(Kind::bulk, std::to_string(ms / 1000)),
                     text(Kind::bulk, std::to_string(ms % 1000 * 1000))};
      return reply;
    }
    if (words.starts_with("FUNCTION LIST")) {
      ReplyValue reply;
      reply.kind = Kind::array;
      if (node.functions.empty()) return reply;
      ReplyValue& library = reply.items.emplace_back();
      for (const std::string& word :
           {"library_name", "lib", "library_code", node.functions.c_str()})
        library.items.push_back(text(Kind::bulk, word));
      return reply;
    }
    if (words == "FUNCTION DUMP") return text(Kind::bulk, node.functions);
    if (words.starts_with("FUNCTION RESTORE")) {
      return node.takes_functions ? text(Kind::simple, "OK") : text(Kind::error, "ERR too old");
    }
    if (node.is_plain && words.starts_with("CLUSTER")) {
      return text(Kind::error, "ERR This instance has cluster support disabled");
    }
    if (words == "CLUSTER INFO") return text(Kind::bulk, info(node));
    if (words == "CLUSTER SLOTS") return node.slots;
    if (words == "CLUSTER NODES") return text(Kind::bulk, node.lines);
    if (words.starts_with("CLUSTER COUNTKEYSINSLOT")) {
      return integer(words.ends_with(" 0") ? 100 : 0);
    }
    if (words == "CLUSTER FAILOVER") {
      if (on_failover) on_failover(node.id);
      return text(Kind::simple, "OK");
    }
    return text(Kind::error, "ERR unknown command");
  }

  std::string info(const FakeNode& node) const {
    std::string lines = fmt::format(
        "cluster_name:{}\r\ncluster_my_id:{}\r\ncluster_my_incarnation:{}\r\ncluster_my_shard:{}"
        "\r\ncluster_role:{}\r\ncluster_serving:{}\r\ncluster_epoch:{}\r\n"
        "cluster_clock_floor_ms:{}\r\ncluster_max_clock_difference_ms:{}\r\n",
        node.name, node.id, node.incarnation, node.shard,
        !node.role.empty()   ? node.role
        : node.hears_primary ? "following"
                             : "leading",
        node.is_serving ? 1 : 0, node.epoch, node.clock_floor.count(), node.max_clock_difference);
    lines += fmt::format(
        "cluster_refused_writes:{}\r\ncluster_keeps_data:{}\r\ncluster_came_back_empty:{}\r\n"
        "cluster_disk_free_bytes:{}\r\ncluster_disk_bytes:107374182400\r\n",
        node.refused_writes, node.keeps_data ? 1 : 0, node.came_back_empty ? 1 : 0, node.disk_free);
    lines += fmt::format("cluster_register_state:{}\r\ncluster_id:{}\r\n",
                         !node.refused_register.empty() ? "unusable"
                         : node.is_register_connected   ? "connected"
                                                        : "disconnected",
                         node.cluster_id);
    if (!node.refused_register.empty()) {
      lines += "cluster_register_error:" + node.refused_register + "\r\n";
    }
    for (const auto& [address, other] : nodes) {
      if (other.id == node.id || other.shard != node.shard) continue;
      const bool is_wrong = std::chrono::abs(other.clock_ahead) > Millis(500);
      lines += fmt::format("cluster_member_{}:in_record=1,lag={},clock_difference_ms={}{}\r\n",
                           other.id, node.lag, is_wrong ? other.clock_ahead.count() : 3,
                           is_wrong ? ",refused=clock" : "");
    }
    return lines;
  }

  const ManualClock& clock_;
  std::mutex mutex_;
};

class FakeTalk final : public ClusterTalk {
 public:
  void print(std::string_view text) override { out += text; }
  void note(std::string_view line) override { notes.append(line).append("\n"); }
  bool confirm(std::string_view question) override {
    questions.emplace_back(question);
    return says_yes;
  }
  void progress(double, std::string_view) override {}
  bool is_stopped() override { return is_interrupted; }
  void show(const std::vector<std::string>& lines) override {
    out += fmt::format("{}\n", fmt::join(lines, "\n"));
  }
  bool pause(Millis) override { return false; }
  bool has_colours() override { return false; }

  std::string out;
  std::string notes;
  std::vector<std::string> questions;
  bool says_yes = true;
  bool is_interrupted = false;
};

// All of it, and nodes that have registered themselves at 10.0.0.N:6379.
class FakeCluster {
 public:
  static std::string id(int node) { return fmt::format("{:040}", node); }
  static std::string address(int node) { return fmt::format("10.0.0.{}:6379", node); }

  // Starts node N: its records, as it writes them itself, and its answers.
  FakeNode& start(int node, const std::string& zone = "") {
    NodeRecord record;
    record.host = fmt::format("10.0.0.{}", node);
    record.port = 6379;
    record.zone = zone;
    records.put(node_key(id(node)), to_text(record));
    FakeNode& made = nodes.nodes[address(node)];
    made.id = id(node);
    announce(node);
    return made;
  }
  void announce(int node, std::uint64_t epoch = 0, std::uint64_t offset = 0,
                std::uint64_t held = 0) {
    LiveRecord live;
    live.incarnation = nodes.nodes[address(node)].incarnation;
    live.version = "0.1.0";
    live.role = "none";
    live.epoch = epoch;
    live.offset = offset;
    live.held = held;
    records.put(live_key(id(node)), to_text(live));
  }

  // Shards a, b, c ... led by nodes 1, 2, 3 ..., each with a replica, node + shards, in sync.
  void make(int shards, bool has_replicas = true) {
    for (int i = 1; i <= shards; ++i) {
      const std::string shard = shard_name(static_cast<std::size_t>(i) - 1);
      start(i).shard = shard;
      join(i, shard);
      ShardRecord record;
      record.epoch = 1;
      record.primary = {id(i), nodes.nodes[address(i)].incarnation};
      record.slots = even_slots(static_cast<std::size_t>(i) - 1, static_cast<std::size_t>(shards));
      if (has_replicas) {
        FakeNode& replica = start(i + shards);
        replica.shard = shard;
        replica.is_serving = false;
        join(i + shards, shard);
        record.insync = {{replica.id, replica.incarnation}};
      }
      records.put(shard_key(shard), to_text(record));
    }
    ClusterRecord config;
    config.id = std::string(40, 'c');
    config.replicas = has_replicas ? 1 : 0;
    records.put("config", to_text(config));
  }
  void join(int node, const std::string& shard) {
    NodeRecord record = *records.view().node(id(node));
    record.shard = shard;
    record.state = NodeState::in;
    records.put(node_key(id(node)), to_text(record));
  }
  void put_shard(const std::string& shard, const ShardRecord& record) {
    records.put(shard_key(shard), to_text(record));
  }
  ShardRecord shard(const std::string& shard) { return records.view().shard(shard)->record; }

  ManualClock clock{Time(Millis(1'794'784'355'000))};
  FakeClusterRecords records{clock};
  FakeNodes nodes{clock};
  FakeTalk talk;
  ClusterSession session{records, nodes, talk, clock};
};

}  // namespace mayfly
