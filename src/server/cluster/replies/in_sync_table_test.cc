// SPDX-License-Identifier: Apache-2.0
// `cluster-replies in-sync`, by table: every command, by itself, in MULTI, in scripts and in
// functions, while the in-sync replica has stopped. Its reply is held if and only if it depends on
// a write that the replica does not have. What it writes is such a write for other clients.

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "commands/words.h"
#include "server/cluster/cluster_nodes_fixture.h"
#include "server/cluster/replies/in_sync_rows.h"

namespace mayfly {
namespace in_sync_table_test {

using namespace std::chrono_literals;

// The rest of the rows: see in_sync_rows.h.
constexpr std::string_view kOtherCommands = R"(
r SET $k v => CLUSTER COUNTKEYSINSLOT $slot
r SET $k v => CLUSTER GETKEYSINSLOT $slot 9
a SET $k v => DBSIZE
a SET $k v => KEYS *
a SET $k v => RANDOMKEY
a SET $k v => SCAN 0
a SET $k v EX 100 => EXPIRESCAN 0 FROM 0 TO 9999999999
a SET $k v EX 100 => TTLSTATS
a SET $k v => DEBUG DIGEST
a SET $k v => DEBUG DIGEST-VALUE $k
a SET $k v => DEBUG OBJECT $k
a RPUSH $k v => DEBUG LISTPACK $k
a SET $k v => DEBUG HTSTATS 0
a! HSET $k m v => DEBUG HTSTATS-KEY $k
a! RPUSH $k v => DEBUG QUICKLIST $k
n SET $k v => DEBUG SLEEP 0
A SET $k v => FLUSHALL
A SET $k v => FLUSHDB

r SET $k v => EVAL return(redis.call('GET','$k')) 0
r SET $k v => EVAL return(redis.call('GET',KEYS[1])) 1 $k
w => EVAL return(redis.call('SET','$k','v')) 0
w => EVAL return(redis.pcall('SET','$k','v')) 1 $j
a SET $k v => EVAL return(redis.call('DBSIZE')) 0
A SET $k v => EVAL return(redis.call('FLUSHALL')) 0
n SET $k v => EVAL return(1) 1 $k
n SET $k v => EVAL return(redis.call('PING')) 0
r SET $k v => EVAL_RO return(redis.call('GET','$k')) 0
a SET $k v => EVAL_RO return(redis.call('KEYS','*')) 1 $k
r SET $k v; SCRIPT LOAD $script => EVALSHA $sha 0
r SET $k v; SCRIPT LOAD $script => EVALSHA_RO $sha 0
r SET $k v => FCALL call 0 GET $k
w => FCALL call 1 $j SET $k v
a => FCALL call 0 DBSIZE
f => FCALL call 0 PING
f! => FCALL nosuch 0
r SET $k v => FCALL_RO look 0 GET $k
F => FUNCTION DELETE base
f => FUNCTION DUMP
F => FUNCTION FLUSH
n => FUNCTION HELP
n! => FUNCTION KILL
f => FUNCTION LIST
F => FUNCTION LOAD $lib
f! FUNCTION LOAD $lib => FUNCTION LOAD $lib
F => FUNCTION RESTORE $functions REPLACE
f => FUNCTION STATS
n => SCRIPT DEBUG NO
n => SCRIPT EXISTS $sha
n => SCRIPT FLUSH
n => SCRIPT HELP
n! => SCRIPT KILL
n => SCRIPT LOAD $script
n SCRIPT LOAD $script => SCRIPT SHOW $sha

n! => ACL CAT
n! => ACL DELUSER nosuch
n! => ACL DRYRUN default PING
n! => ACL GENPASS
n! => ACL GETUSER default
n! => ACL HELP
n! => ACL LIST
n! => ACL LOAD
n! => ACL LOG
n! => ACL SAVE
n! => ACL SETUSER default on
n! => ACL USERS
n! => ACL WHOAMI
n => ASKING
n! => AUTH password
n! => BGREWRITEAOF
n! => BGSAVE
n! => CLIENT CACHING YES
n => CLIENT CAPA redirect
n => CLIENT GETNAME
n => CLIENT GETREDIR
n => CLIENT HELP
n => CLIENT ID
n! => CLIENT IMPORT-SOURCE ON
n => CLIENT INFO
n => CLIENT KILL ID 999999
n => CLIENT LIST
n => CLIENT NO-EVICT OFF
n => CLIENT NO-TOUCH OFF
n => CLIENT PAUSE 0
n => CLIENT REPLY ON
n => CLIENT SETINFO LIB-NAME x
n => CLIENT SETNAME x
n => CLIENT TRACKING OFF
n => CLIENT TRACKINGINFO
n => CLIENT UNBLOCK 999999
n => CLIENT UNPAUSE
n => CLUSTER BUMPEPOCH
n => CLUSTER COUNT-FAILURE-REPORTS $node
n! => CLUSTER DELSLOTS 1
n! => CLUSTER DELSLOTSRANGE 1 2
n! => CLUSTER FLUSHSLOTS
n => CLUSTER GETSLOTMIGRATIONS
n => CLUSTER HELP
n => CLUSTER INFO
n => CLUSTER KEYSLOT $k
n => CLUSTER LINKS
n => CLUSTER MYID
n => CLUSTER MYSHARDID
n => CLUSTER NODES
n => CLUSTER PUBLISH c m
n => CLUSTER REPLICAS $node
n => CLUSTER SAVECONFIG
n => CLUSTER SET-CONFIG-EPOCH 1
n! => CLUSTER SETSLOT 1 STABLE
n => CLUSTER SHARDS
n => CLUSTER SLAVES $node
n => CLUSTER SLOTS
n => COMMANDLOG GET 1 slow
n => COMMANDLOG HELP
n => COMMANDLOG LEN slow
n => COMMANDLOG RESET slow
n => COMMAND COUNT
n => COMMAND DOCS get
n => COMMAND GETKEYS GET $k
n => COMMAND GETKEYSANDFLAGS GET $k
n => COMMAND HELP
n => COMMAND INFO get
n => COMMAND LIST
n => CONFIG GET save
n => CONFIG HELP
n => CONFIG RESETSTAT
n! => CONFIG REWRITE
n => CONFIG SET slowlog-max-len 128
n => ECHO x
n => HELLO 2
n SET $k v => INFO
n => LASTSAVE
n => LATENCY DOCTOR
n! => LATENCY GRAPH command
n => LATENCY HELP
n => LATENCY HISTOGRAM
n => LATENCY HISTORY command
n => LATENCY LATEST
n => LATENCY RESET
n => LOLWUT
n => MEMORY DOCTOR
n => MEMORY HELP
n => MEMORY MALLOC-STATS
n => MEMORY PURGE
n => MEMORY STATS
n => MODULE HELP
n => MODULE LIST
n => MONITOR
n => OBJECT HELP
n => PFSELFTEST
n => PING
n => PSUBSCRIBE p
n => PUBLISH c m
n => PUBSUB CHANNELS
n => PUBSUB HELP
n => PUBSUB NUMPAT
n => PUBSUB NUMSUB c
n => PUBSUB SHARDCHANNELS
n => PUBSUB SHARDNUMSUB c
n => PUNSUBSCRIBE
n => QUIT
n => READONLY
n => READWRITE
n => REPLCONF listening-port 1
n => RESET
n => ROLE
n! => SAVE
n => SELECT 0
n => SLOWLOG GET
n => SLOWLOG HELP
n => SLOWLOG LEN
n => SLOWLOG RESET
n => SPUBLISH $k m
n => SSUBSCRIBE $k
n => SUBSCRIBE c
n => SUNSUBSCRIBE
n => TIME
n! => TTLPOLICY DEL nosuch
n! => TTLPOLICY GET nosuch
n => TTLPOLICY HELP
n => TTLPOLICY LIST
n! => TTLPOLICY SET cache: MAX 100
n => UNSUBSCRIBE
n => UNWATCH
n => WAIT 0 0
n! => WAITAOF 0 0 0
n SET $k v => WATCH $k
n => XGROUP HELP
n => XINFO HELP

x => FAILOVER
x => MOVE $k 1
x => REPLICAOF NO ONE
x => SLAVEOF NO ONE
x => SWAPDB 0 1

- debug|change-repl-id  tells of no key
- debug|client-enforce-reply-list  tells of no key
- debug|config-rewrite-force-all  tells of no key
- debug|dict-resizing  tells of no key
- debug|error  tells of no key
- debug|loadaof  replaces the data of this server alone
- debug|log  tells of no key
- debug|pause-cron  tells of no key
- debug|populate  writes at this server alone
- debug|protocol  tells of no key
- debug|quicklist-packed-threshold  tells of no key
- debug|reload  replaces the data of this server alone
- debug|set-active-expire  tells of no key
- debug|set-disable-deny-scripts  tells of no key
- debug|set-skip-checksum-validation  tells of no key
- debug|stringmatch-len  tells of no key
- debug|help  tells of no key

- cluster|addslots  is answered when etcd has answered
- cluster|addslotsrange  is answered when etcd has answered
- cluster|cancelslotmigrations  is answered when etcd has answered
- cluster|failover  is answered when etcd has answered
- cluster|forget  is answered when etcd has answered
- cluster|meet  is answered when etcd has answered
- cluster|migrateslots  is answered when etcd has answered
- cluster|replicate  is answered when etcd has answered
- cluster|reset  is answered when etcd has answered; held_replies_test.cc has its refusal
- cluster|canvass  is a message between nodes, and tells of no key
- cluster|handover  is a message between nodes, and tells of no key
- cluster|import  is a message between nodes; such a connection gets no replies
- cluster|pulse  is a message between nodes, and tells of no key
- discard  ends a transaction without running it
- exec  is how each of the others is run
- multi  is how each of the others is run
- psync  makes the connection a replica
- sync  makes the connection a replica
- shutdown  ends the process
- xexpired  is sent by primaries only
)";

using Request = std::vector<std::string>;

struct Row {
  char kind = ' ';
  bool is_error = false;
  std::vector<Request> setup;
  Request request;
  std::string line;
};

Request words_of(const std::string& text) {
  std::istringstream in(text);
  Request words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Row parse(const std::string& line) {
  Row row{.kind = line[0], .is_error = line[1] == '!', .setup = {}, .request = {}, .line = line};
  const std::size_t begin = line.find(' ');
  std::size_t at = line.find("=> ");
  row.request = words_of(line.substr(at + 3));
  while (begin < at) {
    const std::size_t from = line.rfind(';', at - 1);
    const bool is_first = from == line.npos || from < begin;
    const std::size_t start = is_first ? begin : from + 1;
    const Request words = words_of(line.substr(start, at - start));
    if (!words.empty()) row.setup.insert(row.setup.begin(), words);
    if (is_first) break;
    at = from;
  }
  return row;
}

std::vector<std::string> lines_of(char kind, bool is_kind) {
  std::istringstream in{std::string(kCommandsWithKeys) + std::string(kOtherCommands)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && (line[0] == kind) == is_kind) lines.push_back(line);
  }
  return lines;
}

enum class Way { plain, multi, script, read_script, function, read_function };
constexpr std::string_view kWays[] = {"plain", "MULTI", "a script", "EVAL_RO", "FCALL", "FCALL_RO"};
bool is_function(Way way) { return way == Way::function || way == Way::read_function; }
bool is_script(Way way) { return way != Way::plain && way != Way::multi; }

// The writes before the request that are not safe.
enum class Unsafe { nothing, same_slot, other_slot, everything, functions, all_of_it };
constexpr std::string_view kUnsafe[] = {"nothing",    "its slot",  "another slot",
                                        "everything", "functions", "everything and functions"};

class InSyncTableTest : public ClusterNodesFixture {
 protected:
  void SetUp() override {
    Config with = config();
    with.cluster_replies = "in-sync";
    start_shard(2, with);
    names_ = {{"$k", "{a}k"},
              {"$j", "{a}j"},
              {"$slot", std::to_string(hash_slot("a"))},
              {"$script", "return(redis.call('GET','{a}k'))"},
              {"$lib", library("sample", "redis.register_function('f', function() end)")},
              {"$node", id(0)}};
    writer_ = std::make_unique<TestClient>(servers_->server(0), "127.0.0.1:5001");
    write({"SET", "v", "v"});
    write({"FUNCTION", "LOAD", library("base", kBase)});
    names_["$dump"] = bulk("*2\r\n$4\r\nDUMP\r\n$1\r\nv\r\n");
    names_["$functions"] = bulk("*2\r\n$8\r\nFUNCTION\r\n$4\r\nDUMP\r\n");
    names_["$sha"] =
        bulk("*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$32\r\n" + names_["$script"] + "\r\n");
  }

  static constexpr char kBase[] =
      "local function call(keys, args) return redis.call(unpack(args)) end\n"
      "redis.register_function('call', call)\n"
      "redis.register_function{function_name='look', callback=call, flags={'no-writes'}}";
  static std::string library(const std::string& name, const std::string& code) {
    return "#!lua name=" + name + "\n" + code;
  }

  void write(const Request& words) { writer_->run(words); }

  // All that was written is safe now.
  void settle() {
    const auto log_end = [this] { return parts(0).replication.stream().log().end(); };
    for (int i = 0; i < 100; ++i) {
      run(kStep);
      const ShardMachine& machine = *parts(0).cluster.node().machine();
      if (machine.safe_offset() == log_end() && parts(0).cluster.held().clients() == 0) return;
    }
    FAIL() << "the replica does not get everything";
  }

  std::string bulk(const std::string& bytes) {
    settle();
    writer_->messages();
    const std::string reply = writer_->send(bytes);
    const std::size_t begin = reply.find("\r\n") + 2;
    return reply.substr(begin, reply.size() - begin - 2);
  }

  Request filled(Request words) const {
    for (std::string& word : words) {
      for (const auto& [name, value] : names_) {
        for (std::size_t at = 0; (at = word.find(name, at)) != word.npos; at += value.size()) {
          const std::size_t end = at + name.size();
          if (end < word.size() && std::isalpha(static_cast<unsigned char>(word[end])) != 0) break;
          word.replace(at, name.size(), value);
        }
      }
    }
    return words;
  }

  const Command& command_of(const Row& row) {
    const std::vector<std::string_view> words(row.request.begin(), row.request.end());
    const Command* const found = parts(0).commands.find(words[0]);
    const Command* const command =
        found == nullptr ? nullptr : parts(0).commands.resolve(*found, words);
    if (command == nullptr) throw std::logic_error("no such command: " + row.line);
    return *command;
  }

  void write_unsafe(Unsafe unsafe) {
    if (unsafe == Unsafe::same_slot || unsafe == Unsafe::all_of_it) write({"SET", "{a}x", "1"});
    if (unsafe == Unsafe::other_slot) write({"SET", "{b}x", "1"});
    if (unsafe == Unsafe::everything || unsafe == Unsafe::all_of_it) write({"FLUSHALL"});
    if (unsafe == Unsafe::functions || unsafe == Unsafe::all_of_it) {
      write({"FUNCTION", "LOAD", "REPLACE", library("base", kBase)});
    }
  }

  static bool is_held(char kind, bool uses_functions, Unsafe unsafe) {
    const bool all = unsafe == Unsafe::all_of_it;
    if (kind == 'w' || kind == 'A' || kind == 'F') return true;
    if (uses_functions && (unsafe == Unsafe::functions || all)) return true;
    const bool everything = unsafe == Unsafe::everything || all;
    if (kind == 'r') return unsafe == Unsafe::same_slot || everything;
    if (kind == 'a') {
      return unsafe == Unsafe::same_slot || unsafe == Unsafe::other_slot || everything;
    }
    return false;
  }

  static std::string ask(TestClient& client, Way way, const Request& words) {
    Request request;
    if (way == Way::multi) {
      client.run("MULTI");
      client.run(words);
      return client.run("EXEC");
    }
    if (way == Way::script) request = {"EVAL", "return redis.call(unpack(ARGV))", "0"};
    if (way == Way::read_script) request = {"EVAL_RO", "return redis.call(unpack(ARGV))", "0"};
    if (way == Way::function) request = {"FCALL", "call", "0"};
    if (way == Way::read_function) request = {"FCALL_RO", "look", "0"};
    request.insert(request.end(), words.begin(), words.end());
    return client.run(request);
  }

  // The table of commands has only one row for DEBUG.
  std::set<std::string> debug_subcommands() {
    std::set<std::string> names;
    std::istringstream help(writer_->send("*2\r\n$5\r\nDEBUG\r\n$4\r\nHELP\r\n"));
    for (std::string line; std::getline(help, line, '\n');) {
      const bool is_name = line.size() > 1 && line[0] == '+' && line[1] != ' ';
      const std::string name = is_name ? words_of(line.substr(1))[0] : "";
      if (is_name && name != "DEBUG") names.insert("debug|" + lowered(name));
    }
    EXPECT_GT(names.size(), 20U);
    return names;
  }

  // Whether the command may not be called in this way: an error.
  static bool is_barred(const Command& command, Way way) {
    const bool is_read = way == Way::read_script || way == Way::read_function;
    const std::uint64_t writes = flag::write | flag::may_replicate;
    return (is_script(way) && (command.flags & flag::noscript) != 0) ||
           (way == Way::multi && (command.flags & flag::no_multi) != 0) ||
           (is_read && (command.flags & writes) != 0);
  }

  bool is_held_for_others(const Request& words) {
    TestClient other(servers_->server(0), "127.0.0.1:5004");
    return other.run(words).empty();
  }

  // Other clients see what a command of this kind has written, and nothing else is unsafe. The
  // blocked one has waited for a key of its slot since before.
  void check_readers(char kind, TestClient& blocked) {
    const bool is_all = kind == 'A';
    const bool is_slot = kind == 'w' || is_all;
    EXPECT_EQ(is_held_for_others({"GET", "{a}k"}), is_slot);
    EXPECT_EQ(is_held_for_others({"EVAL", "return redis.call('EXISTS', '{a}j')", "0"}), is_slot);
    EXPECT_EQ(is_held_for_others({"GET", "{b}k"}), is_all);
    EXPECT_EQ(is_held_for_others({"DBSIZE"}), is_slot);
    EXPECT_EQ(is_held_for_others({"FUNCTION", "LIST"}), kind == 'F');
    EXPECT_EQ(is_held_for_others({"FCALL", "nosuch", "0"}), kind == 'F');
    run(60ms);
    EXPECT_FALSE(blocked.client().is_blocked());
    EXPECT_EQ(blocked.messages().empty(), is_slot) << "its time is over";
  }

  void check(const Row& row, Way way, Unsafe unsafe) {
    SCOPED_TRACE(row.line + " | " + std::string(kWays[static_cast<int>(way)]) +
                 " | unsafe: " + std::string(kUnsafe[static_cast<int>(unsafe)]));
    const Command& command = command_of(row);
    ++checked_;
    write({"FLUSHALL"});
    write({"FUNCTION", "FLUSH"});
    write({"FUNCTION", "LOAD", library("base", kBase)});
    for (const Request& setup : row.setup) write(filled(setup));
    settle();
    const std::string setup = writer_->messages();
    ASSERT_EQ(setup.find("(error)"), setup.npos) << setup;

    servers_->set_stopped(1, true);
    write_unsafe(unsafe);
    TestClient blocked(servers_->server(0), "127.0.0.1:5003");
    blocked.run("XREAD BLOCK 50 STREAMS {a}nothing 0");
    TestClient client(servers_->server(0), "127.0.0.1:5002");
    std::string reply = ask(client, way, filled(row.request));
    const bool calls = row.request[0].starts_with("FCALL") || row.kind == 'f';
    const bool barred = is_barred(command, way);
    const char kind = barred ? 'n' : row.kind;
    const bool uses_functions = is_function(way) || (calls && !barred);
    const bool is_missing = reply.empty() && client.is_connected();
    EXPECT_EQ(is_missing, is_held(kind, uses_functions, unsafe)) << reply;
    if (unsafe == Unsafe::nothing) check_readers(kind, blocked);

    servers_->set_stopped(1, false);
    settle();
    if (unsafe == Unsafe::everything || unsafe == Unsafe::all_of_it) return;
    if (reply.empty()) reply = client.messages();
    const bool is_error = reply.empty() || reply.find("(error)") != reply.npos;
    if (kind == 'n' && (row.is_error || way == Way::multi)) return;
    EXPECT_EQ(is_error, row.is_error || barred) << "the arguments do not work: " << reply;
  }

  void check(const Row& row, std::initializer_list<Unsafe> all) {
    using enum Way;
    for (const Way way : {plain, multi, script, read_script, function, read_function}) {
      for (const Unsafe unsafe : all) check(row, way, unsafe);
    }
  }

  void check_kind(char kind, std::initializer_list<Unsafe> all) {
    for (const std::string& line : lines_of(kind, true)) check(parse(line), all);
    EXPECT_GT(checked_, 0);
  }

  std::map<std::string, std::string> names_;
  std::unique_ptr<TestClient> writer_;
  int checked_ = 0;
};

// No command may be missing, and none may be excused without a reason.
TEST_F(InSyncTableTest, HasEveryCommand) {
  std::set<std::string> named;
  for (const std::string& line : lines_of('-', false)) {
    const Row row = parse(line);
    const std::string name = full_name(command_of(row));
    named.insert(name == "debug" ? "debug|" + lowered(row.request[1]) : name);
  }
  for (const std::string& line : lines_of('-', true)) {
    const std::size_t end = line.find("  ");
    ASSERT_NE(end, line.npos) << "a reason is missing: " << line;
    EXPECT_TRUE(named.insert(line.substr(2, end - 2)).second) << "it is run: " << line;
  }
  std::set<std::string> all = debug_subcommands();
  for (const Command* const row : parts(0).commands.rows()) {
    if (row->subcommands.empty() && row->name != "debug") all.insert(full_name(*row));
    for (const Command& one : row->subcommands) all.insert(full_name(one));
  }
  EXPECT_EQ(named, all);
}

TEST_F(InSyncTableTest, ReadsWaitForTheirSlotOnly) {
  check_kind('r', {Unsafe::same_slot, Unsafe::other_slot, Unsafe::everything});
}

TEST_F(InSyncTableTest, ReadsOfFunctionsWaitForTheLibrariesOnly) {
  check_kind('f', {Unsafe::same_slot, Unsafe::functions});
  const Row row = parse("r SET $k v => GET $k");
  check(row, {Unsafe::functions});
}

TEST_F(InSyncTableTest, WritesWaitForThemselves) { check_kind('w', {Unsafe::nothing}); }

// Here most of them change nothing.
TEST_F(InSyncTableTest, WritesWaitForWhatTheyFind) { check_kind('w', {Unsafe::everything}); }

TEST_F(InSyncTableTest, WhatIsAboutAllDataWaitsForAllData) {
  check_kind('a', {Unsafe::nothing, Unsafe::other_slot, Unsafe::everything, Unsafe::functions});
  check_kind('A', {Unsafe::nothing});
  check_kind('F', {Unsafe::nothing});
}

TEST_F(InSyncTableTest, WhatTellsOfNoDataNeverWaits) { check_kind('n', {Unsafe::all_of_it}); }

TEST_F(InSyncTableTest, WhatAClusterRefusesIsRefused) {
  for (const std::string& line : lines_of('x', true)) {
    EXPECT_EQ(servers_->run(0, filled(parse(line).request)).find("(error) ERR"), 0U) << line;
  }
}

}  // namespace in_sync_table_test
}  // namespace mayfly
