// SPDX-License-Identifier: Apache-2.0
// Random schedules of faults against real ShardMachines: see shard_model.h for what must hold. Each
// rule of the protocol is also taken out once, and the model must notice.
//
// MAYFLY_MODEL_SCHEDULES=10000 runs more; MAYFLY_MODEL_SEED=17 runs one and shows what happens.
#include "cluster/shard_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "cluster/model/shard_model_register.h"
#include "cluster/plan/recovery.h"
#include "cluster/shard_model_process.h"
#include "cluster/shard_model_stream.h"

namespace mayfly {

using namespace std::chrono_literals;

ModelWorld::ModelWorld(std::uint64_t seed, const ModelOptions& options)
    : options_(options), random_(seed) {
  disk_ = std::vector{Disk::none, Disk::most, Disk::all}[seed % 3];
  is_read_seldom_ = seed % 2 == 0;
  is_register_slow_ = seed % 5 == 0 || options.is_register_slow;
  if (options.do_all_crash || options.do_stale_return) disk_ = Disk::most;
  if (options.do_empty_return) disk_ = Disk::none;
  may_return_empty_ = disk_ == Disk::none && (seed % 2 == 0 || options.do_empty_return);
  do_clocks_jump_ = seed % 8 < 2 || options.do_clocks_jump;
  jumps_.resize(static_cast<std::size_t>(options.nodes));
  known_.resize(static_cast<std::size_t>(options.nodes));
  if (seed % 4 == 0) quiet_ = 25s;
  end_ = now_ + options_.length + quiet_;
  records_.advance(now_);
  for (int node = 0; node < options_.nodes; ++node) {
    nodes_.push_back(nullptr);
    start(node);
  }
  ShardRecord first;
  first.epoch = 1;
  first.primary = nodes_[0]->memory;
  first.slots = SlotSet({{0, 99}});
  records_.apply({{}, {{"shards/s", to_text(first)}}});
  records_.before_done = [this](const RegisterCommit& commit) { check_commit(commit); };
  after(50ms, [this] { operate(); });
  after(millis(3000, 6000), [this] { fail_something(); });
  after(millis(3000, 12'000), [this] { hand_over(); });
  after(millis(3000, 15'000), [this] { force(); });
  after(millis(3000, 6000), [this] { decide(); });
  if (do_clocks_jump_) after(millis(1000, 6000), [this] { jump(); });
  if (options.do_restore) after(millis(3000, 12'000), [this] { begin_restore(); });
}

ModelWorld::~ModelWorld() = default;

void ModelWorld::run() {
  while (true) {
    const bool is_register = records_.next() <= events_.top().at;
    now_ = is_register ? std::max(now_, records_.next()) : events_.top().at;
    if (now_ > end_) break;
    records_.advance(now_);
    if (is_register) {
      for (ModelProcess* process : nodes_) process->deliver();
    } else {
      const auto what = std::move(const_cast<Event&>(events_.top()).what);
      events_.pop();
      what();
    }
    check_serving();
  }
  if (quiet_ > 0s) check_end();
  for (const auto& process : processes_) {
    const ShardMachine::Stats& stats = process->machine.stats();
    counts_.takeovers += stats.takeovers;
    counts_.additions += stats.additions;
    counts_.removals += stats.removals;
    counts_.returns += stats.returns;
  }
  counts_.safe_writes = static_cast<std::uint64_t>(std::count(safe_.begin(), safe_.end(), true));
}

void ModelWorld::trace(const std::string& line) const {
  if (!options_.is_traced) return;
  const double seconds = static_cast<double>((now_ - Time{} - 1h).count()) / 1000;
  std::printf("%8.3f %s\n", seconds, line.c_str());
}

// ---- Processes and connections ----

void ModelWorld::start(int node) {
  if (is_put_back_) return after(500ms, [this, node] { start(node); });
  const std::string number = std::to_string(++incarnations_);
  NodeMemory memory{std::string(40, static_cast<char>('a' + node)),
                    std::string(16 - number.size(), '0') + number};
  ModelProcess::Stored stored;
  if (nodes_[static_cast<std::size_t>(node)] != nullptr && disk_ != Disk::none) {
    stored =
        nodes_[static_cast<std::size_t>(node)]->stored(disk_ == Disk::all ? 1 : between(0.8, 1));
  }
  trace("starts " + memory.node.substr(0, 1) + " " + number);
  processes_.push_back(std::make_unique<ModelProcess>(*this, node, memory, std::move(stored)));
  ModelProcess* process = processes_.back().get();
  nodes_[static_cast<std::size_t>(node)] = process;
  after(one_in(2) ? millis(0, 100) : millis(0, 2000), [process] {
    process->loaded();
    process->tick();
  });
}

void ModelWorld::crash(int node) {
  ModelProcess* process = nodes_[static_cast<std::size_t>(node)];
  if (process->is_dead || is_put_back_) return;
  trace("crashes " + process->memory.node.substr(0, 1));
  ++counts_.crashes;
  process->die();
  after(millis(0, 5000), [this, node] { start(node); });
}

Millis ModelWorld::delay() {
  const double kind = random();
  if (kind < 0.9) return millis(0, 10);
  return kind < 0.98 ? millis(10, 500) : millis(500, 4000);
}

void ModelWorld::send(int from, const NodeMemory& to, std::function<void(ModelProcess&)> act) {
  const int node = node_of(to);
  if (is_cut(from, node) || one_in(100)) return;
  after(delay(), [this, node, to, act = std::move(act)] {
    ModelProcess* process = nodes_[static_cast<std::size_t>(node)];
    if (process->memory != to || process->is_dead) return;
    if (process->is_paused) {
      process->inbox.emplace_back([process, act] { act(*process); });
    } else {
      act(*process);
    }
  });
}

FakeWeather ModelWorld::weather(int node) {
  FakeWeather is;
  is.there = random() < (is_register_slow_ ? 0.5 : 0.85) ? delay() : millis(100, 4000);
  is.back = delay();
  is.is_lost = is_cut(node, kRegister) && random() < 0.9;
  is.is_answer_lost = one_in(20);
  if (one_in(20)) is.again = millis(0, 3000);
  return is;
}

ModelProcess* ModelWorld::alive(const NodeMemory& memory) {
  ModelProcess* process = nodes_[static_cast<std::size_t>(node_of(memory))];
  return process->memory == memory && !process->is_dead ? process : nullptr;
}

// ---- Clients ----

void ModelWorld::operate() {
  for (ModelProcess* process : nodes_) {
    if (!process->is_serving()) continue;
    const std::uint64_t epoch = process->machine.record().epoch;
    ++counts_.operations;
    if (epoch < served_epoch_) throw ModelViolation{"A: an older epoch serves"};
    served_epoch_ = epoch;
    was_served_ = was_served_ || now_ > end_ - 10s;
    check_time(*process);
    if (random() < 0.7 && !process->is_write_paused) {
      epochs_.push_back(epoch);
      process->write(++writes_);
    }
  }
  if (now_ > end_ - 10s) {  // there is loss and delay still, so not at every moment
    was_complete_ = was_complete_ || record().insync.size() + 1 == nodes_.size();
  }
  after(millis(0, 33), [this] { operate(); });
}

void ModelWorld::note_safe(const std::vector<std::uint32_t>& log, std::uint64_t from,
                           std::uint64_t to) {
  safe_.resize(writes_ + 1);
  for (std::uint64_t at = from; at < to; ++at) safe_[log.at(at)] = true;
}

// ---- Faults ----

void ModelWorld::cut(std::set<std::pair<int, int>> pairs, Millis time) {
  for (const auto& pair : pairs) cuts_.insert(pair);
  after(time, [this, pairs] {
    for (const auto& pair : pairs) cuts_.erase(cuts_.find(pair));
  });
}

void ModelWorld::pause(ModelProcess& process, Millis time) {
  if (process.is_paused || process.is_dead) return;
  trace("pauses " + process.memory.node.substr(0, 1));
  process.is_paused = true;
  after(time, [&process] { process.resume(); });
}

// Never the last one that has the data, unless it has a file.
void ModelWorld::crash_if_allowed(int node) {
  const ShardRecord now = record();
  int others = 0;
  for (const NodeMemory& memory : now.insync) {
    if (alive(memory) != nullptr && node_of(memory) != node) ++others;
  }
  if (alive(now.primary) != nullptr && node_of(now.primary) != node) ++others;
  if (others > 0 || disk_ != Disk::none || may_return_empty_) crash(node);
}

void ModelWorld::fail_something() {
  if (is_quiet()) return;
  static constexpr double kLengths[] = {300, 1000, 2000, 2400, 2600, 3000, 5000, 8000};
  const double length = kLengths[static_cast<std::size_t>(between(0, 8))];
  const Millis time = millis(length * 0.8, length * 1.2);
  int node = static_cast<int>(between(0, options_.nodes));
  if (one_in(2)) node = node_of(record().primary);
  ModelProcess* process = nodes_[static_cast<std::size_t>(node)];
  double kind = random();
  if (options_.is_register_slow && one_in(2)) kind = 0;
  if (options_.do_all_crash && one_in(2)) kind = 1;
  if (options_.do_stale_return && one_in(2)) {
    node = node_of(record().primary);
    kind = 1;
  }
  if (kind < 0.3) {
    pause(*process, time);
  } else if (kind < 0.7) {
    std::set<std::pair<int, int>> pairs;
    const bool is_all = kind > 0.55;
    const int other = static_cast<int>(between(0, options_.nodes + 1)) - 1;
    const bool is_one_way = random() < 0.4;
    for (int to = kRegister; to < options_.nodes; ++to) {
      if (to == node || (!is_all && to != other)) continue;
      pairs.insert({node, to});
      if (is_all || !is_one_way) pairs.insert({to, node});
    }
    trace("cuts " + std::string(1, static_cast<char>('a' + node)) + (is_all ? " from all" : ""));
    cut(std::move(pairs), time);
  } else if (kind < 0.8) {
    records_.is_down = true;
    after(time, [this] { records_.is_down = false; });
  } else {
    crash_if_allowed(node);
    if (disk_ != Disk::none && one_in(options_.do_all_crash ? 1 : 3)) {
      for (int each = 0; each < options_.nodes; ++each) crash(each);
    }
  }
  after(millis(200, 4000), [this] { fail_something(); });
}

void ModelWorld::hand_over() {
  if (is_quiet()) return;
  const ShardRecord now = record();
  ModelProcess* primary = alive(now.primary);
  if (primary != nullptr && !primary->is_paused && !now.insync.empty()) {
    const auto which = static_cast<std::size_t>(between(0, static_cast<double>(now.insync.size())));
    const Time until = primary->own_time() + millis(100, 3000);
    if (primary->machine.hand_over(now.insync[which].node, until, primary->own_time())) {
      trace("is to hand over: " + primary->memory.node.substr(0, 1));
    }
  }
  after(millis(2000, 15'000), [this] { hand_over(); });
}

// Somebody says CLUSTER FAILOVER FORCE, whether or not the primary is well.
void ModelWorld::force() {
  if (is_quiet()) return;
  const ShardRecord now = record();
  if (!now.insync.empty()) {
    const auto which = static_cast<std::size_t>(between(0, static_cast<double>(now.insync.size())));
    ModelProcess* const replica = alive(now.insync[which]);
    if (replica != nullptr && !replica->is_paused &&
        replica->machine.take_when_safe(replica->own_time())) {
      trace("is to take over: " + replica->memory.node.substr(0, 1));
      forced_ = replica->memory;
    }
  }
  after(millis(3000, 15'000), [this] { force(); });
}

// The wall clock of a machine is wrong for a while.
void ModelWorld::jump() {
  if (is_quiet()) return;
  auto node = static_cast<std::size_t>(between(0, options_.nodes));
  if (one_in(2)) node = static_cast<std::size_t>(node_of(record().primary));
  static constexpr Millis kJumps[] = {1h, 24h, -1h, -24h, 1500ms, -1500ms};
  if (jumps_[node].by == 0ms) {
    jumps_[node] = {kJumps[static_cast<std::size_t>(between(0, 6))], now_};
    trace("clock jumps: " + std::string(1, static_cast<char>('a' + node)) + " by " +
          std::to_string(jumps_[node].by.count()) + " ms");
    ++counts_.jumps;
    after(one_in(3) ? millis(2000, 12'000) : millis(0, 2000), [this, node] {
      trace("clock is right: " + std::string(1, static_cast<char>('a' + node)));
      jumps_[node] = {0ms, now_};
    });
  }
  after(millis(500, 8000), [this] { jump(); });
}

// As `mayfly cluster recover SHARD --accept-loss`, for a shard that waits: the process with the
// latest data leads.
void ModelWorld::decide() {
  if (is_restored_) return after(1s, [this] { decide(); });
  const ShardRecord now = record();
  const std::uint64_t version = records_.find("shards/s")->version;
  // They look twice.
  const bool are_all_back = std::all_of(
      nodes_.begin(), nodes_.end(), [](const ModelProcess* each) { return each->has_loaded(); });
  const std::uint64_t seen = are_all_back ? version : 0;
  const bool is_stuck = seen == std::exchange(seen_version_, seen) && are_all_back;
  std::vector<NodeMemory> named = now.insync;
  named.push_back(now.primary);
  const bool is_over = std::none_of(named.begin(), named.end(), [this](const NodeMemory& memory) {
    return alive(memory) != nullptr;
  });
  const auto rank = [](const ModelProcess& process) {
    return std::pair(std::max(process.held(), process.loaded_epoch()), process.writes.size());
  };
  const ModelProcess* best = nullptr;
  for (const ModelProcess* process : nodes_) {
    if (!process->has_all()) continue;  // a full synchronisation has not ended
    if (best == nullptr || rank(*process) > rank(*best)) best = process;
  }
  if (is_stuck && is_over && best != nullptr) {
    ShardRecord next = now;
    ++next.epoch;
    next.primary = best->memory;
    next.insync.clear();
    next.since = wall();
    is_decided_ = true;
    records_.apply({{{"shards/s", version}}, {{"shards/s", to_text(next)}}});
    is_decided_ = false;
    ++counts_.decisions;
  }
  after(millis(3000, 6000), [this] { decide(); });
}

// ---- What must hold ----

// Long enough for a tick.
bool ModelWorld::has_right_clock(int node) const {
  const Jump& is = jumps_[static_cast<std::size_t>(node)];
  return is.by == 0ms && now_ > is.since + 300ms;
}

void ModelWorld::check_time(const ModelProcess& process) {
  if (!has_right_clock(process.node)) return;
  if (process.wall_ahead() > 500ms) throw ModelViolation{"K: a wrong time is kept"};
  const Time wall = process.wall();
  const Millis allowed = do_clocks_jump_ ? 1000ms : 0ms;
  if (wall < served_wall_ - allowed) throw ModelViolation{"T: the time runs back"};
  served_wall_ = std::max(served_wall_, wall);
}

// A restored register that has an older record shows the state of no process.
ShardRecord ModelWorld::record() const {
  if (has_lost_) return last_;
  return *parse_shard_record(*records_.find("shards/s")->value);
}

void ModelWorld::check_serving() {
  int serving = 0;
  for (const ModelProcess* process : nodes_) serving += process->is_serving() ? 1 : 0;
  if (serving > 1) throw ModelViolation{"A: two processes serve"};
}

void ModelWorld::check_end() const {
  if (!was_served_) throw ModelViolation{"E: nobody serves"};
  if (!was_complete_) throw ModelViolation{"E: the set is not complete"};
}

void ModelWorld::check_commit(const RegisterCommit& commit) {
  // On an older record, which was restored: sent before, by a process that will not learn of it.
  if (commit.puts[0].key != "shards/s" || has_lost_) return;
  const ShardRecord before = record();
  const ShardRecord next = *parse_shard_record(*commit.puts[0].value);
  if (one_in(8) && !is_quiet()) fail_after_commit(next.primary);
  const bool is_same = next.epoch == before.epoch && next.primary == before.primary;
  const bool was_named = before.primary == next.primary || before.has(next.primary);
  // The register may be restored before the one that has committed learns that it has: then it
  // would know no more than the snapshot does. That is left out. One that has sent this before it
  // was restored, and refuses it now, learns nothing.
  KnownRegister& known = known_[static_cast<std::size_t>(node_of(next.primary))];
  const RegisterPoint point{records_.id, records_.version() + 1};
  const bool is_known = known.point.id == point.id && point.version >= known.point.version;
  if (known.point.id == 0 || is_known) known = {point, next.epoch};
  if (!is_same) {
    // Data that was loaded may have a later epoch than a restored record.
    const bool is_next = next.epoch == before.epoch + 1;
    if (!is_next && (!is_accepted_ || next.epoch <= before.epoch))
      throw ModelViolation{"V: an epoch is left out"};
    if (!was_named && !is_decided_) check_recovery(before, next);
    if (was_named && next.has(before.primary)) ++counts_.handovers;
    if (was_named && !next.has(before.primary) && next.primary == forced_) ++counts_.forced;
    forced_.reset();
    trace("commits epoch " + std::to_string(next.epoch) + " for " + next.primary.node.substr(0, 1));
  }
  for (ModelProcess* process : nodes_) {
    if (next.has(process->memory) || next.primary == process->memory) process->was_named = true;
  }
  check_safe(next, is_decided_ || (!was_named && disk_ != Disk::all));
}

bool ModelWorld::has_safe(const ModelProcess& process) const {
  std::vector<bool> missing = safe_;
  for (const std::uint32_t write : process.writes) {
    if (write < missing.size()) missing[write] = false;
  }
  return std::find(missing.begin(), missing.end(), true) == missing.end();
}

void ModelWorld::check_safe(const ShardRecord& next, bool may_be_lost) {
  const ModelProcess* primary = alive(next.primary);
  if (primary != nullptr && may_be_lost) {
    std::vector<bool> kept(writes_ + 1);
    for (const std::uint32_t write : primary->writes) kept[write] = true;
    for (std::size_t write = 0; write < safe_.size(); ++write) {
      if (!kept[write]) safe_[write] = false;
    }
  }
  if (primary != nullptr && !has_safe(*primary)) {
    throw ModelViolation{"B: a primary lacks a safe write"};
  }
  for (const NodeMemory& memory : next.insync) {
    const ModelProcess* process = alive(memory);
    if (process != nullptr && !has_safe(*process)) {
      throw ModelViolation{"D: a member of the set lacks a safe write"};
    }
  }
}

void ModelWorld::check_drop(const NodeMemory& memory) const {
  if (record().has(memory)) throw ModelViolation{"D: a member of the set drops its data"};
}

// Just when something has changed is the worst moment.
void ModelWorld::fail_after_commit(const NodeMemory& primary) {
  const bool is_crash = one_in(2) && !record().insync.empty();
  const Millis time = millis(1500, 4000);
  after(millis(0, 100), [this, primary, is_crash, time] {
    ModelProcess* process = alive(primary);
    if (process == nullptr || process->is_paused) return;
    if (is_crash) {
      crash_if_allowed(process->node);
    } else {
      pause(*process, time);
    }
  });
}

void ModelWorld::check_recovery(const ShardRecord& before, const ShardRecord& record) {
  ++counts_.recoveries;
  std::vector<NodeMemory> named = before.insync;
  named.push_back(before.primary);
  const auto rank = [&](const std::string& node) {
    const auto live = records_.find(live_key(node));
    return live ? data_of(*parse_live_record(*live->value)) : DataEnd();
  };
  for (const NodeMemory& memory : named) {
    if (alive(memory) != nullptr) throw ModelViolation{"R: recovery while a named process lives"};
    if (rank(memory.node) > rank(record.primary.node)) {
      throw ModelViolation{"R: recovery by a node that has less than another"};
    }
  }
  const ModelProcess* taker = alive(record.primary);
  if (taker == nullptr) return;
  std::vector<bool> missing = safe_;
  for (const std::uint32_t write : taker->writes) {
    if (write < missing.size()) missing[write] = false;
  }
  for (const ModelProcess* other : nodes_) {
    if (other == taker || other->is_dead) continue;
    // One that has just copied the data may not have announced it: nothing is safe by it yet.
    const auto live = records_.find(live_key(other->memory.node));
    if (!other->was_named && (!live || parse_live_record(*live->value)->held == 0)) continue;
    for (const std::uint32_t write : other->writes) {
      if (write < missing.size() && missing[write]) {
        throw ModelViolation{"W: recovery without a safe write that another process has"};
      }
    }
  }
}

// ---- Tests ----

namespace {

// Runs schedules until one fails; what it says, or "".
std::string run_model(std::uint64_t first, std::uint64_t schedules, ModelOptions options,
                      ModelCounts& sum) {
  for (std::uint64_t seed = first; seed < first + schedules; ++seed) {
    options.nodes = 3 + static_cast<int>(seed % 2);
    ModelWorld world(seed, options);
    try {
      world.run();
    } catch (const ModelViolation& violation) {
      return "seed " + std::to_string(seed) + ": " + violation.what;
    }
    const ModelCounts& counts = world.counts();
    ++sum.schedules;
    sum.takeovers += counts.takeovers;
    sum.handovers += counts.handovers;
    sum.forced += counts.forced;
    sum.recoveries += counts.recoveries;
    sum.decisions += counts.decisions;
    sum.jumps += counts.jumps;
    sum.restores += counts.restores;
    sum.crashes += counts.crashes;
    sum.additions += counts.additions;
    sum.removals += counts.removals;
    sum.returns += counts.returns;
    sum.full_syncs += counts.full_syncs;
    sum.operations += counts.operations;
    sum.safe_writes += counts.safe_writes;
  }
  return "";
}

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST(ShardModel, NoScheduleBreaksAPromise) {
  ModelOptions options;
  ModelCounts sum;
  const std::uint64_t seed = number_of("MAYFLY_MODEL_SEED", 0);
  if (seed != 0) options.is_traced = true;
  const std::uint64_t schedules = seed != 0 ? 1 : number_of("MAYFLY_MODEL_SCHEDULES", 100);
  EXPECT_EQ(run_model(seed != 0 ? seed : 1, schedules, options, sum), "");
  std::printf(
      "%llu schedules: %llu takeovers (%llu planned, %llu forced, %llu recoveries, %llu by "
      "people),\n"
      "%llu crashes, %llu jumps of clocks,\n"
      "%llu additions, %llu removals, %llu returns, %llu full synchronisations,\n"
      "%llu operations served, %llu safe writes\n",
      static_cast<unsigned long long>(sum.schedules),
      static_cast<unsigned long long>(sum.takeovers),
      static_cast<unsigned long long>(sum.handovers), static_cast<unsigned long long>(sum.forced),
      static_cast<unsigned long long>(sum.recoveries),
      static_cast<unsigned long long>(sum.decisions), static_cast<unsigned long long>(sum.crashes),
      static_cast<unsigned long long>(sum.jumps), static_cast<unsigned long long>(sum.additions),
      static_cast<unsigned long long>(sum.removals), static_cast<unsigned long long>(sum.returns),
      static_cast<unsigned long long>(sum.full_syncs),
      static_cast<unsigned long long>(sum.operations),
      static_cast<unsigned long long>(sum.safe_writes));
  if (seed == 0 && schedules >= 100) {
    EXPECT_GT(sum.handovers, schedules / 4);
    EXPECT_GT(sum.forced, schedules / 10);
    EXPECT_GT(sum.recoveries, schedules / 10);
    EXPECT_GT(sum.decisions, schedules / 50);
    EXPECT_GT(sum.jumps, schedules / 2);
    EXPECT_GT(sum.safe_writes, 100 * schedules);
  }
}

TEST(ShardModel, NorDoesARegisterThatGoesBack) {
  ModelOptions options;
  options.do_restore = true;
  ModelCounts sum;
  const std::uint64_t seed = number_of("MAYFLY_MODEL_RESTORE_SEED", 0);
  if (seed != 0) options.is_traced = true;
  const std::uint64_t schedules = seed != 0 ? 1 : number_of("MAYFLY_MODEL_SCHEDULES", 100);
  EXPECT_EQ(run_model(seed != 0 ? seed : 1, schedules, options, sum), "");
  EXPECT_GT(sum.restores, sum.schedules * 3 / 4);
}

TEST(ShardModel, NeedsToKnowItsRegister) {
  ModelOptions options;
  options.do_restore = options.trusts_any = true;
  ModelCounts sum;
  const std::string found = run_model(1, 500, options, sum);
  std::printf("%s\n", found.c_str());
  EXPECT_NE(found, "") << "the model does not need this rule";
}

struct Fault {
  const char* name;
  bool ShardFaults::*is_on;
  bool ModelOptions::*more = nullptr;
};

class ShardModelFault : public testing::TestWithParam<Fault> {};

TEST_P(ShardModelFault, IsNoticed) {
  ModelOptions options;
  options.faults.*GetParam().is_on = true;
  if (GetParam().more != nullptr) options.*GetParam().more = true;
  ModelCounts sum;
  const std::string found = run_model(1, 500, options, sum);
  std::printf("%s\n", found.c_str());
  EXPECT_NE(found, "") << "the model does not need this rule";
}

INSTANTIATE_TEST_SUITE_P(
    Each, ShardModelFault,
    testing::Values(
        Fault{"ShortGrace", &ShardFaults::short_grace},
        Fault{"NeedNothing", &ShardFaults::need_nothing},
        Fault{"EarlyRemoval", &ShardFaults::early_removal},
        Fault{"EarlyAddition", &ShardFaults::early_addition},
        Fault{"JoinsWithout", &ShardFaults::joins_without},
        Fault{"GivesUp", &ShardFaults::gives_up, &ModelOptions::is_register_slow},
        Fault{"GrantsTaking", &ShardFaults::grants_taking, &ModelOptions::is_register_slow},
        Fault{"AnyLives", &ShardFaults::any_lives, &ModelOptions::do_all_crash},
        Fault{"AnyVersion", &ShardFaults::any_version},
        Fault{"HandoverServes", &ShardFaults::handover_serves},
        Fault{"DropsEarly", &ShardFaults::drops_early},
        Fault{"ForcedEarly", &ShardFaults::forced_early}, Fault{"NoFloor", &ShardFaults::no_floor},
        Fault{"AnyFloor", &ShardFaults::any_floor, &ModelOptions::do_clocks_jump},
        Fault{"TakesOlder", &ShardFaults::takes_older, &ModelOptions::do_restore},
        Fault{"EmptyRecovers", &ShardFaults::empty_recovers, &ModelOptions::do_empty_return},
        Fault{"EpochIsEnough", &ShardFaults::epoch_is_enough, &ModelOptions::do_stale_return},
        Fault{"IsNeverAsked", &ShardFaults::is_never_asked, &ModelOptions::do_stale_return}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace mayfly
