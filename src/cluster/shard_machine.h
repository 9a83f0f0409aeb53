// SPDX-License-Identifier: Apache-2.0
// ShardMachine: who may serve a shard, as one of its nodes decides it. No sockets and no clock: the
// time and messages come in, actions go out. docs/cluster.md has the protocol and why it is right.
//
//   outside     not named by the record (or only an earlier incarnation is): follows, may join
//   following   in the record's in-sync set, or on the way there
//   canvassing  the primary has been silent for longer than the grace: asks the others
//   taking      has sent a commit that makes it the primary: silent until the outcome is known
//   leading     the record names it as primary; it serves while all promises of its set last
//
// A lease L is how long a primary may serve after a member of its set has promised not to take
// over. The grace G is how long that member keeps the promise; G > L by more than clocks can differ
// in rate. A *token* is a reading of the primary's clock: a member that echoes it has promised
// after the token was made, so the primary may serve until token + L.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/records.h"
#include "cluster/register.h"
#include "cluster/shard_faults.h"
#include "cluster/shard_messages.h"
#include "mayfly/time.h"

namespace mayfly {

// By a clock that is immune to steps and counts the time that the machine sleeps.
struct ShardTimes {
  explicit ShardTimes(Millis the_lease);

  Millis lease;         // L
  Millis grace;         // L + max(500 ms, L/4)
  Millis pulse;         // L/8: how often a replica sends one
  Millis removal;       // 2L/3: a member that is silent for longer is removed
  Millis canvass;       // 200 ms: how long others are asked
  Millis canvass_wait;  // 500 ms: before asking again
};

// What the machine asks of the server around it, and wants done. No call comes back to the machine
// from within one of these.
class ShardHost {
 public:
  virtual ~ShardHost() = default;

  // ---- What it has ----
  virtual std::string history() const = 0;    // the replication id of the data
  virtual std::uint64_t log_end() const = 0;  // what is applied, as an offset of that history
  virtual Time wall() const = 0;              // the wall clock, with its floor
  virtual Millis wall_ahead() const { return Millis(0); }  // by that, of the machine's own clock
  virtual bool is_data_complete() const = 0;  // false while a full synchronisation is under way

  // ---- What shall be done ----
  // The answer goes to committed(). Another commit may follow before it: the last one counts.
  // `lives` are further comparisons: live/ records by node and version.
  virtual void commit(std::uint64_t version, const ShardRecord& record,
                      const std::map<std::string, std::uint64_t>& lives) = 0;
  virtual void send_pulse(const NodeMemory& primary, const Pulse& pulse) = 0;
  virtual void send_canvass(const NodeMemory& member, const Canvass& canvass) = 0;

  // Becomes the primary of the shard, and continues the history it has. `floor`: its time must not
  // be less (the last primary may have called entries expired by then). It comes again with the
  // same epoch when a handover was refused: nothing has changed then, and the history must not.
  virtual void lead(const ShardRecord& record, Time floor) = 0;

  // The floor of the wall clock is no further ahead of the machine's own clock than that.
  virtual void limit_wall(Millis) {}

  // Replicates this primary.
  virtual void follow(const ShardRecord& record) = 0;

  // Applies and acknowledges nothing from now on, whoever sent it, until lead() or follow().
  virtual void detach() = 0;

  // The same, as all processes that this version of the record names have ended. If it has data of
  // them in memory, it announces how much: LiveRecord::settled.
  virtual void settle(std::uint64_t) { detach(); }

  // ---- Planned handover: see hand_over() ----
  virtual void pause_writes(bool is_paused) = 0;

  // Announces live/ID again, so that its version is above the record's: the record names an earlier
  // process of this node, and only this tells others that it has ended.
  virtual void announce_again() {}

  virtual void log(const std::string& line) = 0;  // every change of role, set and epoch
};

enum class ShardRole { outside, following, canvassing, taking, leading };
std::string_view name_of(ShardRole role);  // "outside", "following", ...

class ShardMachine {
 public:
  ShardMachine(NodeMemory self, const ShardTimes& times, Millis clock_difference_max,
               ShardHost& host, const ShardFaults& faults = {});

  // ---- In ----
  // The record, from a reading or a notice. Old versions are ignored.
  void record_seen(std::uint64_t version, const ShardRecord& record, Time now);

  // Whether this is no later record of the shard than the known one, in spite of its version: the
  // register has lost what it had. It is not taken.
  bool goes_back(const ShardRecord& record) const;

  // The answer to the last commit.
  void committed(const CommitAnswer& answer, Time now);

  // live/ID of a node of this shard, this one included: a process of that node has announced
  // itself. A node offers itself to the primary only after its own live record has been seen here.
  void live_seen(const std::string& node, std::uint64_t version, const LiveRecord& live, Time now);

  // No process of that node is announced any more, in all records of this version.
  void live_gone(const std::string& node, std::uint64_t version, Time now);

  std::vector<std::string> live_nodes() const;  // those that it knows of
  bool names(const std::string& node) const;    // the record: a process of this node

  // At the primary. Nothing is answered to a node that must not get a promise by it.
  std::optional<PulseReply> pulsed(const Pulse& pulse, Time now);

  // The same for a memory that no record names. Nothing is kept of it. If it leaves, the answer is
  // that it is out.
  std::optional<PulseReply> pulsed_by_stranger(const Pulse& pulse, Time now) const;

  // At the replica: the answer to its pulse.
  void pulse_answered(const NodeMemory& primary, const PulseReply& reply, Time now);

  std::optional<CanvassReply> canvassed(const Canvass& canvass, Time now);
  void canvass_answered(const CanvassReply& reply, Time now);

  // At the primary: a replica has applied the log up to there. REQUIRES: it replicates this
  // server's present history, over a connection that was made after lead().
  void acknowledged(const NodeMemory& from, std::uint64_t offset);

  // Everything that depends on time. Call it at least every ten milliseconds while something is
  // pending, and several times in a pulse otherwise; next_tick() says when.
  void tick(Time now);
  Time next_tick() const;

  // ---- Asked for by people ----
  // Hands over to a member of the in-sync set: writes pause until it has all of them, at most until
  // `until`. The message of the error is the reply.
  Status hand_over(const std::string& node, Time until, Time now);
  bool is_handing_over() const { return handover_.has_value(); }

  // CLUSTER FAILOVER FORCE: takes over without the primary, as soon as the promise to it has ended.
  // From now on this node promises the primary nothing; whatever else would be waited for is not.
  // REQUIRES of safety what every takeover does: a member of the set, and the version it knows.
  Status take_when_safe(Time now);

  // CLUSTER FAILOVER TAKEOVER: takes over without any promise. May lose safe writes.
  Status take_by_force(Time now);

  // This process ends, or must drop its data for a full synchronisation: it will not take over. It
  // is out when in_record() is false; its data must stay until then.
  void leave();
  void stay();  // the full synchronisation is over

  // ---- Out ----

  ShardRole role() const { return role_; }
  bool is_leading() const { return role_ == ShardRole::leading; }

  // Whether it may serve at this moment. Only a primary does.
  bool is_serving(Time now) const;

  // Until when it may, if nothing changes; kNever with an empty set, Time::min() if it does not
  // lead.
  Time serves_until() const;

  // Whether this memory is named by the record, or may soon be: it has offered itself to the
  // primary, which has not said since that it is out. record().has() tells what the record says.
  bool in_record() const;
  std::uint64_t version() const { return version_; }
  const ShardRecord& record() const { return record_; }
  std::uint64_t epoch() const { return epoch_; }  // at which it follows or leads

  // Up to here the log is held by all of the set. Without a set nothing is safe: see has_set().
  std::uint64_t safe_offset() const { return safe_; }
  bool has_set() const { return set_size() > 0; }

  // Whether another process is in the set, or may soon be. If not, nobody else can take over: what
  // is answered then need not be safe, and whoever joins must have it first.
  bool has_active() const;
  std::size_t set_size() const;  // members that the record names

  // How far the wall clock of each member is ahead of ours, in milliseconds; for people.
  struct MemberState {
    NodeMemory memory;
    std::uint64_t acked = 0;
    Millis clock_ahead{0};
    bool is_in_record = false;
    bool has_wrong_clock = false;  // it is not taken into the set, or leaves it
  };
  // Whether it has pulsed us while we lead, or is named.
  bool has_member(const NodeMemory& memory) const { return members_.contains(memory); }

  // Whether its shard has no primary because another process may have more of its data.
  bool is_waiting_for_holder() const { return waits_at_ != 0 && waits_at_ == version_; }

  // The active set, and those that are kept out of it by their clocks.
  std::vector<MemberState> members() const;

  // How far the wall clock of the primary is ahead of ours; at the primary, the greatest such
  // difference of a member, in either direction.
  Millis peer_clock_ahead() const;

  struct Stats {
    std::uint64_t takeovers = 0;
    std::uint64_t additions = 0;
    std::uint64_t removals = 0;
    std::uint64_t returns = 0;  // to an epoch that was left for a canvass
    Millis last_takeover{0};    // from the end of the promise to the commit
  };
  const Stats& stats() const { return stats_; }

 private:
  // A node that pulses us while we lead, or that the record names. All but candidates are the
  // *active set*: their promises bound our lease, and their acknowledgements what is safe.
  //
  //   candidate -> joining -> adding -> in -> removing -> (out)
  //
  // joining: it counts, nothing is sent yet. adding, removing: a commit is sent, and its outcome is
  // not known. Only in and removing are named by the record.
  enum class MemberPhase { candidate, joining, adding, in, removing };
  struct Member {
    MemberPhase phase = MemberPhase::candidate;
    Time token = Time::min();  // the last one it has echoed
    Time own = Time::min();    // its clock in its newest pulse, by which pulses are ordered
    Time pulsed = Time::min();
    Time wall = Time::min();  // in its newest pulse
    Millis clock_ahead{0};
    std::uint64_t acked = 0;
    bool has_history = false;          // ours, by its newest pulse
    bool had_history = false;          // ours, at some time
    bool leaves = false;               // or has no complete data
    Time other_history = Time::max();  // since when
    Time wrong_clock = Time::max();    // since when
    bool is_clock_told = false;        // in the log
  };

  enum class CommitKind { set, take, recover, hand_over };
  struct Commit {
    CommitKind kind = CommitKind::set;
    ShardRecord record;
    std::map<std::string, std::uint64_t> lives;
    bool is_sent = false;  // and not answered
    Time again{};          // if it is not sent
  };

  struct Asking {
    Canvass question;
    std::size_t asked = 0;
    std::map<NodeMemory, CanvassReply> replies;
  };

  // To the one that canvassed us, for the epoch after that of the record.
  struct Grant {
    NodeMemory to;
    Time at{};
    Time until{};
  };

  struct Handover {
    std::string node;
    Time until;
  };

  struct Live {
    std::uint64_t version = 0;
    LiveRecord record;
  };

  // A reading of the primary's wall clock that we got at some time of our clock, or later. It was
  // ahead of the clock of this machine by this, or more.
  struct WallSeen {
    Time wall = Time::min();
    Time at = Time::min();
    Millis ahead{0};
  };

  // shard_machine.cc: the record, commits, time
  void adopt(std::uint64_t version, const ShardRecord& record, Time now);
  void send_commit(CommitKind kind, ShardRecord record, Time now,
                   std::map<std::string, std::uint64_t> lives = {});
  void take_refusal(const CommitAnswer& answer, Time now);
  void wake(Time now) { next_tick_ = std::min(next_tick_, now); }
  std::vector<NodeMemory> named() const;
  void note_deaths();
  bool is_proven_dead(const NodeMemory& memory) const { return dead_.contains(memory); }
  void change_role(ShardRole role, const std::string& why);
  void log(const std::string& line) const;

  // shard_leading.cc
  void become_primary(const ShardRecord& before, CommitKind kind, Time now);
  void adopt_set(const ShardRecord& before);
  void stop_leading();
  void tick_leading(Time now);
  std::string silent_members(Time now) const;
  PulseReply reply_to(const Pulse& pulse, bool is_in_sync, Time now) const;
  void note_pulse(const Pulse& pulse, Member& member, Time now);
  void note_log_end(Time now);
  std::uint64_t log_end_at(Time when) const;
  std::string why_remove(const NodeMemory& memory, const Member& member, Time now) const;
  bool is_replaced(const NodeMemory& memory) const;
  bool has_wrong_clock(const Member& member, Time now) const;
  bool may_join(const NodeMemory& memory, const Member& member, Time now) const;
  bool may_be_added(const Member& member, Time now) const;
  bool remove_members(Time now);
  void add_members(Time now);
  void forget_silent(Time now);
  void raise_safe();
  void tick_handover(Time now);
  void end_handover(const std::string& why);
  bool is_active(const Member& member) const { return member.phase != MemberPhase::candidate; }

  // shard_following.cc
  void follow(const ShardRecord& before, bool was_silent, Time now);
  void tick_following(Time now);
  void send_pulse(Time now);
  bool hears_primary(Time now) const;

  // shard_takeover.cc
  bool is_forced(Time now) const { return now < forced_until_; }
  bool may_take_over(Time now) const;
  void start_canvass(Time now);
  void end_canvass(Time now);
  void stop_canvass(const std::string& why);
  void take(const ShardRecord& record, CommitKind kind, Time now,
            std::map<std::string, std::uint64_t> lives = {});
  bool recover(Time now);
  bool waits_for_holder(const LiveRecord& own);
  Time floor(Time now) const;
  Time limited(Time floor, Millis ahead) const;
  void limit_wall();
  Time own_wall() const { return host_.wall() - host_.wall_ahead(); }  // without its floor

  NodeMemory self_;
  ShardTimes times_;
  Millis clock_difference_max_;
  ShardHost& host_;
  ShardFaults faults_;

  ShardRole role_ = ShardRole::outside;
  std::uint64_t version_ = 0;
  ShardRecord record_;
  std::uint64_t epoch_ = 0;  // that of the record, or one more after a grant
  std::optional<Commit> commit_;
  std::map<std::string, Live> lives_;  // by node
  std::set<NodeMemory> dead_;          // named by the record, and proven to have ended
  Time next_tick_ = Time::min();
  Stats stats_;

  // ---- While leading ----
  std::map<NodeMemory, Member> members_;
  std::deque<std::pair<Time, std::uint64_t>> log_ends_;  // some in the last L, oldest first
  Time led_since_{};
  // What a new member must have: the log that was found at takeover, and what was answered while
  // nobody else was in the set.
  std::uint64_t inherited_ = 0;
  std::uint64_t safe_ = 0;
  std::optional<Handover> handover_;
  bool was_serving_ = false;  // for the log

  // ---- While following ----
  Time promised_until_ = Time::min();  // to the record's primary
  Time forced_until_ = Time::min();    // it gives no promise until then: see take_when_safe()
  std::optional<Grant> grant_;
  Time token_{};             // the newest of the primary; none: Time{}
  Time echo_ = Time::min();  // the newest of our own clock that it has answered
  WallSeen primary_wall_;
  bool primary_serves_ = false;  // said its newest answer
  Millis primary_ahead_{0};      // its wall clock, by that answer
  Time pulsed_ = Time::min();
  Time next_pulse_ = Time::min();
  Time offered_ = Time::min();  // our clock in the last pulse by which we might be added
  bool is_offered_ = false;     // and the primary has not said since that we are out
  bool leaves_ = false;
  bool is_announced_ = false;        // our live record has been seen
  std::uint64_t announced_for_ = 0;  // the version for which it was announced again
  std::optional<Asking> asking_;
  Time canvass_from_ = Time::min();
  int waits_ = 0;                      // in a row, because of a no
  std::map<NodeMemory, Time> grants_;  // tokens of those who promised, for the commit that is sent
  std::string waits_for_;              // the reason why recovery waits
  std::uint64_t waits_at_ = 0;         // the version for which it does; 0: it does not
  std::uint64_t settled_ = 0;          // the version for which it has settled; 0: it follows
};

}  // namespace mayfly
