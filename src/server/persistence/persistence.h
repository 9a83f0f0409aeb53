// SPDX-License-Identifier: Apache-2.0
// Persistence: what a server keeps on disk. Snapshots (RDB) and the append-only file (AOF): what of
// it is loaded at the start, when it is written, and what happens if it cannot be.
//
//   persistence.take_directory();           // no other server may use it
//   persistence.start();                    // begins to load; goes on in Server::begin_turn()
//   persistence.before_sleep(now);          // in every turn, before replies go out
//   if (persistence.fatal()) ...            // it could not be loaded: end with exit code 1
//   persistence.shut_down(saves);           // the last
//
// All files are below the directory `dir` of the configuration, as it is at the time.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/disk/disk.h"
#include "persist/rdb/rdb_save.h"
#include "server/persistence/aof_writer.h"
#include "server/persistence/loading.h"
#include "server/persistence/shutdown.h"
#include "server/persistence/snapshots.h"

namespace mayfly {

class Server;
struct Config;
class AofTask;

class Persistence {
 public:
  explicit Persistence(Server& server);
  ~Persistence();

  // Takes the directory `dir` for as long as the server lives. An error if another server has it.
  // Where nothing can be written there is nothing to take: that is a warning in the log.
  Status take_directory();

  // Says who has it once more: the process is another after a fork.
  void renew_owner();

  // Takes any directory. Null if it cannot be locked but by no server's fault. The error says what
  // to do, by the names of `settings`.
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory,
                                              std::string_view settings);

  // Begins to load what there is: the append-only file if `appendonly`, else, or if there is none,
  // the RDB file; nothing if there is neither. An error is a reason not to start.
  Status start();

  // Why the data could not be loaded: it has been logged, and Surroundings::shut_down() was called.
  // The program must end with an exit code that says so; nothing on the disk was changed.
  const std::optional<Error>& fatal() const { return fatal_; }

  // Between requests, before replies go out: what was appended is written (and synced), and rules
  // say whether it is time to save or to rewrite.
  void before_sleep(Time now);

  // Why no write can be taken at the moment ("MISCONF ..."), or empty.
  std::string why_no_writes() const;

  // After a full synchronisation from a primary: the log on disk says something else.
  void data_replaced();

  // Before a change of the configuration: whether it can be put into effect. Takes the directories
  // that it needs. An error leaves everything as it was.
  Status prepare_config(const Config& next);
  void cancel_config();  // what was prepared does not come, for another reason

  // After a change of the configuration: switches the append-only file on or off. Does nothing
  // before start().
  void apply_config();

  // Ends the child, writes and syncs the append-only file, and saves a snapshot if `saves`. After
  // an error the server may go on. Called again (when the loop has ended) it looks after what was
  // written since, and whether that is saved is what was said the first time. Nothing is saved of
  // what is loaded in part. If it `is_forced`, errors are only logged, and it is not tried again.
  Status shut_down(bool saves, bool is_forced = false);
  bool saves_at_end() const;  // whether that is expected: there are save rules

  // How a snapshot is to be written now, for SAVE and for replicas.
  SaveOptions save_options();

  // Of the append-only file, for WAITAOF: how many bytes were appended, and how many are safe. See
  // AofKeeper.
  std::uint64_t appended_offset() const { return aof_.appended_offset(); }
  std::uint64_t synced_offset() const { return aof_.synced_offset(); }

  Shutdown& shutdown() { return shutdown_; }
  Snapshots& snapshots() { return snapshots_; }
  AofKeeper& aof() { return aof_; }

  // Before the file of the snapshot is replaced: if it has keys that were left out when it was
  // loaded, it gets a second name, which is never used again.
  Status keep_snapshot_aside();

  // Whether all that was in a file could be loaded, or `drop-unsupported` says that the rest may be
  // left out. The error counts what there is.
  Status check_skipped(const std::map<std::string, std::uint64_t>& skipped,
                       const std::string& file);

  // What the last load of an RDB file said, for INFO.
  std::uint64_t loaded_keys() const { return loaded_keys_; }
  std::uint64_t due_keys() const { return due_keys_; }

  // ---- For DEBUG: replace all that is in memory, at once ----

  Status reload(bool saves, bool flushes);  // by the RDB file
  Status load_aof();                        // by the append-only file

 private:
  using RdbEnded = std::function<Status(const RdbReport&)>;

  // Begin to load; `loaded` is called when all is there, and `ended` in any case.
  Status begin_rdb(bool keeps_due, const RdbEnded& loaded, const Loading::Ended& ended);
  void begin_aof(const Loading::Ended& ended);

  Status note_rdb(const RdbReport& report);
  Status note_aof(const AofTask& task);
  void restore_history(const RdbReport& report);
  void load_ended(const Status& status, bool goes_on);
  void fail(const Error& error);
  void remove_debris();
  void stop_child();
  std::string owner() const;
  void directory_changed();

  Server& server_;
  Snapshots snapshots_;
  AofKeeper aof_;
  Shutdown shutdown_;
  std::optional<Error> fatal_;
  std::optional<bool> end_saves_;                             // how the server was shut down
  std::unique_ptr<DirectoryLock> directory_lock_;             // of `dir`
  bool is_moving_ = false;                                    // to another `dir`
  std::unique_ptr<DirectoryLock> next_lock_;                  // of what `dir` is about to be
  std::vector<std::unique_ptr<DirectoryLock>> former_locks_;  // while a child may write there
  std::string partly_loaded_;  // the RDB file that has keys that we cannot hold
  bool is_ready_ = false;      // what there was at the start is loaded
  std::uint64_t loaded_keys_ = 0;
  std::uint64_t due_keys_ = 0;
};

// The first of path.unsupported-1, path.unsupported-2 and so on that is not there.
std::string unused_name(const Disk& disk, const std::string& path);

}  // namespace mayfly
