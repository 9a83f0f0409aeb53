// SPDX-License-Identifier: Apache-2.0
// AofWriter: writes the append-only file. It is opened when the data is loaded, gets every write,
// is flushed once a turn, rewritten when it has grown, and switched on and off.
//
//   off ----- switch_on() -----> first base is written ---- it is complete ----> in force
//    ^                              (by a child, while                              |
//    |                               writes go on)                                  |
//    '------------------------------- switch_off() ---------------------------------'
//
// The disk may fail or run full. Then nothing is lost: the bytes stay in memory and are written
// later, and meanwhile no more writes are accepted (MISCONF). Clients whose writes are not as safe
// as `appendfsync` promises (on disk, or at least with the kernel) are closed and get no reply.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/aof/aof.h"
#include "persist/aof/aof_manifest.h"
#include "server/persistence/child.h"
#include "server/persistence/storage_context.h"
#include "server/replication/propagation.h"

namespace mayfly {

class Clients;
class DataDirectory;

class AofWriter final : public PropagationSink {
 public:
  AofWriter(const StorageContext& context, DataDirectory& directory, Propagation& propagation,
            const Clients& clients)
      : context_(context), directory_(directory), propagation_(propagation), clients_(clients) {}
  ~AofWriter() override;

  static AofOptions options_of(const Config& config);
  AofOptions options() const;  // as the configuration has them now

  // ---- Beginning and ending ----

  // `goes_on`: the log on disk was loaded, or there is none and no data in memory. Else the log
  // begins with a base of the data in memory, which is written at once: no write may be accepted
  // that would not be in it. REQUIRES: !is_on().
  Status open(bool goes_on);

  // Takes the folder of the log, which is made if it is not there. REQUIRES: !is_on().
  Status lock_directory(const std::string& directory);

  // Whether a log could be begun with these options: its folder can be taken and written to, and
  // nothing is there that cannot be understood. Keeps the folder if so. REQUIRES: !is_on().
  Status check_can_begin(const AofOptions& options);

  // Begins a log of what is in memory, by the end of this turn. The base comes from a child; until
  // it is written nothing counts as safe. Failures are tried again. REQUIRES: !is_on().
  void switch_on();

  // Writes and syncs what there is, and takes no more. REQUIRES: is_on().
  void switch_off();

  bool is_on() const { return is_on_; }

  // After check_can_begin(): it is not switched on, for another reason.
  void cancel_begin() {
    if (!is_on_ && !aof_) lock_.reset();
  }

  // All data was replaced: the log on disk stays as it is until there is a base of the new data.
  void restart();

  // The same, and the RDB file at `path`, which has the new data, becomes the base if it can: it is
  // moved there. Else a child writes one.
  void restart_with(const std::string& path);

  // The server ends: writes and syncs everything, with a note about the replication stream for the
  // next start. A log that has no base yet gets one, here and now: without it, all would be lost.
  Status complete(Time now);

  // Writes and syncs everything.
  Status sync_now();

  void apply_config();  // policies of syncing and so on

  // ---- Writing ----

  unsigned target() const override { return propagate_to::aof; }
  void take(int database, std::string_view command) override;

  // Writes and syncs what was appended, if it is on.
  void flush(Time now);

  // The same; starts a rewrite if it is time for one.
  void before_sleep(Time now);

  // Not while the file cannot be written. The message is the reply ("MISCONF ...").
  Status check_writable() const;

  // The first only grows, also over switching off and on, and is never 0. The second is 0 unless a
  // log is in force: all writes before are safe when a base has them.
  std::uint64_t appended_offset() const { return before_ + (aof_ ? aof_->appended_offset() : 0); }
  std::uint64_t synced_offset() const {
    return aof_ && aof_->is_in_force() ? before_ + aof_->synced_offset() : 0;
  }

  // ---- Rewriting ----

  // By a child; also of a log that is off. REQUIRES: there is no child, and no unit of propagation
  // is open: its beginning would be in the base and in the log.
  Status start_rewrite(Time now);
  void schedule_rewrite() { is_scheduled_ = true; }
  void stop_rewrite();  // if one is under way; that is no failure

  // ---- As INFO shows it ----

  const Aof* log() const { return is_on_ ? aof_.get() : nullptr; }
  // Also if the log needs a base, which has to wait for another child.
  bool is_scheduled() const;
  bool last_rewrite_worked() const { return failures_ == 0; }
  // False also while there is no log to write to since it cannot be begun.
  bool last_write_worked() const {
    return !failure_ && !(is_on_ && !aof_->is_open() && failures_ > 0);
  }
  std::optional<Millis> last_rewrite_took() const { return last_took_; }
  std::uint64_t last_copied_bytes() const { return last_copied_bytes_; }
  std::uint64_t rewrites() const { return rewrites_; }
  std::uint64_t failures() const { return failures_; }  // in a row

  // The log on disk has keys or commands that were left out, or was not loaded: its files
  // get second names before they go.
  enum class LeftOut : unsigned char { nothing, unsupported, failed, not_loaded };
  void keep_files_aside(LeftOut what) { left_out_ = what; }

  // The whole log as it is, in a folder beside its own: appendonlydir.WHY-1. Returns that folder;
  // nothing if there is no log.
  Result<std::string> link_files_aside(std::string_view why);

 private:
  std::unique_ptr<Aof> make_log() const;
  Result<std::string> begin_base();
  Status write_first_base();
  Status keep_loaded();
  void note_end();
  void close_unsafe_clients();
  void add_note();
  void note_now();
  bool is_time_to_rewrite(Time now) const;
  void rewritten(const Status& status, const ChildProgress& progress);
  void record_rewrite_failure(const Error& error, Time now);
  void drop();

  const StorageContext context_;
  DataDirectory& directory_;
  Propagation& propagation_;
  const Clients& clients_;
  std::unique_ptr<Aof> aof_;
  bool is_on_ = false;
  std::uint64_t before_ = 1;  // bytes of logs that were closed, and one: 0 is before all writes
  std::unique_ptr<DirectoryLock> lock_;
  std::string locked_;                   // which directory
  LeftOut left_out_ = LeftOut::nothing;  // see keep_files_aside()
  bool marks_dump_ = false;              // when the first base is written: it includes the dump

  // While it cannot be written: why, and when it was tried last.
  std::optional<std::string> failure_;
  Time failed_at_{};
  Time told_at_ = Time::min();  // in the log

  // The last note: see add_note().
  std::uint64_t noted_offset_ = 0;
  std::uint64_t noted_epoch_ = 0;

  // Rewriting.
  bool is_scheduled_ = false;
  bool is_stopping_ = false;  // the child is ended by us
  Time rewrite_begun_{};
  Time next_rewrite_ = Time::min();  // after failures
  std::optional<Millis> last_took_;
  std::uint64_t last_copied_bytes_ = 0;
  std::uint64_t rewrites_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace mayfly
