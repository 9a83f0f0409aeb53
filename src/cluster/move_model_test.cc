// SPDX-License-Identifier: Apache-2.0
// Every state that a move of slots can get into, with the real machines of both ends: commits that
// are done late, twice or never, answers that are lost, connections that one end believes in longer
// than the other, and the death of either end at every step.
//
// MAYFLY_MODEL_VERSIONS=4 looks at more of them.
//
// I1  the source does not serve what the record gives to the target, and never both serve
// I2  what the record gives to the target is at the target: staged and safe, or its own
// I3  a job that was cancelled does not happen
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "cluster/move_machine.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr Time kLate{1h};  // whatever waits for a time has waited long enough

// Everything that is in the world at one moment.
MoveSourceState source_at(std::uint64_t version) {
  MoveSourceState state;
  state.source_version = version;
  state.job_version = 1;
  return state;
}

struct MoveWorld {
  std::uint64_t source_version = 1;
  std::uint64_t target_version = 1;
  bool is_targets = false;  // the slots, by the records
  bool is_cancelled = false;
  bool has_moved_cancelled = false;
  MoveSourceState source = source_at(1);
  MoveTargetState target;
  // On the connection, which each end may find broken at its own time.
  bool is_begin_on_way = false;
  bool is_last_on_way = false;
  std::uint64_t ready_on_way = 0;
  bool is_broken_for_source = false;
  bool is_broken_for_target = false;
  // On the way to the register.
  std::set<MoveVersions> commits;
  std::set<std::uint64_t> raises;

  std::string key() const {
    std::string key;
    const auto add = [&](auto value) { key.push_back(static_cast<char>(value)); };
    add(source_version), add(target_version), add(is_targets), add(source.state);
    add(is_cancelled), add(has_moved_cancelled), add(source.job_version), add(source.sent.job);
    add(source.source_version), add(source.ready_version), add(source.sent.source);
    add(source.sent.target), add(source.is_connected), add(source.is_asked);
    add(target.phase), add(target.version), add(target.ready_version), add(target.is_connected);
    add(target.is_asked), add(target.is_told), add(is_begin_on_way), add(is_last_on_way),
        add(ready_on_way);
    add(is_broken_for_source), add(is_broken_for_target), add(commits.size());
    for (const MoveVersions& commit : commits) {
      add(commit.source), add(commit.target), add(commit.job);
    }
    for (const std::uint64_t raise : raises) add(raise);
    return key;
  }

  std::uint64_t job_version() const { return is_cancelled ? 2 : 1; }

  bool is_source_serving() const {
    return source.state != MoveState::pause && source.state != MoveState::commit &&
           source.state != MoveState::done;
  }
};

// The hosts of both ends: what they are told to do becomes part of the world.
class MoveStep : public MoveSourceHost, public MoveTargetHost {
 public:
  MoveStep(const MoveWorld& before, const MoveFaults& faults)
      : world(before),
        source(*this, before.source, faults),
        target(*this, before.target, faults),
        faults_(faults) {}

  void connect() override { world.is_begin_on_way = true; }
  void send_snapshot() override {}
  void pause_slots() override {}
  void send_last() override { world.is_last_on_way = true; }
  void commit(const MoveVersions& versions) override { world.commits.insert(versions); }
  void send_yours() override {}
  void disconnect() override { cut(false, true); }
  void send_ready(std::uint64_t version) override { world.ready_on_way = version; }
  void raise(std::uint64_t version) override { world.raises.insert(version); }
  void drop_staging() override { cut(true, false); }
  void show_staging() override {}

  // The connection ends: what is on it is lost.
  void cut(bool source_hears, bool target_hears) {
    world.is_begin_on_way = world.is_last_on_way = false;
    world.ready_on_way = 0;
    world.is_broken_for_source = world.is_broken_for_source || source_hears;
    world.is_broken_for_target = world.is_broken_for_target || target_hears;
  }

  // The machines are replaced by those of a successor.
  void replace_source() {
    ++world.source_version;
    MoveSourceState state = source_at(world.source_version);
    state.state = world.is_targets ? MoveState::done : MoveState::waiting;
    new_source = state;
    cut(false, true);
    world.is_broken_for_source = false;
  }
  void replace_target() {
    ++world.target_version;
    const MoveTargetPhase phase = target.phase();
    const bool is_staged = phase != MoveTargetPhase::none && phase != MoveTargetPhase::dropped;
    cut(true, false);
    world.is_broken_for_target = false;
    if (is_staged && phase != MoveTargetPhase::serving) {
      target.inherit(world.target_version, world.is_targets);
    } else {
      target.record_seen(world.target_version, world.is_targets);
    }
  }

  MoveWorld after() {
    world.source = new_source ? *new_source : source.state();
    world.target = target.state();
    world.source.again = world.target.again = Time{};
    if (!world.target.is_connected) world.is_broken_for_target = false;
    if (!world.source.is_connected) world.is_broken_for_source = false;
    return world;
  }

  MoveWorld world;
  MoveSource source;
  MoveTarget target;
  std::optional<MoveSourceState> new_source;

 private:
  MoveFaults faults_;
};

using Visit = std::function<void(const char*, const MoveWorld&)>;

class MoveExplorer {
 public:
  MoveExplorer(const MoveFaults& faults, std::uint64_t versions)
      : faults_(faults), version_max_(versions) {}

  // What is wrong in some state, and the way there; "" if nothing is in any.
  std::string explore() {
    reach("start", MoveWorld{}, nullptr);
    while (!queue_.empty()) {
      const MoveWorld world = queue_.front();
      queue_.pop_front();
      const std::string* from = &states_.find(world.key())->first;
      const std::string wrong = what_is_wrong(world);
      if (!wrong.empty()) return wrong + " after: " + way_to(*from);
      if (world.target.phase == MoveTargetPhase::serving) ++moved;
      each_next(world, [&](const char* name, const MoveWorld& next) { reach(name, next, from); });
    }
    return "";
  }

  std::size_t states() const { return states_.size(); }
  std::size_t moved = 0;

 private:
  struct From {
    const char* step;
    const std::string* state;
  };

  void reach(const char* step, const MoveWorld& world, const std::string* from) {
    if (states_.try_emplace(world.key(), From{step, from}).second) queue_.push_back(world);
  }

  std::string way_to(const std::string& state) const {
    std::string way;
    for (const std::string* at = &state; at != nullptr;) {
      const From& from = states_.at(*at);
      way = std::string(from.step) + "; " + way;
      at = from.state;
    }
    return way;
  }

  static std::string what_is_wrong(const MoveWorld& world) {
    const MoveTargetPhase phase = world.target.phase;
    if (world.is_targets && world.is_source_serving()) return "I1: the source serves";
    if (world.is_source_serving() && phase == MoveTargetPhase::serving) return "I1: both serve";
    const bool is_there = phase == MoveTargetPhase::ready || phase == MoveTargetPhase::raising ||
                          phase == MoveTargetPhase::serving;
    if (world.is_targets && !is_there) return "I2: the target does not have the slots";
    if (world.has_moved_cancelled) return "I3: a cancelled job has happened";
    return "";
  }

  template <class Act>
  void step(const MoveWorld& world, const char* name, const Visit& visit, Act act) const {
    MoveStep next(world, faults_);
    act(next);
    visit(name, next.after());
  }

  void each_next(const MoveWorld& world, const Visit& visit) const {
    each_message(world, visit);
    each_commit(world, visit);
    each_raise(world, visit);
    each_change(world, visit);
  }

  void each_message(const MoveWorld& world, const Visit& visit) const {
    step(world, "source starts", visit, [](MoveStep& s) { s.source.start(); });
    if (world.source.state == MoveState::failed && !world.is_targets && !world.is_cancelled) {
      step(world, "source tries again", visit, [](MoveStep& s) {
        s.new_source = source_at(s.source.state().source_version);
        s.cut(false, true);
      });
    }
    step(world, "source ticks", visit, [](MoveStep& s) { s.source.tick(kLate); });
    step(world, "target ticks", visit, [](MoveStep& s) { s.target.tick(kLate); });
    if (world.is_begin_on_way) {
      step(world, "BEGIN", visit, [](MoveStep& s) {
        s.world.is_begin_on_way = false;
        const MoveTargetPhase phase = s.target.phase();
        if (phase == MoveTargetPhase::none || phase == MoveTargetPhase::dropped) {
          s.target.begin(s.world.target_version);
          s.source.begun();
        } else {
          s.source.broken("the target is busy");
        }
      });
    }
    if (world.source.state == MoveState::snapshot && world.target.is_connected) {
      step(world, "snapshot sent", visit, [](MoveStep& s) { s.source.sent(); });
    }
    step(world, "little is left", visit, [](MoveStep& s) { s.source.streamed(0, Time{}); });
    if (world.is_last_on_way) {
      step(world, "LAST", visit, [](MoveStep& s) {
        s.world.is_last_on_way = false;
        s.target.safe();
      });
    }
    if (world.ready_on_way != 0) {
      step(world, "READY", visit, [](MoveStep& s) {
        const std::uint64_t version = std::exchange(s.world.ready_on_way, 0);
        s.source.ready(version);
      });
    }
    if (world.source.is_connected) {
      step(world, "connection ends", visit, [](MoveStep& s) { s.cut(true, true); });
    }
    if (world.is_broken_for_source) {
      step(world, "source loses target", visit, [](MoveStep& s) {
        s.world.is_broken_for_source = false;
        s.source.broken("it ended");
      });
    }
    if (world.is_broken_for_target) {
      step(world, "target loses source", visit, [](MoveStep& s) {
        s.world.is_broken_for_target = false;
        s.target.broken(Time{});
      });
    }
  }

  // The register hears a commit of the move, or never does; and so does the source its answer.
  void each_commit(const MoveWorld& world, const Visit& visit) const {
    if (world.source.is_asked) {
      step(world, "no answer to the commit", visit,
           [](MoveStep& s) { s.source.committed(CommitOutcome::unknown, {}, Time{}); });
    }
    for (const MoveVersions& commit : world.commits) {
      step(world, "a commit is lost", visit, [&](MoveStep& s) { s.world.commits.erase(commit); });
      const bool fits = !world.is_targets &&
                        (commit.source == 0 || commit.source == world.source_version) &&
                        (commit.target == 0 || commit.target == world.target_version) &&
                        (commit.job == 0 || commit.job == world.job_version());
      if (fits && (world.source_version >= version_max_ || world.target_version >= version_max_)) {
        continue;
      }
      for (const bool is_heard : {true, false}) {
        step(world, fits ? "the commit is done" : "a commit is refused", visit, [&](MoveStep& s) {
          s.world.commits.erase(commit);
          if (fits) {
            s.world.is_targets = true;
            s.world.has_moved_cancelled = s.world.is_cancelled;
            ++s.world.source_version;
            ++s.world.target_version;
          }
          if (!is_heard || commit != s.source.state().sent) return;
          const MoveCurrent current{
              .versions = {s.world.source_version, s.world.target_version, s.world.job_version()},
              .source_has_slots = !s.world.is_targets,
              .is_wanted = !s.world.is_cancelled};
          s.source.committed(fits ? CommitOutcome::done : CommitOutcome::refused, current, Time{});
        });
      }
    }
  }

  void each_raise(const MoveWorld& world, const Visit& visit) const {
    if (world.target.is_asked) {
      step(world, "no answer to the raise", visit,
           [](MoveStep& s) { s.target.committed(CommitOutcome::unknown, 0, false, Time{}); });
    }
    for (const std::uint64_t raise : world.raises) {
      step(world, "a raise is lost", visit, [&](MoveStep& s) { s.world.raises.erase(raise); });
      const bool fits = raise == world.target_version;
      if (fits && world.target_version >= version_max_) continue;
      for (const bool is_heard : {true, false}) {
        step(world, fits ? "the raise is done" : "a raise is refused", visit, [&](MoveStep& s) {
          s.world.raises.erase(raise);
          if (fits) ++s.world.target_version;
          if (!is_heard || raise != s.target.state().ready_version) return;
          s.target.committed(fits ? CommitOutcome::done : CommitOutcome::refused,
                             s.world.target_version, s.world.is_targets, Time{});
        });
      }
    }
  }

  // Records are seen; sets of replicas change; primaries die.
  void each_change(const MoveWorld& world, const Visit& visit) const {
    step(world, "source reads", visit, [](MoveStep& s) {
      s.source.record_seen(s.world.source_version, !s.world.is_targets, true);
    });
    if (!world.is_cancelled && !world.is_targets) {
      step(world, "cancelled", visit, [](MoveStep& s) { s.world.is_cancelled = true; });
    }
    step(world, "source reads the job", visit,
         [](MoveStep& s) { s.source.job_seen(s.world.job_version(), !s.world.is_cancelled); });
    if (world.is_targets && world.target.is_connected) {
      step(world, "YOURS", visit, [](MoveStep& s) { s.target.yours(); });
    }
    step(world, "target reads", visit,
         [](MoveStep& s) { s.target.record_seen(s.world.target_version, s.world.is_targets); });
    if (world.source_version < version_max_) {
      if (world.source.source_version == world.source_version) {
        step(world, "source changes its set", visit, [](MoveStep& s) {
          s.source.record_seen(++s.world.source_version, !s.world.is_targets, true);
        });
      }
      step(world, "source dies", visit, [](MoveStep& s) { s.replace_source(); });
    }
    if (world.target_version < version_max_) {
      if (world.target.version == world.target_version) {
        step(world, "target changes its set", visit, [](MoveStep& s) {
          s.target.record_seen(++s.world.target_version, s.world.is_targets);
        });
      }
      step(world, "target dies", visit, [](MoveStep& s) { s.replace_target(); });
    }
  }

  MoveFaults faults_;
  std::uint64_t version_max_;  // of each record: where exploring ends
  std::unordered_map<std::string, From> states_;
  std::deque<MoveWorld> queue_;
};

TEST(MoveModel, NoStateBreaksAPromise) {
  // 4 make 1.6 million states.
  const char* versions = std::getenv("MAYFLY_MODEL_VERSIONS");
  MoveExplorer explorer({}, versions == nullptr ? 3 : std::strtoull(versions, nullptr, 10));
  EXPECT_EQ(explorer.explore(), "");
  EXPECT_GT(explorer.moved, 100U);
  std::printf("%zu states, in %zu the target serves\n", explorer.states(), explorer.moved);
}

struct MoveFault {
  const char* name;
  bool MoveFaults::*is_on;
};

class MoveModelFault : public testing::TestWithParam<MoveFault> {};

TEST_P(MoveModelFault, IsNoticed) {
  MoveFaults faults;
  faults.*GetParam().is_on = true;
  MoveExplorer explorer(faults, 3);
  const std::string found = explorer.explore();
  std::printf("%s\n", found.c_str());
  EXPECT_NE(found, "");
}

INSTANTIATE_TEST_SUITE_P(Each, MoveModelFault,
                         testing::Values(MoveFault{"Resumes", &MoveFaults::resumes},
                                         MoveFault{"DropsReady", &MoveFaults::drops_ready},
                                         MoveFault{"AnySource", &MoveFaults::any_source_version},
                                         MoveFault{"AnyTarget", &MoveFaults::any_target_version},
                                         MoveFault{"AnyJob", &MoveFaults::any_job_version}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace mayfly
