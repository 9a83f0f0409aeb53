// SPDX-License-Identifier: Apache-2.0
// Aof: writes the append-only file, a log of commands from which the keyspace can be rebuilt, in
// files that a manifest names (aof_manifest.h).
//
//   AofLoader loader(disk, options, ...);  ...         // first, if there is a log
//   Aof aof(disk, options);
//   aof.open();
//   aof.append(0, "*3\r\n$3\r\nSET\r\n...");           // for each command: only buffers
//   aof.flush(now);                                    // once a turn, before replies go out
//
// A rewrite makes a new base, so that replay is short, and loses no write made meanwhile:
//
//   begin_rewrite()    what follows goes into a new increment; fork, and the child writes the base
//   finish_rewrite()   the new base and that increment are the log; the older files are removed
//   abort_rewrite()    the log is the old base and all increments
//
//   manifest    b1 i1        b1 i1 i2       b2 i2  (b1, i1: history, then gone)
//                     begin          finish
//
// After a power failure, the manifest on the disk names existing files, and all but the last one
// are complete: an increment is synced before the next one is started, the name of a new file
// before the manifest that names it, and the manifest before a new increment is written or an old
// file removed.
//
// A log that is enabled while there are keys (no manifest, or an outdated one) starts with
// begin_rewrite() instead of open(). Until finish_rewrite() it is not in force: the manifest is
// unchanged, and nothing counts as synced.
//
// Threads: one, and the sync thread. After fork() the child must neither use nor destroy its copy.
//
// Cost: append() is a copy; flush() is one write for all that was appended, and a sync with
// AofSync::always.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/aof/aof_manifest.h"
#include "persist/aof/aof_sync.h"
#include "persist/disk/disk.h"

namespace mayfly {

// Checks that a log can be started there: the directory can be created and written to, and an
// existing manifest is valid. Leaves only the directory behind.
Status check_aof_directory(Disk& disk, const AofOptions& options);

class Aof {
 public:
  // The disk must outlive it. Does nothing yet.
  Aof(Disk& disk, AofOptions options);

  // Waits for a sync under way. What is buffered is lost: call sync_now() before.
  ~Aof();

  // ---- Opening and closing ----

  // Continues the last increment of the log, which must have been loaded (the loader cuts off a
  // truncated end), or starts a new log if there is none; the keyspace must be empty then. A file
  // of a Redis before 7 is moved into the directory as a base. Removes leftovers of a crash.
  // REQUIRES: !is_open().
  Status open();

  // Commands are taken: after open(), or from begin_rewrite() on.
  bool is_open() const { return file_ != nullptr; }

  // The manifest names the files being written; false during the first rewrite of a log that was
  // started without open().
  bool is_in_force() const { return is_in_force_; }

  // Writes and syncs everything, regardless of the policy: for a shutdown.
  Status sync_now();

  // ---- Writing ----

  // The bytes of one command in RESP; puts a SELECT before it if the database is another. It is
  // negative for MULTI and EXEC, which are about none. Commands of a transaction come as MULTI, the
  // commands, EXEC, with no flush() between them. Does nothing if the log is not open.
  void append(int database, std::string_view command);

  // Writes what was appended, and syncs according to the policy. Call it before replies are sent,
  // and also at next_sync(), which starts a sync.
  //
  // After an error everything that was not written stays buffered for the next call, and the file
  // ends with the last complete command, so that nothing is lost or duplicated when there is space
  // again. With `always`, what could not be synced counts as not written.
  //
  // With `everysec` a failed background sync is reported by the next call, which still writes; see
  // is_doubtful(). If a sync takes more than two seconds, the call waits for it.
  Status flush(Time now);

  // When flush() should be called even if nothing was appended; kNever if it need not.
  Time next_sync() const;

  // A sync failed after the bytes had left the buffer, so it is unknown whether the disk has them.
  // Only a rewrite makes the log safe again; until then synced_offset() does not advance.
  bool is_doubtful() const { return is_doubtful_; }

  void set_sync(AofSync sync) { options_.sync = sync; }
  void set_rdb_preamble(bool on) { options_.rdb_preamble = on; }
  void set_no_sync_on_rewrite(bool on) { options_.no_sync_on_rewrite = on; }
  const AofOptions& options() const { return options_; }

  // ---- Offsets: bytes of the log since the Aof was made; they only grow ----

  std::uint64_t appended_offset() const { return appended_; }
  std::uint64_t written_offset() const { return appended_ - buffer_.size(); }
  std::uint64_t synced_offset() const;
  bool has_unsynced() const { return is_open() && synced_offset() < appended_; }

  // ---- Rewriting ----

  // Returns the path where the new base shall be written (by write_aof_base(), aof_rewrite.h). All
  // that was appended before is in the old files and on the disk; all that is appended from now on
  // is not in the base. An error leaves the log as it was. REQUIRES: !is_rewriting().
  Result<std::string> begin_rewrite();

  // The base is complete: syncs and installs it. After an error the rewrite is aborted or, if only
  // the last step failed, done except for old files, which are removed later.
  // REQUIRES: is_rewriting().
  Status finish_rewrite();

  // Removes the file of the unfinished base. A log that was not in force is closed, and what was
  // appended to it dropped. REQUIRES: is_rewriting().
  void abort_rewrite();

  bool is_rewriting() const { return is_rewriting_; }

  // ---- Sizes, in bytes of all files ----

  std::uint64_t size() const { return older_bytes_ + (file_ ? file_->size() : 0); }
  std::uint64_t base_size() const { return base_bytes_; }  // when it was opened or rewritten
  std::uint64_t buffered() const { return buffer_.size(); }
  std::size_t buffer_memory() const { return buffer_.capacity(); }

  const AofManifest& manifest() const { return manifest_; }

 private:
  // Opening and rewriting: aof_install.cc.
  Status make_directory();
  Status open_files();
  Status adopt_old_file();
  Status open_last_increment();
  Status begin_increment();
  Status begin_not_in_force();
  Status install_base(const std::string& path);
  void finish_install();
  void unfreeze_offset();
  Status write_manifest(const AofManifest& manifest);
  Status make_manifest_durable();
  void remove_history();
  void remove_leftovers();
  std::uint64_t bytes_of(const AofPart& part) const;
  void close();
  std::string temporary_base() const;

  // Writing: aof.cc.
  Status cut();
  Status write_buffer();
  Status write_and_sync();
  void drop_buffer();
  Status sync_in_background(Time now);
  Status background_error();
  void mark_doubtful();
  bool syncs(AofSync policy) const {
    return options_.sync == policy && !(options_.no_sync_on_rewrite && is_rewriting_);
  }
  std::uint64_t last_synced() const { return std::max(synced_, background_.synced()); }

  Disk& disk_;
  AofOptions options_;
  AofManifest manifest_;             // what NAME.manifest says
  bool is_manifest_durable_ = true;  // false: nothing may be written to the last increment

  // What is being written.
  std::unique_ptr<DiskFile> file_;
  AofPart increment_;                    // its name; the manifest's last if it is in force
  std::string buffer_;                   // not written yet, or not synced with `always`
  std::optional<std::uint64_t> cut_to_;  // the file must be cut to this size first
  int database_ = -1;                    // of the last command in the file or the buffer

  // Offsets and sizes.
  std::uint64_t appended_ = 0;
  std::uint64_t synced_ = 0;             // by this thread; the other one may have synced more
  std::optional<std::uint64_t> frozen_;  // what synced_offset() says until a rewrite is finished
  std::optional<Time> sync_begun_;       // the last one in the background
  std::uint64_t older_bytes_ = 0;        // of the files before the last increment
  std::uint64_t base_bytes_ = 0;

  bool is_in_force_ = false;
  bool is_rewriting_ = false;
  bool is_base_rdb_ = true;  // the base that is being written
  bool is_doubtful_ = false;
  bool is_doubtful_since_rewrite_ = false;  // since begin_rewrite()

  BackgroundSync background_;  // last: it uses file_
};

}  // namespace mayfly
