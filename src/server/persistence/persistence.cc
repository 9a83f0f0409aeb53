// SPDX-License-Identifier: Apache-2.0
// Loading at the start, and ending.

#include "server/persistence/persistence.h"

#include <fmt/format.h>

#include <utility>

#include "base/version.h"
#include "persist/aof/aof_manifest.h"
#include "resp/numbers.h"
#include "server/core/key_events.h"
#include "server/persistence/aside/files_aside.h"
#include "server/persistence/background.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// "EPOCH ID OFFSET [DATABASE]", as AofWriter notes it.
std::optional<LoadedHistory> parse_note(std::string_view note) {
  const std::size_t first = note.find(' ');
  const std::size_t second = note.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::size_t third = std::min(note.find(' ', second + 1), note.size());
  const auto epoch = parse_integer(note.substr(0, first));
  const auto offset = parse_integer(note.substr(second + 1, third - second - 1));
  const auto database =
      third == note.size() ? std::optional<std::int64_t>(0) : parse_integer(note.substr(third + 1));
  if (!epoch || !offset || !database || *epoch < 0 || *offset < 0) return std::nullopt;
  return LoadedHistory{std::string(note.substr(first + 1, second - first - 1)),
                       static_cast<std::uint64_t>(*epoch), static_cast<std::uint64_t>(*offset),
                       static_cast<int>(*database)};
}

// The same from the aux fields of an RDB file.
std::optional<LoadedHistory> history_of(const RdbReport& report) {
  const auto value = [&](const char* name) {
    const auto found = report.aux.find(name);
    return found == report.aux.end() ? std::string() : found->second;
  };
  return parse_note(value("cluster-epoch") + " " + value("repl-id") + " " + value("repl-offset"));
}

std::string loading_time(Time begin, Time end) {
  return fmt::format("{:.3f} seconds", std::chrono::duration<double>(end - begin).count());
}

}  // namespace

Persistence::Persistence(const StorageContext& context, Propagation& propagation, Clients& clients,
                         KeyEvents& events, Replication& replication, Requests& requests,
                         MakeReplay make_replay)
    : context_(context),
      events_(events),
      replication_(replication),
      make_replay_(std::move(make_replay)),
      directory_(context),
      snapshots_(context, directory_),
      aof_(context, directory_, propagation, clients),
      shutdown_(context, *this, replication, clients, requests, context.scripting) {}

Persistence::~Persistence() = default;

// ---- Loading ----

Status Persistence::start() {
  if (Status status = directory_.take(); !status) return status;
  directory_.remove_temporary_files();
  const Config& config = context_.config;
  Disk& disk = context_.host.disk();
  bool has_no_log = false;
  if (config.appendonly) {
    const AofOptions options = aof_.options();
    if (disk.exists(options.directory)) {
      if (Status status = aof_.lock_directory(options.directory); !status) return status;
    }
    const Result<AofFiles> files = find_aof(disk, options);
    if (!files) return bad_manifest(files.error());
    if (files->manifest) {
      context_.log.notice("Loading the append-only file in '{}'", options.directory);
      look_at_unloaded_dump();
      begin_aof([this](const Status& status) {
        if (status && end_of_log_) restore_replication(*end_of_log_);
        load_ended(status, true);
      });
      return Done{};
    }
    has_no_log = true;
  }
  if (!config.appendonly) look_at_unloaded_log();
  if (!disk.exists(snapshots_.path())) {
    context_.log.notice("No data to load: there is no {}'{}'",
                        has_no_log ? "append-only file, no " : "", snapshots_.path());
    load_ended(Done{}, has_no_log);
    return fatal_ ? Status(*fatal_) : Status(Done{});
  }
  const auto loaded = [this](const RdbReport& report) {
    const Status status = rdb_loaded(report);
    if (status) restore_replication(report);
    return status;
  };
  // What is due is kept for the expiry log: the sweep writes it there.
  const bool keeps_due =
      !config.replicaof_host.empty() || config.expiry_log || config.cluster_enabled;
  return begin_rdb({.keeps_due = keeps_due, .keeps_due_of_stream = true}, loaded,
                   [this](const Status& status) { load_ended(status, false); });
}

// It may be a backup that was restored.
void Persistence::look_at_unloaded_dump() {
  if (!has_unknown_dump(context_)) return;
  snapshots_.keep_file_aside("not-loaded");
  context_.log.warning(
      "'{}' is not loaded, as there is an append-only file; and it is not the last one that this "
      "server has saved. Before it is replaced it is kept under another name (to load it: stop, "
      "move '{}' away, and start)",
      snapshots_.path(), aof_.options().directory);
}

void Persistence::look_at_unloaded_log() {
  const AofOptions options = aof_.options();
  const Result<AofFiles> files = find_aof(context_.host.disk(), options);
  if (files && !files->manifest) return;
  aof_.keep_files_aside(AofWriter::LeftOut::not_loaded);
  context_.log.warning(
      "There is an append-only file in '{}', and appendonly is 'no': it is not loaded, and gets no "
      "writes (to load it: stop, and start with appendonly yes. CONFIG SET appendonly yes does not "
      "load it, but begins another one, and keeps this one in '{}.not-loaded-N')",
      options.directory, options.directory);
}

Status Persistence::begin_rdb(RdbLoadOptions options, const RdbEnded& loaded,
                              const Loading::Ended& ended) {
  const std::string path = snapshots_.path();
  Result<std::unique_ptr<ByteSource>> source = context_.host.disk().open(path);
  if (!source) return source.error();
  const Time now = context_.clock.now();
  context_.log.notice("Loading '{}', {} bytes", path, (*source)->size());
  options.now = now;
  options.checks = rdb_checks(context_.config);
  options.load_function = load_function(context_, options.replaces);
  auto task = std::make_unique<RdbTask>(std::move(*source), context_.keyspace, options);
  const RdbReport& report = task->report();  // the task outlives the call
  context_.loading.begin(
      std::move(task), now, [&report, path, loaded, ended](const Status& status) {
        if (status) return ended(loaded(report));
        ended(Error{status.error().code,
                    fmt::format("cannot load '{}': {}", path, status.error().message)});
      });
  return Done{};
}

void Persistence::begin_aof(const Loading::Ended& ended) {
  const Time now = context_.clock.now();
  auto task = std::make_unique<AofTask>(
      make_replay_(), context_.host.disk(), aof_.options(), context_.keyspace,
      AofLoadOptions{.now = now,
                     .truncates_tail = context_.config.aof_load_truncated,
                     .checks = rdb_checks(context_.config),
                     .load_function = load_function(context_)});
  const AofTask& running = *task;  // outlives the call
  context_.loading.begin(std::move(task), now, [this, &running, ended](const Status& status) {
    if (status) return ended(aof_loaded(running));
    const bool is_damage = status.error().code == Code::corrupt;
    ended(Error{status.error().code,
                fmt::format("cannot load the append-only file: {}{}", status.error().message,
                            is_damage ? fmt::format(" (look at all of it: mayfly aof '{}'; with "
                                                    "--fix its end is cut off and kept aside)",
                                                    aof_.options().directory)
                                      : "")});
  });
}

Status Persistence::rdb_loaded(const RdbReport& report) {
  loaded_keys_ = report.keys;
  due_keys_ = report.due_keys;
  warn_of_empty_keys(context_, report, fmt::format("'{}'", snapshots_.path()));
  if (auto history = history_of(report)) loaded_history_ = *history;
  report.skipped.empty() ? snapshots_.forget_kept_file()
                         : snapshots_.keep_file_aside("unsupported");
  return check_skipped(context_, report.skipped, fmt::format("'{}'", snapshots_.path()));
}

Status Persistence::aof_loaded(const AofTask& task) {
  const AofLoadReport& report = task.report();
  has_loaded_log_ = report.found;
  if (report.truncated_bytes > 0) {
    context_.log.warning(
        "The end of '{}' was incomplete: {} bytes from offset {} on "
        "were cut off (aof-load-truncated)",
        report.truncated_file, report.truncated_bytes, report.truncated_at);
  }
  std::map<std::string, std::uint64_t> skipped = task.skipped();
  if (report.base) {
    loaded_keys_ = report.base->keys;
    due_keys_ = report.base->due_keys;
    warn_of_empty_keys(context_, *report.base, "the append-only file");
    for (const auto& [type, count] : report.base->skipped) skipped[type] += count;
    if (auto history = history_of(*report.base)) loaded_history_ = *history;
  }
  const auto noted = parse_note(report.note);
  if (noted) loaded_history_ = *noted;
  const AofReplay& replay = task.replay();
  const bool is_all = skipped.empty() && replay.failed() == 0 &&
                      (!report.base || report.base->empty_keys == 0);  // else replicas have more
  end_of_log_ =
      report.ends_with_note && is_all && noted && noted->epoch == 0 ? noted : std::nullopt;
  if (replay.unchanging() > 0) {
    context_.log.notice("{} commands of the append-only file change nothing, and were left out",
                        replay.unchanging());
  }
  if (replay.failed() > 0) {
    context_.log.warning(
        "{} commands of the append-only file failed, and were left out, as Valkey leaves them out. "
        "The files are kept aside (aof-load-failed-commands no refuses such a file)",
        replay.failed());
  }
  if (replay.failed() > 0) aof_.keep_files_aside(AofWriter::LeftOut::failed);
  if (!skipped.empty()) aof_.keep_files_aside(AofWriter::LeftOut::unsupported);
  return check_skipped(context_, skipped, "the append-only file");
}

void Persistence::restore_replication(const RdbReport& report) {
  const auto id = report.aux.find("repl-id");
  const auto offset = report.aux.find("repl-offset");
  if (id == report.aux.end() || offset == report.aux.end()) return;
  const std::optional<std::int64_t> number = parse_integer(offset->second);
  if (!number || *number < 0) return;
  const auto database = report.aux.find("repl-stream-db");
  const std::int64_t selected =
      database == report.aux.end() ? 0 : parse_integer(database->second).value_or(0);
  if (!report.skipped.empty() || report.empty_keys > 0) return;  // the replicas have more
  restore_replication(LoadedHistory{.id = id->second,
                                    .offset = static_cast<std::uint64_t>(*number),
                                    .database = static_cast<int>(selected)});
}

void Persistence::restore_replication(const LoadedHistory& history) {
  const bool is_sound = is_replication_id(history.id) && history.database >= 0 &&
                        history.database < context_.keyspace.count();
  if (is_sound) replication_.restore(history.id, history.offset, history.database);
}

void Persistence::load_ended(const Status& status, bool goes_on) {
  if (!status) return fail(status.error());
  const Time now = context_.clock.now();
  if (context_.loading.since() != Time{}) {
    context_.log.notice("DB loaded from disk: {} keys in {}", stored_keys(context_.keyspace),
                        loading_time(context_.loading.since(), now));
  }
  if (context_.config.appendonly) {
    if (Status opened = aof_.open(goes_on); !opened) {
      return fail({opened.error().code,
                   fmt::format("cannot open the append-only file: {}", opened.error().message)});
    }
  }
  snapshots_.begin(now);
  (void)events_.take_flush();  // one of the log
  is_ready_ = true;
  context_.host.ready();
}

void Persistence::fail(const Error& error) {
  fatal_ = error;
  context_.log.warning("Cannot start: {}", error.message);
  context_.host.shut_down();
}

// ---- While it runs ----

void Persistence::before_sleep(Time now) {
  if (!context_.background.is_busy()) directory_.release_former();
  if (is_ready_) {
    if (events_.take_flush()) save_flushed(now);
    aof_.before_sleep(now);
    snapshots_.before_sleep(now);
  }
  shutdown_.before_sleep(now);
}

// The data that FLUSHALL removed must not come back after a crash: a file that is being written has
// it, and so may the last one.
void Persistence::save_flushed(Time now) {
  if (context_.background.is_doing(Job::save)) snapshots_.cancel();
  if (!context_.config.save.empty()) (void)snapshots_.save(now);  // it logs a failure
}

Status Persistence::check_writable() const {
  if (Status status = aof_.check_writable(); !status) return status;
  return snapshots_.check_writable();
}

Status Persistence::prepare_config(const Config& next) {
  if (next.appendonly && !context_.config.appendonly && !aof_.is_on()) {
    if (Status status = aof_.check_can_begin(AofWriter::options_of(next)); !status) {
      return Error{status.error().code,
                   fmt::format("cannot begin the append-only file: {}", status.error().message)};
    }
  }
  Status moved = directory_.prepare_move(next.dir);
  if (!moved) cancel_config();
  return moved;
}

void Persistence::cancel_config() {
  directory_.cancel_move();
  aof_.cancel_begin();
}

void Persistence::apply_config() {
  if (directory_.finish_move() && aof_.is_on()) {
    context_.log.warning(
        "dir is '{}' now. The append-only file stays in '{}' until it is switched off and on",
        context_.config.dir, aof_.log()->options().directory);
  }
  if (!is_ready_) return;
  const bool is_wanted = context_.config.appendonly;
  if (is_wanted && !aof_.is_on()) aof_.switch_on();
  if (!is_wanted && aof_.is_on()) aof_.switch_off();
  aof_.apply_config();
}

// ---- The end ----

bool Persistence::saves_at_end() const {
  // A file that was not loaded, or in part, stays as it is unless there is new data.
  const bool would_only_lose = snapshots_.is_file_kept() && context_.stats.dirty == 0;
  return !context_.config.save.empty() && !would_only_lose;
}

void Persistence::stop_child() {
  if (context_.background.is_doing(Job::save)) snapshots_.cancel();
  aof_.stop_rewrite();
  context_.background.stop();
}

Status Persistence::shut_down(bool saves, bool is_forced) {
  if (fatal_ || !is_ready_) return Done{};
  const bool is_first = !end_saves_;
  if (end_saves_) saves = *end_saves_;
  stop_child();
  const bool is_whole = !context_.loading.is_active() && !has_given_up_unit_;
  Status status = is_whole ? aof_.complete(context_.clock.now()) : aof_.sync_now();
  if (!status) {
    context_.log.warning("Cannot write the append-only file: {}", status.error().message);
  }
  if (saves && is_whole && (is_first || context_.stats.dirty > 0)) {
    const Status saved = snapshots_.save(context_.clock.now());
    if (status) status = saved;
  }
  if (!status && !is_forced) return status;
  end_saves_ = saves && status;
  return Done{};
}

}  // namespace mayfly
