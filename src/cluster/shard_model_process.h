// SPDX-License-Identifier: Apache-2.0
// For shard_model_test.cc: one process of a node, as the server around a ShardMachine. Its data is
// a log of writes with a history; replicas continue it (partially, by the history they have), or
// drop all they have and copy it: see shard_model_stream.h.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/floored_clock.h"
#include "cluster/shard_model.h"

namespace mayfly {

class ModelProcess : public ShardHost {
 public:
  using Log = std::vector<std::uint32_t>;

  // What a file has, and when it is loaded.
  struct Stored {
    Log writes;
    std::string history;
    std::uint64_t epoch = 0;
  };

  ModelProcess(ModelWorld& world, int its_node, NodeMemory its_memory, Stored stored)
      : memory(std::move(its_memory)),
        node(its_node),
        machine(memory, ShardTimes(Millis(2000)), Millis(500), *this, world.options().faults),
        world_(world),
        register_(world.records()),
        rate_(world.between(0.95, 1.05)),
        clock_offset_(world.millis(0, 1'000'000)),
        wall_offset_(world.millis(-200, 200)),
        stored_(std::move(stored)) {
    register_.weather = [this] { return world_.weather(node); };
    register_.watch([this](const std::vector<RegisterEntry>& entries) { take_in(entries); });
    announce();
  }

  // The data has been read from the file.
  void loaded() {
    if (is_dead) return;
    is_complete_ = is_loaded_ = true;
    writes = stored_.writes;
    history_ = stored_.history.empty() ? world_.new_history() : stored_.history;
    loaded_ = {stored_.epoch, writes.size()};
    announce();
    step();
  }

  const NodeMemory memory;
  const int node;
  bool is_dead = false;
  bool is_paused = false;
  bool is_write_paused = false;
  bool was_named = false;                    // by a record, with the data that it has
  std::vector<std::function<void()>> inbox;  // while it is paused
  Log writes;
  ShardMachine machine;

  // By its own clock.
  Time own_time() const {
    const double ms = static_cast<double>((world_.now() - Time{}).count()) * rate_;
    return Time(clock_offset_ + Millis(static_cast<std::int64_t>(ms)));
  }
  bool has_loaded() const { return !is_dead && is_loaded_; }
  bool has_all() const { return is_complete_; }
  std::uint64_t held() const { return held_; }
  std::uint64_t loaded_epoch() const { return loaded_.first; }
  bool is_serving() const { return !is_dead && !is_paused && machine.is_serving(own_time()); }

  void write(std::uint32_t id) {
    writes.push_back(id);
    changed();
  }

  void die() {
    is_dead = true;
    register_.end();
  }

  Stored stored(double part) const {
    if (!is_complete_) return is_loaded_ ? Stored{} : stored_;
    const auto kept = static_cast<std::ptrdiff_t>(static_cast<double>(writes.size()) * part);
    const bool is_whole = static_cast<std::size_t>(kept) == writes.size();
    const std::uint64_t last = held_ > 0 ? held_ : loaded_.first;
    const std::uint64_t within = kept == 0 ? 0 : world_.epoch_of(writes[kept - 1]);
    return {Log(writes.begin(), writes.begin() + kept), history_, is_whole ? last : within};
  }

  // Everything that is due. Called again and again.
  void tick() {
    is_tick_due_ = is_paused;
    if (is_dead || is_paused) return;
    step();
    const Millis rest =
        machine.next_tick() == Time::min() ? Millis(0) : machine.next_tick() - own_time();
    const Millis wait = std::clamp(rest, Millis(5), Millis(100)) + world_.millis(0, 20);
    world_.after(wait, [this] { tick(); });
  }

  void resume() {
    is_paused = false;
    if (is_dead) return;
    auto box = std::exchange(inbox, {});
    for (const auto& act : box) act();
    if (is_tick_due_) tick();
  }

  void deliver() {
    if (is_dead || is_paused || !register_.has_answers()) return;
    register_.deliver();
    changed();
  }

  // ---- ShardHost ----
  std::string history() const override { return history_; }
  std::uint64_t log_end() const override { return writes.size(); }
  Time wall() const override {
    set_clocks();
    return clock_.now();
  }
  Millis wall_ahead() const override {
    set_clocks();
    return clock_.ahead();
  }
  void limit_wall(Millis most) override {
    set_clocks();
    clock_.limit(most);
  }
  bool is_data_complete() const override { return is_complete_; }

  void commit(std::uint64_t version, const ShardRecord& record,
              const std::map<std::string, std::uint64_t>& lives) override {
    RegisterCommit commit{{{"shards/s", version}}, {{"shards/s", to_text(record)}}};
    for (const auto& [name, live] : lives) commit.compares.push_back({live_key(name), live});
    const int number = ++commits_;
    register_.commit(std::move(commit), [this, number](const CommitAnswer& answer) {
      if (number == commits_) machine.committed(answer, own_time());
    });
  }

  void send_pulse(const NodeMemory& primary, const Pulse& pulse) override {
    world_.send(node, primary, [pulse](ModelProcess& to) {
      const auto reply = to.machine.pulsed(pulse, to.own_time());
      to.changed();
      if (!reply) return;
      to.world_.send(to.node, pulse.from, [reply = *reply, from = to.memory](ModelProcess& back) {
        back.machine.pulse_answered(from, reply, back.own_time());
        back.changed();
      });
    });
  }

  void send_canvass(const NodeMemory& member, const Canvass& canvass) override {
    world_.send(node, member, [canvass](ModelProcess& to) {
      const auto reply = to.machine.canvassed(canvass, to.own_time());
      if (!reply) return;
      to.world_.send(to.node, canvass.from, [reply = *reply](ModelProcess& back) {
        back.machine.canvass_answered(reply, back.own_time());
      });
    });
  }

  void lead(const ShardRecord& record, Time floor) override {
    set_clocks();
    clock_.raise(floor);
    settled_ = 0;
    disconnect();
    is_detached_ = false;
    primary_.reset();
    if (record.epoch == led_epoch_) return;
    led_epoch_ = record.epoch;
    hold(record.epoch);
    former_ = {history_, writes.size()};
    history_ = world_.new_history();
    links_.clear();
    safe_ = 0;
    needs_full_ = false;
  }

  void follow(const ShardRecord& record) override {
    primary_ = record.primary;
    settled_ = 0;
    is_detached_ = false;
    links_.clear();
    if (needs_full_) stop_leaving();
    connect();
  }

  void detach() override {
    disconnect();
    is_detached_ = true;
  }
  void settle(std::uint64_t version) override {
    detach();
    if (needs_full_) stop_leaving();
    settled_ = version;
    if (held_ > 0) announce();
  }
  void pause_writes(bool is_paused_now) override { is_write_paused = is_paused_now; }
  void announce_again() override { announce(); }
  void log(const std::string& line) override {
    world_.trace(memory.node.substr(0, 1) + " " + line);
  }

 private:
  struct Link {
    int connection = 0;
    std::uint64_t position = 0;
  };

  void step();
  void changed();
  bool admits(const RegisterSnapshot& snapshot);
  void take_in(const std::vector<RegisterEntry>& entries);
  void announce();
  void hold(std::uint64_t epoch) {
    if (std::exchange(held_, epoch) != epoch) announce();
  }
  void set_clocks() const {
    wall_.set(world_.wall() + wall_offset_ + world_.jump_of(node));
    steady_.set(own_time());
  }

  // At the replica.
  void connect();
  void disconnect() {
    ++connection_;
    is_connected_ = false;
  }
  void stop_leaving();
  void drop_data();
  void continued(int connection, const std::string& history);
  void must_copy(int connection);
  void copied(int connection, const std::string& history, const Log& all);
  void received(int connection, std::uint64_t from, const Log& part);

  // At the primary.
  void asked(const NodeMemory& from, int connection, const std::string& history,
             std::uint64_t offset, bool is_all_wanted);
  void stream();

  ModelWorld& world_;
  FakeRegister register_;
  const double rate_;
  const Millis clock_offset_;
  const Millis wall_offset_;
  Stored stored_;
  std::pair<std::uint64_t, std::uint64_t> loaded_;  // epoch and offset
  std::uint64_t held_ = 0;                          // LiveRecord::held
  std::uint64_t settled_ = 0;                       // the same
  mutable ManualClock wall_;
  mutable ManualClock steady_;
  FlooredClock clock_{wall_, steady_};
  Time read_{};
  bool is_tick_due_ = false;  // it was paused then
  int commits_ = 0;
  std::uint64_t version_ = 0;

  bool is_admitted_ = !world_.options().do_restore;  // it has read a register that it uses

  bool is_loaded_ = false;
  bool is_complete_ = false;
  std::string history_;
  std::pair<std::string, std::uint64_t> former_;

  std::map<NodeMemory, Link> links_;
  std::uint64_t led_epoch_ = 0;
  std::uint64_t safe_ = 0;

  std::optional<NodeMemory> primary_;
  bool is_detached_ = false;
  int connection_ = 0;
  bool is_connected_ = false;  // the primary has said that it continues
  Time heard_{};               // of it
  bool needs_full_ = false;
  Time needs_since_{};
};

// ---- All ----

inline void ModelProcess::step() {
  machine.tick(own_time());
  if (world_.now() >= read_) {
    read_ = world_.now() + (world_.is_read_seldom() ? Millis(5000) : Millis(1000));
    register_.read([this](const Result<RegisterSnapshot>& snapshot) {
      if (snapshot && !admits(*snapshot)) {
        read_ = world_.now() + Millis(200);
      } else if (snapshot) {
        take_in(snapshot->entries);
        for (const std::string& live : machine.live_nodes()) {
          const bool is_there =
              std::any_of(snapshot->entries.begin(), snapshot->entries.end(),
                          [&](const RegisterEntry& entry) { return entry.key == live_key(live); });
          if (!is_there) machine.live_gone(live, snapshot->version, own_time());
        }
      } else {
        read_ = world_.now() + Millis(200);
      }
    });
  }
  if (machine.is_leading()) {
    stream();
  } else if (primary_ && !is_detached_) {
    const bool is_late = world_.now() > heard_ + Millis(600);
    if (needs_full_ && world_.now() > needs_since_ + Millis(2500)) stop_leaving();
    if ((is_late || (world_.one_in(40) && !world_.is_quiet())) && (!needs_full_ || !is_complete_)) {
      connect();
    }
  }
  changed();
}

// As a server decides whether this is the register of its cluster, and no older state of it.
inline bool ModelProcess::admits(const RegisterSnapshot& snapshot) {
  if (!world_.options().do_restore) return true;
  if (!is_admitted_) {
    const bool is_trusted = !world_.options().trusts_any;
    if (is_trusted && !world_.may_use(node, snapshot)) return false;
    if (is_trusted) register_.trust({snapshot.id, snapshot.version});
    is_admitted_ = true;
    announce();
  }
  if (snapshot.version >= machine.version()) world_.note_use(node, snapshot);
  return true;
}

// After whatever may have changed the machine.
inline void ModelProcess::changed() {
  if (machine.version() < version_) throw ModelViolation{"V: a version runs back"};
  version_ = machine.version();
  if (needs_full_ && is_complete_ && !machine.in_record()) drop_data();
  if (!machine.is_leading()) return;
  // Where files are lost, a primary that was replaced may learn too late that a write was safe.
  const bool is_alone = !machine.has_active();
  if ((is_alone || world_.disk() != ModelWorld::Disk::all) && !is_serving()) return;
  // What a client may know of, if replies wait until they are safe: all, if nobody can take over.
  const std::uint64_t end = is_alone ? log_end() : machine.safe_offset();
  world_.note_safe(writes, safe_, end);
  safe_ = std::max(safe_, end);
}

inline void ModelProcess::take_in(const std::vector<RegisterEntry>& entries) {
  for (const RegisterEntry& entry : entries) {
    if (!entry.value || !is_loaded_ || !is_admitted_) continue;
    if (entry.key == "shards/s") {
      machine.record_seen(entry.version, *parse_shard_record(*entry.value), own_time());
    } else {
      machine.live_seen(entry.key.substr(5), entry.version, *parse_live_record(*entry.value),
                        own_time());
    }
  }
}

inline void ModelProcess::announce() {
  if (!is_admitted_) return;
  LiveRecord live;
  live.incarnation = memory.incarnation;
  live.epoch = loaded_.first;
  live.offset = loaded_.second;
  live.held = held_;
  live.settled = held_ > 0 ? settled_ : 0;
  if (live.settled > 0) live.end = writes.size();
  register_.announce(live_key(memory.node), to_text(live));
}

}  // namespace mayfly
