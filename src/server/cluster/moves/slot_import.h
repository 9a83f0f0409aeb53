// SPDX-License-Identifier: Apache-2.0
// SlotImport: slots that another shard moves to this one, at the primary of this one. MoveTarget
// (cluster/move_machine.h) decides; here are its messages. Commands of the other primary fill the
// staging (slot_staging.h).

#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "cluster/move_machine.h"
#include "cluster/slot_set.h"
#include "mayfly/time.h"
#include "server/core/server_call.h"

namespace mayfly {

class SlotImport final : private MoveTargetHost {
 public:
  struct Begin {
    std::string job;
    std::string source;  // a shard
    SlotSet slots;
    bool needs_set = false;  // the source has in-sync replicas: so must the target
  };

  // The client is the other primary. It sends commands for the staging from now on.
  SlotImport(const ServerParts& parts, Begin begin, Client& client, std::uint64_t number);

  const std::string& job() const { return begin_.job; }
  const std::string& source() const { return begin_.source; }
  const SlotSet& slots() const { return begin_.slots; }
  std::uint64_t number() const { return number_; }
  std::uint64_t client() const { return client_; }
  bool is_over() const { return machine_.is_over(); }
  bool is_ours() const { return machine_.phase() == MoveTargetPhase::serving; }

  // Whether requests for its slots, which are not ours yet, may soon be answered here.
  bool is_ready() const {
    return machine_.phase() == MoveTargetPhase::ready ||
           machine_.phase() == MoveTargetPhase::raising;
  }
  Time ready_since() const { return ready_since_; }  // by the steady clock

  // ---- From the other primary ----
  void last(Time now);  // all has been sent, when its clock said `now`
  void yours() { machine_.yours(); }
  void closed();

  // ---- From the server ----
  void record_changed();
  void before_sleep();

  // A command of the other primary could not be run.
  void fail(std::string_view error);

 private:
  // ---- What the machine decides ----
  void send_ready(std::uint64_t version) override;
  void raise(std::uint64_t version) override;
  void drop_staging() override {}  // by SlotMoves, when it is over
  void show_staging() override {}  // likewise

  bool is_safe() const;
  void acknowledge(Client& client);
  void raised(const CommitAnswer& answer);
  Time steady_now() const;

  // What was applied until here is safe when the log is, up to its end then.
  struct Mark {
    std::uint64_t applied = 0;
    std::uint64_t log_end = 0;
  };

  const ServerParts& parts_;
  const Begin begin_;
  const std::uint64_t client_;
  const std::uint64_t number_;
  MoveTarget machine_;
  std::deque<Mark> marks_;
  std::uint64_t safe_ = 0;
  std::uint64_t told_applied_ = 0;
  std::uint64_t told_safe_ = 0;
  Time next_ack_{};
  Time last_received_{};
  bool awaits_safety_ = false;  // LAST has come, or the set has changed: READY is to be said
  std::uint64_t needed_ = 0;    // the end of the log that must be safe before it is ready
  Time ready_since_{};
};

}  // namespace mayfly
