// SPDX-License-Identifier: Apache-2.0
// For shard_model_test.cc: the world in which real ShardMachines run. Messages are late, lost and
// out of order, processes pause, crash and come back as others, connections are cut one way
// or both ways, clocks run 5 % fast or slow. All by one seed.
//
// What must hold, whatever happens:
//   A  epochs of operations that are served never go back, and at most one process serves
//   B  a write that was safe is in the log of every later primary
//   D  so it is in all processes that the record names, and they have no less than they said
//   C  a stream of replication never contradicts the log it continues
//   R  a recovery is by the node that has announced the most, and all processes named have ended
//   W  no process recovers the shard without a safe write that another living process has: one that
//      a record has named, or that has announced its data. However much its own file has
//   T  the time by which operations are served never runs back. Where wall clocks jump: by no more
//      than clocks may differ, and only as long as the clock of the node is wrong
//   K  a process whose clock is right shows a time that is no further ahead of that than is allowed
//   V  epochs and versions only grow
//      All of them also hold when the register is an older state of itself, by restoring it or by
//      writing old records again, until people stop all processes and accept it
//   E  some time after the last fault a process serves, with all others in its set

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/fake_register.h"
#include "cluster/shard_machine.h"

namespace mayfly {

class ModelProcess;

struct ModelViolation {
  std::string what;
};

struct ModelOptions {
  int nodes = 3;
  Millis length{40'000};
  ShardFaults faults;
  // What shall happen more often than it does by itself.
  bool is_register_slow = false;  // always, and primaries pause
  bool do_all_crash = false;      // and come back with most of their files
  bool do_empty_return = false;   // all files are lost in every crash
  bool do_stale_return = false;   // most of the file is there, and the primary crashes often
  bool do_clocks_jump = false;    // always
  bool do_restore = false;        // the register, once in every schedule
  bool trusts_any = false;        // a fault: processes use any register
  bool is_traced = false;
};

struct ModelCounts {
  std::uint64_t schedules = 0;
  std::uint64_t takeovers = 0;
  std::uint64_t handovers = 0;
  std::uint64_t forced = 0;  // by a member that was told to
  std::uint64_t recoveries = 0;
  std::uint64_t decisions = 0;  // by people, as recovery waited
  std::uint64_t jumps = 0;      // of wall clocks
  std::uint64_t restores = 0;   // of the register
  std::uint64_t crashes = 0;
  std::uint64_t additions = 0;
  std::uint64_t removals = 0;
  std::uint64_t returns = 0;
  std::uint64_t full_syncs = 0;
  std::uint64_t operations = 0;
  std::uint64_t safe_writes = 0;
};

class ModelWorld {
 public:
  ModelWorld(std::uint64_t seed, const ModelOptions& options);
  ~ModelWorld();

  // Throws ModelViolation.
  void run();

  const ModelCounts& counts() const { return counts_; }

  // ---- For processes ----
  Time now() const { return now_; }
  void after(Millis delay, std::function<void()> what) {
    events_.push({now_ + delay, ++event_, std::move(what)});
  }
  double random() { return std::uniform_real_distribution<>()(random_); }
  double between(double low, double high) { return low + (high - low) * random(); }
  bool one_in(double n) { return random() * n < 1; }
  Millis millis(double low, double high) {
    return Millis(static_cast<std::int64_t>(between(low, high)));
  }
  Millis delay();

  // `act` happens at the process that has this memory, if the message arrives.
  void send(int from, const NodeMemory& to, std::function<void(ModelProcess&)> act);
  FakeWeather weather(int node);
  FakeRecords& records() { return records_; }
  const ModelOptions& options() const { return options_; }
  ModelCounts& counts() { return counts_; }
  void note_safe(const std::vector<std::uint32_t>& log, std::uint64_t from, std::uint64_t to);
  void trace(const std::string& line) const;
  std::uint64_t epoch_of(std::uint32_t write) const { return epochs_[write]; }
  std::string new_history() { return "history" + std::to_string(++histories_); }
  int node_of(const NodeMemory& memory) const { return memory.node[0] - 'a'; }

  // How much of a log a file has after a crash.
  enum class Disk { none, most, all };
  Disk disk() const { return disk_; }
  bool is_read_seldom() const { return is_read_seldom_; }
  Time wall() const { return now_ + std::chrono::hours(1'000'000); }  // of right clocks
  Millis jump_of(int node) const { return jumps_[static_cast<std::size_t>(node)].by; }
  bool is_quiet() const { return now_ > end_ - quiet_ || is_accepted_; }  // no more faults

  // What the file of a node has about the register, and whether a process that starts with this
  // file may use what it has read. Noted by processes that use it.
  struct KnownRegister {
    RegisterPoint point;
    std::uint64_t epoch = 0;  // of the record of the shard
  };
  bool may_use(int node, const RegisterSnapshot& snapshot) const;
  void note_use(int node, const RegisterSnapshot& snapshot);
  void check_drop(const NodeMemory& memory) const;

 private:
  static constexpr int kRegister = -1;  // as an end of a connection
  struct Event {
    Time at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {  // the first is on top
      return std::pair(other.at, other.order) < std::pair(at, order);
    }
  };

  void start(int node);
  void crash(int node);
  void crash_if_allowed(int node);
  void pause(ModelProcess& process, Millis time);
  void operate();
  void fail_something();
  void hand_over();
  void force();
  void jump();
  void decide();
  void begin_restore();
  void restore(const RegisterSnapshot& snapshot);
  void accept();
  bool has_right_clock(int node) const;
  void check_time(const ModelProcess& process);
  void cut(std::set<std::pair<int, int>> pairs, Millis time);
  void check_commit(const RegisterCommit& commit);
  void check_recovery(const ShardRecord& before, const ShardRecord& record);
  void check_serving();
  void check_end() const;
  void check_safe(const ShardRecord& record, bool may_be_lost);
  bool has_safe(const ModelProcess& process) const;
  void fail_after_commit(const NodeMemory& primary);
  ShardRecord record() const;
  ModelProcess* alive(const NodeMemory& memory);
  bool is_cut(int from, int to) const { return cuts_.contains({from, to}); }

  ModelOptions options_;
  std::mt19937_64 random_;
  Time now_{std::chrono::hours(1)};
  Time end_{};
  Millis quiet_{0};  // at the end
  std::priority_queue<Event> events_;
  std::uint64_t event_ = 0;
  FakeRecords records_;
  std::vector<std::unique_ptr<ModelProcess>> processes_;  // the dead ones, too
  std::vector<ModelProcess*> nodes_;                      // the process of each node
  std::multiset<std::pair<int, int>> cuts_;
  struct Jump {  // of a wall clock
    Millis by{0};
    Time since{};
  };
  std::vector<Jump> jumps_;               // by node
  std::uint64_t seen_version_ = 0;        // of the record, when people looked last
  bool is_decided_ = false;               // by people: the commit that is made just now
  std::vector<bool> safe_;                // by write
  std::vector<std::uint64_t> epochs_{0};  // of the primary that took it, by write
  std::uint64_t served_epoch_ = 0;
  std::optional<NodeMemory> forced_;  // was told to take over last
  bool was_served_ = false;           // at the end
  bool was_complete_ = false;         // so was the set
  Time served_wall_{};
  std::uint32_t writes_ = 0;
  int incarnations_ = 0;
  int histories_ = 0;
  Disk disk_ = Disk::none;
  bool is_read_seldom_ = false;
  bool is_register_slow_ = false;
  bool do_clocks_jump_ = false;
  std::vector<KnownRegister> known_;  // by node
  bool is_restored_ = false;          // and not accepted yet
  bool has_lost_ = false;             // likewise, and the record of the shard had changed
  ShardRecord last_;                  // before it was restored
  bool is_put_back_ = false;          // likewise, by writing old records again
  bool is_accepted_ = false;
  bool may_return_empty_ = false;  // also the last one that has the data
  ModelCounts counts_;
};

}  // namespace mayfly
