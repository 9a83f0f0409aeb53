// SPDX-License-Identifier: Apache-2.0
// Snapshots: saving all data as an RDB file, at once or by a child, when asked or by rules.
//
//   save 300 100      after 300 seconds if there were 100 changes
//
// What failed is tried again, no more often than every 5 seconds, until it works.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/rdb/rdb_save.h"
#include "server/persistence/child.h"
#include "server/persistence/storage_context.h"

namespace mayfly {

class DataDirectory;

class Snapshots {
 public:
  Snapshots(const StorageContext& context, DataDirectory& directory)
      : context_(context), directory_(directory) {}

  // Changes count from now on: the data that was loaded is saved already.
  void begin(Time now);

  // At once; no client is served meanwhile. REQUIRES: no child saves.
  Status save(Time now);

  // By a child. REQUIRES: there is none.
  Status start(Time now);

  // As soon as there is no other child.
  void schedule() { is_scheduled_ = true; }
  bool is_scheduled() const { return is_scheduled_; }
  void unschedule() { is_scheduled_ = false; }

  // Kills the child that saves; that is not a failure. REQUIRES: one saves.
  void cancel();

  // Starts what is scheduled, or what a rule says.
  void before_sleep(Time now);

  // Not after a snapshot has failed (stop-writes-on-bgsave-error). The message is the reply.
  Status check_writable() const;

  // The file on disk has data that is not in memory: it is kept under a second name, which is never
  // used again and has the reason in it, before it is replaced.
  void keep_file_aside(std::string_view why) {
    kept_ = path();
    kept_why_ = why;
  }
  void forget_kept_file() { kept_.clear(); }
  bool is_file_kept() const { return !kept_.empty(); }

  // ---- As INFO shows it ----

  Time last_save() const;                            // if there was none, when the server started
  bool last_worked() const { return last_worked_; }  // of those by a child
  std::optional<Millis> last_took() const { return last_took_; }
  std::uint64_t last_copied_bytes() const { return last_copied_bytes_; }
  std::uint64_t count() const { return count_; }  // that worked, since the start

  std::string path() const;  // of the file

 private:
  bool is_time(Time now) const;
  std::string temporary_name() const;
  Status link_file_aside();
  Status prepare();
  Result<SaveProgress> write(const SaveOptions& options, const OnSaveProgress& progress);
  void saved(Time now, std::uint64_t dirty);
  void warn_of_failure(const Error& why) const;
  void ended(const Status& status, const ChildProgress& progress);

  const StorageContext context_;
  DataDirectory& directory_;
  std::optional<Time> last_save_;
  Time last_try_ = Time::min();
  bool last_worked_ = true;
  std::optional<Millis> last_took_;
  std::uint64_t last_copied_bytes_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t dirty_at_start_ = 0;
  std::string temporary_;  // what the child writes; `dir` may change meanwhile
  bool is_scheduled_ = false;
  bool is_cancelled_ = false;
  std::string kept_;      // the RDB file that was not loaded, or not all of it
  std::string kept_why_;  // "unsupported", "not-loaded"
};

}  // namespace mayfly
