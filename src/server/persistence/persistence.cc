// SPDX-License-Identifier: Apache-2.0
// Loading at the start, and ending.

#include "server/persistence/persistence.h"

#include <fmt/format.h>

#include <utility>

#include "base/version.h"
#include "persist/aof/aof_manifest.h"
#include "resp/numbers.h"
#include "server/core/memory.h"
#include "server/core/server.h"
#include "server/persistence/aof_task.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kSyncEveryBytes = 4u << 20;  // 4 MiB

bool looks_at_access(Eviction policy) {
  using enum Eviction;
  return policy == allkeys_lru || policy == volatile_lru || uses_lfu(policy);
}

std::string seconds_between(Time begin, Time end) {
  return fmt::format("{:.3f} seconds", std::chrono::duration<double>(end - begin).count());
}

}  // namespace

Persistence::Persistence(Server& server)
    : server_(server), snapshots_(server), aof_(server), shutdown_(server) {}

Persistence::~Persistence() = default;

SaveOptions Persistence::save_options() {
  const Config& config = server_.config();
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(server_.wall().now()).time_since_epoch().count();
  SaveOptions options;
  options.format = {.compresses = config.rdbcompression, .checksums = config.rdbchecksum};
  options.saves_access = looks_at_access(config.maxmemory_policy);
  // Who wrote it, as INFO says it.
  options.aux = {{"mayfly-ver", std::string(kMayflyVersion)},
                 {"redis-ver", std::string(kCompatibleVersion)},
                 {"ctime", std::to_string(seconds)},
                 {"used-mem", std::to_string(used_memory())}};
  const RdbAux more = server_.replication().aux();
  options.aux.insert(options.aux.end(), more.begin(), more.end());
  options.sync_every_bytes = config.rdb_save_incremental_fsync ? kSyncEveryBytes : 0;
  return options;
}

// ---- Loading ----

// What we were writing when somebody killed us.
void Persistence::remove_debris() {
  const std::string& dir = server_.config().dir;
  const std::int64_t port = server_.surroundings().port();
  for (const std::string& name :
       {fmt::format("temp-{}-{}", port, server_.config().dbfilename),
        fmt::format("temp-primary-{}.rdb", port), fmt::format("sync-{}.rdb", port),
        fmt::format("temp-sync-{}.rdb", port)}) {
    (void)server_.surroundings().disk().remove(dir + "/" + name);
  }
}

Status Persistence::start() {
  if (Status status = take_directory(); !status) return status;
  remove_debris();
  const Config& config = server_.config();
  Disk& disk = server_.surroundings().disk();
  bool has_no_log = false;
  if (config.appendonly) {
    const AofOptions options = aof_.options();
    if (disk.exists(options.directory)) {
      if (Status status = aof_.lock_directory(options.directory); !status) return status;
    }
    const Result<AofFiles> files = find_aof(disk, options);
    if (!files) return files.error();
    if (files->manifest) {
      server_.log().write(Level::notice,
                          fmt::format("Loading the append-only file in '{}'", options.directory));
      begin_aof([this](const Status& status) { load_ended(status, true); });
      return Done{};
    }
    has_no_log = true;
  }
  if (!disk.exists(snapshots_.path())) {
    server_.log().write(Level::notice,
                        fmt::format("There is nothing to load: no {}'{}'",
                                    has_no_log ? "append-only file, no " : "", snapshots_.path()));
    load_ended(Done{}, has_no_log);
    return fatal_ ? Status(*fatal_) : Status(Done{});
  }
  const auto loaded = [this](const RdbReport& report) {
    const Status status = note_rdb(report);
    if (status) restore_history(report);
    return status;
  };
  return begin_rdb(!config.replicaof_host.empty(), loaded,
                   [this](const Status& status) { load_ended(status, false); });
}

Status Persistence::begin_rdb(bool keeps_due, const RdbEnded& loaded, const Loading::Ended& ended) {
  const std::string path = snapshots_.path();
  Result<std::unique_ptr<ByteSource>> source = server_.surroundings().disk().open(path);
  if (!source) return source.error();
  const Time now = server_.wall().now();
  server_.log().write(Level::notice,
                      fmt::format("Loading '{}', {} bytes", path, (*source)->size()));
  auto task = std::make_unique<RdbTask>(
      std::move(*source), server_.keyspace(),
      RdbLoadOptions{.now = now, .keeps_due = keeps_due, .checks = rdb_checks(server_.config())});
  const RdbReport& report = task->report();  // as good as the task, which outlives the call
  server_.loading().begin(
      std::move(task), now, [&report, path, loaded, ended](const Status& status) {
        if (status) return ended(loaded(report));
        ended(Error{status.error().code,
                    fmt::format("cannot load '{}': {}", path, status.error().message)});
      });
  return Done{};
}

void Persistence::begin_aof(const Loading::Ended& ended) {
  const Time now = server_.wall().now();
  auto task = std::make_unique<AofTask>(
      server_, server_.surroundings().disk(), aof_.options(), server_.keyspace(),
      AofLoadOptions{.now = now,
                     .truncates_tail = server_.config().aof_load_truncated,
                     .checks = rdb_checks(server_.config())});
  const AofTask& running = *task;  // outlives the call
  server_.loading().begin(std::move(task), now, [this, &running, ended](const Status& status) {
    if (status) return ended(note_aof(running));
    ended(Error{status.error().code,
                fmt::format("cannot load the append-only file: {}", status.error().message)});
  });
}

Status Persistence::note_rdb(const RdbReport& report) {
  loaded_keys_ = report.keys;
  due_keys_ = report.due_keys;
  partly_loaded_ = report.skipped.empty() ? std::string() : snapshots_.path();
  return check_skipped(report.skipped, fmt::format("'{}'", snapshots_.path()));
}

Status Persistence::note_aof(const AofTask& task) {
  const AofLoadReport& report = task.report();
  if (report.truncated_bytes > 0) {
    server_.log().write(
        Level::warning,
        fmt::format("The end of '{}' was incomplete: {} bytes from offset {} on "
                    "were cut off (aof-load-truncated)",
                    report.truncated_file, report.truncated_bytes, report.truncated_at));
  }
  std::map<std::string, std::uint64_t> skipped = task.skipped();
  if (report.base) {
    loaded_keys_ = report.base->keys;
    due_keys_ = report.base->due_keys;
    for (const auto& [type, count] : report.base->skipped) skipped[type] += count;
  }
  if (!skipped.empty()) aof_.keep_files_aside();
  return check_skipped(skipped, "the append-only file");
}

void Persistence::restore_history(const RdbReport& report) {
  const auto id = report.aux.find("repl-id");
  const auto offset = report.aux.find("repl-offset");
  if (id == report.aux.end() || offset == report.aux.end()) return;
  const std::optional<std::int64_t> number = parse_integer(offset->second);
  if (!number || *number < 0) return;
  const auto database = report.aux.find("repl-stream-db");
  const std::int64_t selected =
      database == report.aux.end() ? 0 : parse_integer(database->second).value_or(0);
  server_.replication().restore(id->second, static_cast<std::uint64_t>(*number),
                                static_cast<int>(selected));
}

void Persistence::load_ended(const Status& status, bool goes_on) {
  if (!status) return fail(status.error());
  const Time now = server_.wall().now();
  if (server_.loading().since() != Time{}) {
    server_.log().write(Level::notice,
                        fmt::format("DB loaded from disk: {} keys in {}", stored_keys(server_),
                                    seconds_between(server_.loading().since(), now)));
  }
  if (server_.config().appendonly) {
    if (Status opened = aof_.open(goes_on); !opened) {
      return fail({opened.error().code,
                   fmt::format("cannot open the append-only file: {}", opened.error().message)});
    }
  }
  snapshots_.begin(now);
  is_ready_ = true;
  server_.surroundings().ready();
}

void Persistence::fail(const Error& error) {
  fatal_ = error;
  server_.log().write(Level::warning, fmt::format("Cannot start: {}", error.message));
  server_.surroundings().shut_down();
}

void Persistence::data_replaced() { aof_.begin_anew(); }

// ---- While it runs ----

void Persistence::before_sleep(Time now) {
  if (!server_.background().is_busy()) former_locks_.clear();
  if (is_ready_) {
    aof_.before_sleep(now);
    snapshots_.before_sleep(now);
  }
  shutdown_.before_sleep(now);
}

std::string Persistence::why_no_writes() const {
  std::string why = aof_.why_no_writes();
  return why.empty() ? snapshots_.why_no_writes() : why;
}

void Persistence::apply_config() {
  if (std::exchange(is_moving_, false)) directory_changed();
  if (!is_ready_) return;
  const bool is_wanted = server_.config().appendonly;
  if (is_wanted && !aof_.is_on()) aof_.switch_on();
  if (!is_wanted && aof_.is_on()) aof_.switch_off();
  aof_.apply_config();
}

// ---- The end ----

bool Persistence::saves_at_end() const {
  // A file of which we could load a part only stays as it is unless there is something new.
  const bool would_only_lose = !partly_loaded_.empty() && server_.stats().dirty == 0;
  return !server_.config().save.empty() && !would_only_lose;
}

void Persistence::stop_child() {
  if (server_.background().is_doing(Job::save)) snapshots_.cancel();
  aof_.stop_rewrite();
  server_.background().stop();
}

Status Persistence::shut_down(bool saves, bool is_forced) {
  if (fatal_ || !is_ready_) return Done{};
  const bool is_first = !end_saves_;
  if (end_saves_) saves = *end_saves_;
  stop_child();
  Status status = aof_.sync_now();
  if (!status) {
    server_.log().write(Level::warning, fmt::format("Cannot write the append-only file: {}",
                                                    status.error().message));
  }
  const bool is_whole = !server_.loading().is_active();
  if (saves && is_whole && (is_first || server_.stats().dirty > 0)) {
    const Status saved = snapshots_.save(server_.wall().now());
    if (status) status = saved;
  }
  if (!status && !is_forced) return status;
  end_saves_ = saves && status;
  return Done{};
}

// ---- For DEBUG ----

Status Persistence::reload(bool saves, bool flushes) {
  if (server_.loading().is_active()) return Error{Code::busy, "data is being loaded already"};
  if (saves) {
    if (server_.background().is_doing(Job::save)) snapshots_.cancel();
    if (Status status = snapshots_.save(server_.wall().now()); !status) return status;
  }
  Status ended = Done{};
  const auto loaded = [this](const RdbReport& report) { return note_rdb(report); };
  // What is due stays until it is swept, for whoever follows us must be told.
  const Status begun = begin_rdb(true, loaded, [&](const Status& status) { ended = status; });
  if (!begun) return begun;
  if (flushes) server_.clear_all();
  server_.loading().finish();
  if (!saves || !flushes) aof_.begin_anew();  // the log says something else
  return ended;
}

Status Persistence::load_aof() {
  if (server_.loading().is_active()) return Error{Code::busy, "data is being loaded already"};
  const bool is_in_force = aof_.is_on() && aof_.log()->is_in_force();
  if (Status status = aof_.sync_now(); !status) return status;
  const AofOptions options = aof_.options();
  const Result<AofFiles> files = find_aof(server_.surroundings().disk(), options);
  if (!files) return files.error();
  if (!files->manifest) return Error{Code::not_found, "there is no append-only file"};
  const Result<std::unique_ptr<DirectoryLock>> taken =  // while it is loaded
      lock(files->is_old ? server_.config().dir : options.directory, "dir or appenddirname");
  if (!taken) return taken.error();
  server_.clear_all();
  Status ended = Done{};
  begin_aof([&](const Status& status) { ended = status; });
  server_.loading().finish();
  if (!is_in_force) aof_.begin_anew();  // what is being written does not begin with this data
  return ended;
}

}  // namespace mayfly
