// SPDX-License-Identifier: Apache-2.0
// SlotMoves: the moves of slots from and to this shard, at its primary. docs/cluster.md
//
//   SlotExport     slots that go: one job at a time, picked up from the records     slot_export.h
//   SlotImport     slots that come: one at a time                                  slot_import.h
//   SlotStaging    keys that come, until they are merged                           slot_staging.h
//   ForeignKeys    keys that have gone, until they are removed                     foreign_keys.h

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/records.h"
#include "server/cluster/moves/foreign_keys.h"
#include "server/cluster/moves/slot_export.h"
#include "server/cluster/moves/slot_import.h"
#include "server/cluster/moves/slot_staging.h"
#include "server/core/server_call.h"

namespace mayfly {

struct MoveStats {
  std::uint64_t done = 0;  // by this server as the source
  std::uint64_t failed = 0;
  std::uint64_t imported = 0;
  std::vector<Millis> pauses;  // the last ones
};

class SlotMoves {
 public:
  explicit SlotMoves(const ServerParts& parts);
  ~SlotMoves();

  // ---- From the cluster ----
  void records_changed();
  void became_primary();
  void became_replica();
  void begin_turn();
  void before_sleep();
  Millis longest_sleep() const;

  // ---- Requests ----

  // Whether requests for this slot, or for all keys, have to wait now.
  bool is_active() const { return is_active_; }
  enum class Answer { now, wait, try_again };
  Answer when_answered(HashSlot slot) const;  // of a slot of ours
  bool awaits(HashSlot slot) const;           // it will perhaps be ours in a moment
  bool all_keys_wait() const {
    return staging_.is_merging() || is_paused() || foreign_.may_have_any();
  }
  bool is_paused() const { return export_ && export_->is_paused(); }
  const SlotSet* paused_slots() const { return is_paused() ? &export_->move().slots : nullptr; }

  // Whether keys of this slot, or of any slot of ours, have come and are not merged yet.
  bool is_staged(HashSlot slot) const;
  bool has_staged_own() const;

  // Merges the keys that a command names, before it runs.
  void prepare(const Command& command, Words words);

  // ---- From the source of an import ----
  void import_begin(ServerCall& call);
  void import_last(ServerCall& call);
  void import_yours(ServerCall& call);
  void import_closed(const Client& client);
  void import_failed(const Client& client, std::string_view error);

  // ---- For its parts and for commands ----
  SlotExport* find_export(std::uint64_t number) const;
  SlotImport* find_import(std::uint64_t number) const;
  const SlotExport* outgoing() const { return export_.get(); }
  const SlotImport* incoming() const { return import_.get(); }
  SlotStaging& staging() { return staging_; }
  ForeignKeys& foreign() { return foreign_; }
  const MoveStats& stats() const { return stats_; }
  Millis pause_percentile(int percent) const;  // of the last moves; 100: the longest

 private:
  static constexpr int kAttempts = 3;

  Time steady_now() const;
  void pick_up();
  void record_stream();
  void end_export();
  void end_import();
  void slots_left(const SlotSet& slots);
  void record_failure();
  void put_move(const std::string& job, const MoveRecord& record);
  void forget_old_moves(RegisterCommit& commit) const;
  void resume_requests();
  void update_active();
  Status check_clock(std::int64_t now) const;
  Status check_begin(ServerCall& call, SlotImport::Begin& begin) const;

  const ServerParts& parts_;
  std::unique_ptr<SlotExport> export_;
  std::unique_ptr<SlotImport> import_;
  SlotStaging staging_;
  ForeignKeys foreign_;
  MoveStats stats_;
  struct Failure {
    std::string job;
    std::string why;
    int attempts = 0;
    bool is_busy = false;
  };
  std::optional<Failure> failure_;  // to be recorded
  std::uint64_t numbers_ = 0;
  bool is_active_ = false;
  bool is_recording_ = false;   // a record of a move is being written
  bool has_told_late_ = false;  // requests that waited for too long were answered
  bool has_recorded_stream_ = false;
  SlotSet own_;  // slots of this shard, as its record has them
  Time next_attempt_ = Time::min();
};

}  // namespace mayfly
