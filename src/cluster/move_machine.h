// SPDX-License-Identifier: Apache-2.0
// A move of slots from one shard to another, as its two ends decide it: MoveSource at the primary
// of the source, MoveTarget at that of the target. No sockets and no clock: messages, answers of
// the register and the time come in, calls of the host go out. docs/cluster.md has the protocol.
//
//   source                               target
//   waiting   -- BEGIN ------------->    staging   keys that nobody sees
//   snapshot  -- the keys ---------->
//   stream    -- what is written --->
//   pause     -- LAST -------------->
//             <------------- READY --    ready     all of it is safe, at this version of its record
//   commit    one commit on both records and the job
//   done      -- YOURS ------------->    serving
//
// From READY on the target must not throw the staging away before the version that it said is
// history: the source may just be committing. It *raises* its version for that, by a commit that
// changes nothing else. From sending the commit on the source must not serve before it knows that
// the commit has failed for ever.
//
// A machine is one attempt. It ends with the process, and with its being primary: the host throws
// it away then. Its state is a plain struct, so that a test can look at every state there is
// (move_model_test.cc).

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/records.h"
#include "cluster/register.h"
#include "mayfly/time.h"

namespace mayfly {

// Rules that a test takes out.
struct MoveFaults {
  bool resumes = false;             // a source that has no answer serves again
  bool drops_ready = false;         // a target that has said READY throws the staging away
  bool any_source_version = false;  // the commit does not compare the source's record
  bool any_target_version = false;  // nor the target's
  bool any_job_version = false;     // nor the job's

  bool operator==(const MoveFaults&) const = default;
};

// What a commit of a move compares. 0: nothing (a fault).
struct MoveVersions {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
  std::uint64_t job = 0;

  auto operator<=>(const MoveVersions&) const = default;
};

// The commit itself: the source's record without the slots, the target's with them, the job done.
// REQUIRES: the records are of the versions given.
RegisterCommit move_commit(const std::string& job_id, const MoveRecord& job,
                           const ShardRecord& source, const ShardRecord& target,
                           const MoveVersions& versions);

// How the records stand, as a refusal tells it. Versions of 0 are not known.
struct MoveCurrent {
  MoveVersions versions;
  bool source_has_slots = true;
  bool source_leads = true;  // the process that asked is still the primary
  bool is_wanted = true;     // the job is there, and nobody has cancelled it
};
MoveCurrent move_current(const std::string& job_id, const MoveRecord& job, const NodeMemory& self,
                         const CommitAnswer& answer);

// ---- The source ----

class MoveSourceHost {
 public:
  virtual ~MoveSourceHost() = default;

  // Connects to the primary of the target and says BEGIN; then begun(), or broken().
  virtual void connect() = 0;

  // Sends the keys of the slots; what is written meanwhile waits. Then sent(), or broken().
  virtual void send_snapshot() = 0;

  // Requests for the slots wait from now on, while is_paused(). All that was written is sent.
  virtual void pause_slots() = 0;
  virtual void send_last() = 0;

  // Sends move_commit() with these versions, which it has seen. The answer goes to committed();
  // only that to the last one.
  virtual void commit(const MoveVersions& versions) = 0;

  virtual void send_yours() = 0;
  virtual void disconnect() = 0;  // and forgets what waits to be sent
};

struct MoveSourceState {
  MoveState state = MoveState::waiting;
  std::uint64_t source_version = 0;  // of the shard's record, as known
  std::uint64_t job_version = 0;     // of moves/JOB, as known
  std::uint64_t ready_version = 0;   // of the target's record, as READY said; 0: not said
  MoveVersions sent;                 // of the commit, while its outcome is not known
  bool is_connected = false;
  bool is_asked = false;  // the commit is with the register, and not answered
  Time again{};           // when to act: to give up waiting for READY, to repeat the commit

  bool operator==(const MoveSourceState&) const = default;
};

class MoveSource {
 public:
  static constexpr Millis kReadyWithin{2000};      // of a pause
  static constexpr Millis kCommitAgain{50};        // after a commit without an answer
  static constexpr std::uint64_t kNear = 262'144;  // bytes on their way, when it pauses

  explicit MoveSource(MoveSourceHost& host, MoveSourceState state = {},
                      const MoveFaults& faults = {})
      : host_(host), state_(state), faults_(faults) {}

  // ---- In ----

  // The record of the shard. `has_slots`: all that shall move. `leads`: this process is its
  // primary.
  void record_seen(std::uint64_t version, bool has_slots, bool leads);

  // moves/JOB. Not wanted: people have cancelled it.
  void job_seen(std::uint64_t version, bool is_wanted);

  // REQUIRES: both were seen.
  void start();

  void begun();                                         // the target has made a staging
  void sent();                                          // the snapshot is sent
  void streamed(std::uint64_t bytes_behind, Time now);  // written and not acknowledged
  void ready(std::uint64_t target_version);
  void broken(std::string why);  // the connection, the child, the target
  void committed(CommitOutcome outcome, const MoveCurrent& current, Time now);
  void tick(Time now);

  // ---- Out ----
  const MoveSourceState& state() const { return state_; }
  MoveState is() const { return state_.state; }
  bool is_paused() const { return is() == MoveState::pause || is() == MoveState::commit; }
  bool is_over() const { return is() == MoveState::done || is() == MoveState::failed; }
  const std::string& why() const { return why_; }  // it has failed

 private:
  void give_up(std::string why);
  void send_commit();
  void moved();

  MoveSourceHost& host_;
  MoveSourceState state_;
  MoveFaults faults_;
  std::string why_;
};

// ---- The target ----

class MoveTargetHost {
 public:
  virtual ~MoveTargetHost() = default;

  // If not all of it is safe for a set that has changed, later.
  virtual void send_ready(std::uint64_t version) = 0;

  // Commits the record of the shard as it is, if it has this version. Then committed().
  virtual void raise(std::uint64_t version) = 0;

  virtual void drop_staging() = 0;
  virtual void show_staging() = 0;  // its keys are the shard's own from now on
};

enum class MoveTargetPhase { none, staging, ready, raising, serving, dropped };

struct MoveTargetState {
  MoveTargetPhase phase = MoveTargetPhase::none;
  std::uint64_t version = 0;        // of the shard's record, as known
  std::uint64_t ready_version = 0;  // as it said last
  bool is_connected = false;
  bool is_told = false;   // YOURS has come: the record that says so is on its way
  bool is_asked = false;  // a raise is with the register
  Time again{};

  bool operator==(const MoveTargetState&) const = default;
};

class MoveTarget {
 public:
  static constexpr Millis kRaiseAgain{50};
  static constexpr Millis kRecordWithin{1000};  // after YOURS

  explicit MoveTarget(MoveTargetHost& host, MoveTargetState state = {},
                      const MoveFaults& faults = {})
      : host_(host), state_(state), faults_(faults) {}

  // ---- In ----
  void begin(std::uint64_t version);  // BEGIN was taken, and the staging is made

  // This process has become primary, and has a staging of its predecessor.
  void inherit(std::uint64_t version, bool has_slots);

  void record_seen(std::uint64_t version, bool has_slots);
  void safe();            // LAST has come, and all of it is safe
  void yours();           // the record will say so in a moment
  void broken(Time now);  // the connection has ended

  // Refused: `version` is that of the record as it is, and `has_slots` whether they are in it.
  void committed(CommitOutcome outcome, std::uint64_t version, bool has_slots, Time now);
  void tick(Time now);

  // ---- Out ----
  const MoveTargetState& state() const { return state_; }
  MoveTargetPhase phase() const { return state_.phase; }
  bool is_over() const {
    return phase() == MoveTargetPhase::serving || phase() == MoveTargetPhase::dropped;
  }

 private:
  void say_ready();
  void end(bool has_slots);

  MoveTargetHost& host_;
  MoveTargetState state_;
  MoveFaults faults_;
};

}  // namespace mayfly
