// SPDX-License-Identifier: Apache-2.0
// Persistence: the data on disk. Snapshots (RDB) and the append-only file (AOF): which of them is
// loaded at the start, when they are written, and what happens if they cannot be.
//
//   persistence.directory().take();         // no other server may use it
//   persistence.start();                    // begins to load; goes on in Server::begin_turn()
//   persistence.before_sleep(now);          // in every turn, before replies are sent
//   if (persistence.fatal()) ...            // loading failed: end with exit code 1
//   persistence.shut_down(saves);           // the last
//
// All files are below the directory `dir` of the configuration.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "server/persistence/aof_writer.h"
#include "server/persistence/data_directory.h"
#include "server/persistence/loading.h"
#include "server/persistence/replay/aof_replay.h"
#include "server/persistence/shutdown.h"
#include "server/persistence/snapshots.h"
#include "server/persistence/storage_context.h"

namespace mayfly {

class Clients;
class KeyEvents;
class Replication;
class Requests;

// What DEBUG RELOAD does.
struct ReloadPlan {
  bool saves = true;    // before it loads
  bool flushes = true;  // what is in memory goes
  bool merges = false;  // keys that exist are replaced; else they are an error
};

// Of the data that was loaded at the start: of which replication stream, and up to where. For the
// recovery of a cluster.
struct LoadedHistory {
  std::string id;  // empty: unknown
  std::uint64_t epoch = 0;
  std::uint64_t offset = 0;
  int database = 0;  // that the stream has selected
};

class Persistence {
 public:
  using MakeReplay = std::function<std::unique_ptr<AofReplay>()>;

  Persistence(const StorageContext& context, Propagation& propagation, Clients& clients,
              KeyEvents& events, Replication& replication, Requests& requests,
              MakeReplay make_replay);
  ~Persistence();

  // Begins to load the append-only file if `appendonly`, else, or if there is none, the RDB file.
  // An error is a reason not to start.
  Status start();

  // Why the data could not be loaded: it has been logged, and ServerHost::shut_down() was called.
  // The program must end with an exit code that says so; nothing on disk was changed.
  const std::optional<Error>& fatal() const { return fatal_; }

  // Between requests, before replies are sent: writes and syncs what was appended, and saves or
  // rewrites if it is time.
  void before_sleep(Time now);

  // Whether writes can be accepted. The message of the error is the reply ("MISCONF ...").
  Status check_writable() const;

  // Before a change of the configuration: whether it can take effect. Locks the directories that it
  // needs. An error leaves everything as it was.
  Status prepare_config(const Config& next);
  void cancel_config();  // the prepared change is dropped, for another reason

  // After a change of the configuration: switches the append-only file on or off. Does nothing
  // before start().
  void apply_config();

  // Kills the child, writes and syncs the append-only file, with a base if it has none yet, and
  // saves a snapshot if `saves`. After an error the server may go on. Called again, when the loop
  // has ended, it saves what was written since, if the first call saved. Data that is loaded in
  // part is not saved. If it `is_forced`, errors are only logged, and it is not tried again.
  Status shut_down(bool saves, bool is_forced = false);

  // Memory has a part of a unit from now on, which is not propagated: shut_down() writes only what
  // the append-only file has been given.
  void give_up_unit() { has_given_up_unit_ = true; }

  // Whether the data would be lost without a base of the append-only file, which there is not yet.
  bool needs_base() const { return is_ready_ && aof_.is_on() && !aof_.log()->is_in_force(); }
  bool saves_at_end() const;  // by default: there are save rules

  DataDirectory& directory() { return directory_; }
  Shutdown& shutdown() { return shutdown_; }
  Snapshots& snapshots() { return snapshots_; }
  AofWriter& aof() { return aof_; }
  const AofWriter& aof() const { return aof_; }

  // Whether the data on disk at the start is loaded.
  bool is_ready() const { return is_ready_; }
  const LoadedHistory& loaded_history() const { return loaded_history_; }
  bool has_loaded_log() const { return has_loaded_log_; }  // an append-only file, perhaps empty

  // The server cannot go on: it ends with this error.
  void fail(const Error& error);

  // Of the last RDB file that was loaded, for INFO.
  std::uint64_t loaded_keys() const { return loaded_keys_; }
  std::uint64_t due_keys() const { return due_keys_; }

  // ---- For DEBUG: replace all data in memory, at once ----

  Status reload(const ReloadPlan& plan);  // by the RDB file
  Status load_aof();                      // by the append-only file

 private:
  using RdbEnded = std::function<Status(const RdbReport&)>;

  // Begin to load; `loaded` is called after success, and `ended` in any case.
  Status begin_rdb(RdbLoadOptions options, const RdbEnded& loaded, const Loading::Ended& ended);
  void begin_aof(const Loading::Ended& ended);

  void look_at_unloaded_dump();
  void look_at_unloaded_log();
  Status rdb_loaded(const RdbReport& report);
  Status aof_loaded(const AofTask& task);
  void restore_replication(const RdbReport& report);
  void restore_replication(const LoadedHistory& history);
  void load_ended(const Status& status, bool goes_on);
  void stop_child();
  void save_flushed(Time now);

  const StorageContext context_;
  KeyEvents& events_;
  Replication& replication_;
  const MakeReplay make_replay_;
  DataDirectory directory_;
  Snapshots snapshots_;
  AofWriter aof_;
  Shutdown shutdown_;
  std::optional<Error> fatal_;
  std::optional<bool> end_saves_;  // how the server was shut down
  bool is_ready_ = false;          // the data on disk at the start is loaded
  bool has_given_up_unit_ = false;
  bool has_loaded_log_ = false;
  std::uint64_t loaded_keys_ = 0;
  std::uint64_t due_keys_ = 0;
  LoadedHistory loaded_history_;
  std::optional<LoadedHistory> end_of_log_;  // of an append-only file that was closed in good order
};

}  // namespace mayfly
