// SPDX-License-Identifier: Apache-2.0
// One ShardMachine, and a host that notes what it wants done.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/shard_machine.h"

namespace mayfly {

using namespace std::chrono_literals;

inline const std::string kProcess = "000000000000000";  // and a digit more

inline const NodeMemory kSelf{std::string(40, 'b'), kProcess + "1"};
inline const NodeMemory kOne{std::string(40, 'a'), kProcess + "1"};
inline const NodeMemory kTwo{std::string(40, 'c'), kProcess + "1"};

class StepHost : public ShardHost {
 public:
  std::string history() const override { return its_history; }
  std::uint64_t log_end() const override { return end; }
  Time wall() const override { return Time(1'000'000s) + (now - Time{}) + ahead; }
  Millis wall_ahead() const override { return ahead; }
  void limit_wall(Millis most) override { ahead = std::min(ahead, most); }
  bool is_data_complete() const override { return is_complete; }

  void commit(std::uint64_t version, const ShardRecord& record,
              const std::map<std::string, std::uint64_t>& lives) override {
    ++commits;
    base = version;
    sent = record;
    sent_lives = lives;
  }
  void send_pulse(const NodeMemory& primary, const Pulse& pulse) override {
    pulses.emplace_back(primary, pulse);
  }
  void send_canvass(const NodeMemory& member, const Canvass& canvass) override {
    canvasses.emplace_back(member, canvass);
  }
  void lead(const ShardRecord&, Time floor) override {
    calls += "lead ";
    floor_given = floor;
  }
  void follow(const ShardRecord&) override { calls += "follow "; }
  void detach() override { calls += "detach "; }
  void settle(std::uint64_t version) override {
    calls += "settle ";
    settled = version;
  }
  void pause_writes(bool is_paused) override { calls += is_paused ? "pause " : "go "; }
  void announce_again() override { ++announced; }
  void log(const std::string& line) override { lines.push_back(line); }

  Time now{};
  std::string its_history = "h";
  std::uint64_t end = 100;
  bool is_complete = true;
  int commits = 0;
  std::uint64_t base = 0;
  ShardRecord sent;
  std::map<std::string, std::uint64_t> sent_lives;
  std::vector<std::pair<NodeMemory, Pulse>> pulses;
  std::vector<std::pair<NodeMemory, Canvass>> canvasses;
  std::string calls;
  Time floor_given{};
  std::uint64_t settled = 0;
  int announced = 0;
  Millis ahead{0};  // of the machine's clock
  std::vector<std::string> lines;
};

class ShardMachineTest : public testing::Test {
 protected:
  ShardMachineTest() : machine_(kSelf, ShardTimes(2000ms), 500ms, host_) { pass(1h); }

  Time now() const { return host_.now; }
  void pass(Millis time) { host_.now += time; }
  void pass_and_tick(Millis time) {
    for (const Time end = now() + time; now() < end;) {
      pass(10ms);
      machine_.tick(now());
    }
  }

  void see(std::uint64_t version, std::uint64_t epoch, const NodeMemory& primary,
           std::vector<NodeMemory> insync, Time since = Time(1000s)) {
    ShardRecord record;
    record.epoch = epoch;
    record.primary = primary;
    record.insync = std::move(insync);
    record.slots = SlotSet({{0, 5}});
    record.since = since;
    machine_.record_seen(version, record, now());
  }
  void see_live(const NodeMemory& memory, std::uint64_t version, std::uint64_t epoch = 0,
                std::uint64_t offset = 0, std::uint64_t held = 0, std::uint64_t settled = 0,
                std::uint64_t end = 0) {
    LiveRecord live;
    live.incarnation = memory.incarnation;
    live.epoch = epoch;
    live.offset = offset;
    live.held = held;
    live.settled = settled;
    live.end = end;
    machine_.live_seen(memory.node, version, live, now());
  }

  // A pulse of a replica that has all of our log, and knows the token `age` ago.
  Pulse pulse(const NodeMemory& from, Millis age = 0ms) const {
    return {.epoch = machine_.epoch(),
            .from = from,
            .history = "h",
            .offset = host_.end,
            .token = now() - age,
            .own = now(),
            .wall = host_.wall(),
            .leaves = false};
  }
  // An answer of the primary to a pulse that is sent now.
  PulseReply reply(bool is_serving = true) const {
    return {.epoch = machine_.epoch(),
            .version = machine_.version(),
            .token = now(),
            .echo = now(),
            .wall = host_.wall() + 300ms,
            .is_serving = is_serving,
            .is_in_sync = true};
  }

  void answer(CommitOutcome outcome, std::uint64_t version = 0) {
    machine_.committed({.outcome = outcome, .version = version, .current = {}, .error = {}}, now());
  }
  void refuse(std::uint64_t version, const ShardRecord& record) {
    CommitAnswer answer{
        .outcome = CommitOutcome::refused, .version = 0, .current = {}, .error = {}};
    answer.current.push_back({"shards/s", to_text(record), version});
    machine_.committed(answer, now());
  }

  // In sync below kOne, with kTwo as another member, and a promise that ends in G.
  void follow_one() {
    see_live(kSelf, 1);
    see(10, 5, kOne, {kSelf, kTwo});
    machine_.tick(now());
    machine_.pulse_answered(kOne, reply(), now());
  }
  // Leads with kOne in the set.
  void lead_with_one() {
    see(10, 5, kSelf, {kOne});
    machine_.pulsed(pulse(kOne), now());
    machine_.tick(now());
  }

  StepHost host_;
  ShardMachine machine_;
};

}  // namespace mayfly
