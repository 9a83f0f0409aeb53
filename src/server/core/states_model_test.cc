// SPDX-License-Identifier: Apache-2.0
// States in pairs, in both orders: a server and its clients are brought into both, every kind of
// command is sent, and what happens is compared with a model, which is the order of the checks that
// Valkey makes and nothing else. Then both states are left, and the server must be as good as new.
// tests/states has each state alone, with real processes.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/random.h"
#include "server/blocking/key_waiters.h"
#include "server/core/clients.h"
#include "server/core/pauses.h"
#include "server/core/server_call.h"
#include "server/persistence/background.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"
#include "server/replication/cluster_fixture.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace states_model_test {

enum class State {
  // Of a client, entered before those of the server
  no_auth,
  reply_off,
  multi,
  subscribed,
  subscribed_resp3,
  blocked,
  // Of the server
  replica,
  replica_down,
  replica_stale,
  loading,
  writes_paused,
  all_paused,
  full,
  few_replicas,
  snapshot_failed,
  busy,  // a script runs; the last that is entered in any case
  count
};

constexpr std::string_view kNames[] = {
    "no auth", "reply off",    "multi",           "subscribed", "subscribed resp3", "blocked",
    "replica", "down",         "stale",           "loading",    "writes paused",    "all paused",
    "full",    "few replicas", "snapshot failed", "busy"};

bool is_of_client(State state) { return state < State::replica; }

// A command, and what the client queues before it if it is in MULTI.
struct Sample {
  std::string line;
  std::string queued;
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"GET k", ""},
      {"SET k 1", ""},
      {"DEL none", ""},
      {"PING", ""},
      {"ECHO x", ""},
      {"INFO server", ""},
      {"CLIENT ID", ""},
      {"CONFIG GET port", ""},
      {"PUBLISH c m", ""},
      {"PUBSUB NUMPAT", ""},
      {"LASTSAVE", ""},
      {"DBSIZE", ""},
      {"WATCH k", ""},
      {"UNWATCH", ""},
      {"ROLE", ""},
      {"WAIT 0 1", ""},
      {"REPLCONF capa x", ""},
      {"SHUTDOWN SAVE NOSAVE", ""},
      {"EXEC", ""},
      {"EXEC", "GET k"},
      {"EXEC", "SET k 1"},
      {"EXEC", "DEL none"},
      {"EXEC", "ECHO x"},
      {"DISCARD", "SET k 1"},
      {"EVAL_RO return(1) 0", ""},
      {"FUNCTION STATS", ""},
      {"SELECT 0", ""},
      {"EXEC", "EVAL_RO return(1) 0"},
  };
  return all;
}

// Never done until it is told to be.
class HeldTask final : public LoadTask {
 public:
  explicit HeldTask(const bool& is_held) : is_held_(is_held) {}
  Result<bool> step(std::size_t) override { return !is_held_; }
  std::uint64_t offset() const override { return 0; }
  std::uint64_t total() const override { return 0; }

 private:
  const bool& is_held_;
};

bool starts_with_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return line.starts_with(word); });
}

// ---- The model ----

struct Model {
  std::vector<State> states;

  bool is(State state) const { return std::ranges::find(states, state) != states.end(); }
  bool is_replica() const {
    return is(State::replica) || is(State::replica_down) || is(State::replica_stale);
  }
  bool is_paused() const { return is(State::writes_paused) || is(State::all_paused); }

  // "runs", "queued", "waits", "silent", "closed", or the first words of the error.
  std::string outcome(const Server& server, const Sample& sample) const {
    if (is(State::blocked) && !is(State::no_auth)) return is_replica() ? "closed" : "waits";
    const bool is_exec = sample.line == "EXEC";
    std::string error = error_of(server, sample);
    if (error.empty() && must_wait(server, sample)) return "waits";
    if (is(State::reply_off)) return "silent";
    const bool is_script = sample.line.starts_with("EVAL");
    if (error.empty() && is_script && is(State::replica_stale) && !is(State::multi)) {
      return "MASTERDOWN";  // which it says itself
    }
    if (error.empty()) return is_queued(sample.line) ? "queued" : "runs";
    if (!is_exec) return error;
    return "EXECABORT " + (error == "ERR" ? "" : error);
  }

 private:
  static std::uint64_t flags_of(const Server& server, std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    const Command* const found = server.parts().commands.find(words[0]);
    return server.parts().commands.resolve(*found, words)->flags;
  }

  // EXEC is what it runs.
  bool runs_queue(const Sample& sample) const {
    return sample.line == "EXEC" && !sample.queued.empty() && is(State::multi);
  }
  bool has_any(const Server& server, const Sample& sample, std::uint64_t flags) const {
    const std::uint64_t more = runs_queue(sample) ? flags_of(server, sample.queued) : 0;
    return ((flags_of(server, sample.line) | more) & flags) != 0;
  }
  bool has_all(const Server& server, const Sample& sample, std::uint64_t flag) const {
    if (runs_queue(sample) && (flags_of(server, sample.queued) & flag) == 0) return false;
    return (flags_of(server, sample.line) & flag) != 0;
  }

  bool is_queued(std::string_view line) const {
    return is(State::multi) && !starts_with_any(line, {"EXEC", "DISCARD", "WATCH"});
  }

  bool must_wait(const Server& server, const Sample& sample) const {
    if (is(State::all_paused)) return !sample.line.starts_with("CLIENT");
    return is(State::writes_paused) && has_any(server, sample, flag::write | flag::may_replicate);
  }

  std::string error_of(const Server& server, const Sample& sample) const {
    const bool writes = has_any(server, sample, flag::write);
    const bool is_ping = sample.line == "PING";
    if (is(State::no_auth)) return "NOAUTH";
    if (is(State::multi) && starts_with_any(sample.line, {"SHUTDOWN", "WATCH"})) return "ERR";
    if (is(State::busy) && (flags_of(server, sample.line) & flag::allow_busy) == 0) return "BUSY";
    const bool grows = has_any(server, sample, flag::denyoom) || is_queued(sample.line);
    if (is(State::full) && grows && !is(State::busy) && !is_replica() && !is(State::loading) &&
        !is_paused()) {
      return "OOM";
    }
    if (is(State::snapshot_failed) && (writes || is_ping) && !is_replica()) return "MISCONF";
    if (writes && is_replica()) return "READONLY";
    if (writes && is(State::few_replicas)) return "NOREPLICAS";
    if (is(State::subscribed) && !is_ping) return "ERR";
    if (is(State::replica_stale) && !has_all(server, sample, flag::stale)) return "MASTERDOWN";
    if (is(State::loading) && !has_all(server, sample, flag::loading)) return "LOADING";
    return {};
  }
};

// ---- The server ----

class World {
 public:
  World() : cluster_(2) {
    cluster_.run(0, "SET k 0");
    cluster_.run(1, "SET k 1");
  }

  void enter(State state) {
    Config& config = server().parts().config;
    switch (state) {
      case State::no_auth:
        config.requirepass = "secret";
        break;
      case State::replica:
      case State::replica_down:
      case State::replica_stale:
        config.replica_serve_stale_data = state != State::replica_stale;
        follow();
        if (state != State::replica) lose_primary();
        break;
      case State::loading:
        is_held_ = true;
        server().parts().loading.begin(std::make_unique<HeldTask>(is_held_),
                                       server().parts().clock.now(), [](const Status&) {});
        break;
      case State::writes_paused:
        pause(PauseLevel::writes);
        break;
      case State::all_paused:
        pause(PauseLevel::all);
        break;
      case State::full:
        config.maxmemory = 1;
        break;
      case State::few_replicas:
        config.min_replicas_to_write = 1;
        break;
      case State::snapshot_failed:
        config.save = {{3600, 1}};
        cluster_[1].fake_disk().fail_next(FakeDisk::Op::rename);
        EXPECT_TRUE(server().parts().persistence.snapshots().start(server().parts().clock.now()));
        server().parts().background.poll();
        EXPECT_FALSE(server().parts().persistence.snapshots().check_writable());
        break;
      default:
        break;
    }
  }

  // As CLIENT PAUSE, which would wait for the end of another pause.
  void pause(PauseLevel level) {
    server().parts().clients.pause(PauseReason::client_command,
                                   server().parts().clock.now() + Millis(1'000'000), level);
  }

  void leave(State state) {
    Config& config = server().parts().config;
    switch (state) {
      case State::no_auth:
        config.requirepass.clear();
        break;
      case State::blocked:
        for (const auto& [id, client] : server().parts().clients.all()) {
          if (client->blocked) admin().run("CLIENT UNBLOCK " + std::to_string(id));
        }
        break;
      case State::replica:
      case State::replica_down:
      case State::replica_stale:
        server().parts().replication.follow_nobody();
        cluster_.set_reachable(0, true);
        config.replica_serve_stale_data = true;
        break;
      case State::loading:
        is_held_ = false;
        server().begin_turn();
        break;
      case State::writes_paused:
      case State::all_paused:
        EXPECT_EQ(admin().run("CLIENT UNPAUSE"), "OK");
        break;
      case State::full:
        config.maxmemory = 0;
        break;
      case State::few_replicas:
        config.min_replicas_to_write = 0;
        break;
      case State::snapshot_failed:
        cluster_[1].fake_disk().heal();
        EXPECT_TRUE(server().parts().persistence.snapshots().save(server().parts().clock.now()));
        config.save.clear();
        break;
      default:
        break;
    }
  }

  // A client in its states, with what it has queued.
  std::unique_ptr<TestClient> client_in(const Model& model, const Sample& sample) {
    auto client = std::make_unique<TestClient>(server(), "127.0.0.1:6000");
    if (model.is(State::subscribed_resp3)) client->run("HELLO 3");
    if (model.is(State::subscribed) || model.is(State::subscribed_resp3)) {
      client->run("SUBSCRIBE news");
    }
    if (model.is(State::multi)) client->run("MULTI");
    if (model.is(State::multi) && !sample.queued.empty()) client->run(sample.queued);
    if (model.is(State::reply_off)) client->client().options.reply_mode = ReplyMode::off;
    if (model.is(State::blocked)) client->run("BZPOPMIN nothing 0");
    return client;
  }

  // While a script runs, if the model says so.
  void act(const Model& model, const std::function<void()>& what) {
    if (!model.is(State::busy)) return what();
    server().parts().config.busy_reply_threshold = 1;
    bool is_done = false;
    cluster_[1].when_busy = [&] {
      if (!std::exchange(is_done, true)) what();
      TestClient killer(server(), "127.0.0.1:6002");
      if (model.is(State::no_auth)) killer.run("AUTH secret");
      EXPECT_EQ(killer.run("SCRIPT KILL"), "OK");
    };
    EXPECT_NE(admin().run({"EVAL_RO", "while true do end", "0"}).find("killed"), std::string::npos);
    cluster_[1].when_busy = nullptr;
    EXPECT_TRUE(is_done);
  }

  // It must be as if nothing had been.
  void expect_sound() {
    EXPECT_FALSE(server().parts().pauses.any());
    EXPECT_FALSE(server().parts().loading.is_active());
    EXPECT_EQ(server().parts().blocked.size(), 0u);
    EXPECT_TRUE(server().parts().key_waiters.is_empty());
    for (const auto& [id, client] : server().parts().clients.all())
      EXPECT_FALSE(client->limits.is_paused) << id;
    TestClient fresh(server(), "127.0.0.1:6001");
    EXPECT_EQ(fresh.run("SET k 2"), "OK");
    EXPECT_EQ(fresh.run("GET k"), "\"2\"");
    EXPECT_EQ(server().parts().keyspace[0].check_invariants(), "");
    cluster_[1].sweep();
    EXPECT_TRUE(server().parts().keyspace.lazy_free().is_empty());
    follow();
    EXPECT_EQ(cluster_.digest(0), cluster_.digest(1));
  }

  Server& server() { return cluster_.server(1); }

 private:
  TestClient& admin() { return cluster_.client(1); }

  void follow() {
    if (!server().parts().replication.is_replica())
      server().parts().replication.follow("127.0.0.1", cluster_.port(0));
    EXPECT_TRUE(cluster_.run_until_quiet());
  }

  void lose_primary() {
    cluster_.set_reachable(0, false);
    cluster_.cut(1);
    cluster_.turn();
  }

  bool is_held_ = false;
  ClusterFixture cluster_;
};

std::string first_word(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(" :")));
}

std::string outcome_of(TestClient& client, const std::string& reply) {
  constexpr std::string_view kError = "(error) ";
  constexpr std::string_view kAborted = "EXECABORT Transaction discarded because of: ";
  if (!client.is_connected()) return "closed";
  const bool waits = client.client().limits.is_paused || client.client().is_blocked();
  if (reply.empty()) return waits ? "waits" : "silent";
  if (reply == "QUEUED") return "queued";
  if (!reply.starts_with(kError)) return "runs";
  const std::string text = reply.substr(kError.size());
  if (text.starts_with(kAborted)) {
    const std::string why = first_word(std::string_view(text).substr(kAborted.size()));
    const bool is_code = std::ranges::all_of(why, [](char c) { return c >= 'A' && c <= 'Z'; });
    return "EXECABORT " + (is_code ? why : "");
  }
  // Errors of commands themselves, not of a state.
  if (text.find("without MULTI") != std::string::npos ||
      text.find("cannot be used with") != std::string::npos ||
      text.find("inside MULTI") != std::string::npos || text.starts_with("ERR syntax error")) {
    return "runs";
  }
  return first_word(text);
}

// Whether a server can be in both, the second after the first.
bool can_follow(State first, State second) {
  if (first == second || (!is_of_client(first) && is_of_client(second))) return false;
  const auto is_replica = [](State state) {
    return state >= State::replica && state <= State::replica_stale;
  };
  if (is_replica(first) && is_replica(second)) return false;
  if (first == State::loading && is_replica(second)) return false;  // REPLICAOF is refused
  const auto runs_no_script = [](State state) {
    return state == State::replica_stale || state == State::loading || state == State::all_paused;
  };
  if (first == State::busy) return false;
  if (second == State::busy && runs_no_script(first)) return false;
  const auto has_mode = [](State state) {
    return state >= State::multi && state <= State::blocked;
  };
  if (has_mode(first) && has_mode(second)) return false;
  return !(first == State::no_auth && is_of_client(second));  // none can be entered
}

void visit(const std::vector<State>& states, Random& random) {
  const Model model{states};
  std::string names;
  for (const State state : states) names.append(kNames[static_cast<std::size_t>(state)]) += ", ";
  SCOPED_TRACE(names);
  World world;
  if (model.is(State::no_auth)) world.enter(State::no_auth);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (const Sample& sample : samples()) clients.push_back(world.client_in(model, sample));
  for (const State state : states) {
    if (!is_of_client(state)) world.enter(state);
  }
  world.act(model, [&] {
    for (std::size_t i = 0; i < samples().size(); ++i) {
      const Sample& sample = samples()[i];
      EXPECT_EQ(outcome_of(*clients[i], clients[i]->run(sample.line)),
                model.outcome(world.server(), sample))
          << sample.line << (sample.queued.empty() ? "" : " of ") << sample.queued;
    }
  });
  std::vector<State> left = states;
  if (random.below(2) == 0) std::ranges::reverse(left);
  for (const State state : left) world.leave(state);
  for (auto& client : clients) {
    const std::string reply = client->resume();
    if (client->link().paused()) ADD_FAILURE() << "a client still waits";
  }
  world.expect_sound();
}

TEST(StatesModel, EveryPairInEveryOrder) {
  Random random(13);
  for (int first = 0; first < static_cast<int>(State::count); ++first) {
    for (int second = 0; second < static_cast<int>(State::count); ++second) {
      const auto a = static_cast<State>(first);
      const auto b = static_cast<State>(second);
      if (a == b) visit({a}, random);
      if (can_follow(a, b)) visit({a, b}, random);
    }
  }
}

TEST(StatesModel, ThreeAtRandom) {
  Random random(14);
  for (int round = 0; round < 60; ++round) {
    const auto any = [&] {
      return static_cast<State>(random.below(static_cast<std::uint64_t>(State::count)));
    };
    const State a = any();
    const State b = any();
    const State c = any();
    if (can_follow(a, b) && can_follow(a, c) && can_follow(b, c)) visit({a, b, c}, random);
  }
}

}  // namespace states_model_test
}  // namespace mayfly
