// SPDX-License-Identifier: Apache-2.0
// Persistence: what a server keeps on disk. Snapshots (RDB) and the append-only file (AOF): what of
// it is loaded at the start, when it is written, and what happens if it cannot be.
//
//   persistence.start();                    // begins to load; goes on in Server::begin_turn()
//   persistence.before_sleep(now);          // in every turn, before replies go out
//   if (persistence.fatal()) ...            // it could not be loaded: end with exit code 1
//   persistence.shut_down(saves);           // the last
//
// All files are below the directory `dir` of the configuration, as it is at the time.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "persist/rdb_save.h"
#include "server/aof_keeper.h"
#include "server/loading.h"
#include "server/shutdown.h"
#include "server/snapshots.h"

namespace mayfly {

class Server;
struct AofLoadReport;

class Persistence {
 public:
  explicit Persistence(Server& server);
  ~Persistence();

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

  // Of the append-only file, for WAITAOF: how many bytes were appended, and how many are safe. The
  // first is 0 until it is switched on.
  std::uint64_t appended_offset() const { return aof_.appended_offset(); }
  std::uint64_t synced_offset() const { return aof_.synced_offset(); }

  Shutdown& shutdown() { return shutdown_; }
  Snapshots& snapshots() { return snapshots_; }
  AofKeeper& aof() { return aof_; }

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

  Status note_rdb(const RdbReport& report, const std::string& file);
  Status note_aof(const AofLoadReport& report);
  void restore_history(const RdbReport& report);
  void load_ended(const Status& status, bool goes_on);
  void fail(const Error& error);
  void remove_debris();
  void stop_child();

  Server& server_;
  Snapshots snapshots_;
  AofKeeper aof_;
  Shutdown shutdown_;
  std::optional<Error> fatal_;
  std::optional<bool> end_saves_;  // how the server was shut down
  bool has_skipped_ = false;       // the RDB file has keys that we cannot hold
  bool is_ready_ = false;          // what there was at the start is loaded
  std::uint64_t loaded_keys_ = 0;
  std::uint64_t due_keys_ = 0;
};

}  // namespace mayfly
