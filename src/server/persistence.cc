// SPDX-License-Identifier: Apache-2.0
// Loading at the start, and ending.

#include "server/persistence.h"

#include <fmt/format.h>

#include <utility>

#include "persist/aof_manifest.h"
#include "resp/numbers.h"
#include "server/aof_task.h"
#include "server/memory.h"
#include "server/replication.h"
#include "server/server.h"

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

// "3 of type list, 1 of type set"
std::string counts_of(const std::map<std::string, std::uint64_t>& skipped) {
  std::string text;
  for (const auto& [type, count] : skipped) {
    text += fmt::format("{}{} of type {}", text.empty() ? "" : ", ", count, type);
  }
  return text;
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
  options.aux = {{"ctime", std::to_string(seconds)}, {"used-mem", std::to_string(used_memory())}};
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
  remove_debris();
  const Config& config = server_.config();
  Disk& disk = server_.surroundings().disk();
  bool has_no_log = false;
  if (config.appendonly) {
    const Result<AofFiles> files = find_aof(disk, aof_.options());
    if (!files) return files.error();
    if (files->manifest) {
      begin_aof([this](const Status& status) { load_ended(status, true); });
      return Done{};
    }
    has_no_log = true;
  }
  if (!disk.exists(snapshots_.path())) {
    load_ended(Done{}, has_no_log);
    return fatal_ ? Status(*fatal_) : Status(Done{});
  }
  const auto loaded = [this](const RdbReport& report) {
    const Status status = note_rdb(report, snapshots_.path());
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
  auto task = std::make_unique<RdbTask>(std::move(*source), server_.keyspace(),
                                        RdbLoadOptions{.now = now,
                                                       .keeps_due = keeps_due,
                                                       .is_strict = server_.config().rdb_strict,
                                                       .checks = rdb_checks(server_.config())});
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
  const AofLoadReport& report = task->report();
  server_.loading().begin(std::move(task), now, [this, &report, ended](const Status& status) {
    if (status) return ended(note_aof(report));
    ended(Error{status.error().code,
                fmt::format("cannot load the append-only file: {}", status.error().message)});
  });
}

Status Persistence::note_rdb(const RdbReport& report, const std::string& file) {
  loaded_keys_ = report.keys;
  due_keys_ = report.due_keys;
  has_skipped_ = !report.skipped.empty();
  if (has_skipped_) {
    const std::string what =
        fmt::format("'{}' has keys that cannot be held here: {}", file, counts_of(report.skipped));
    if (server_.config().rdb_strict) return Error{Code::unsupported, what};
    server_.log().write(Level::warning, what + ". They are left out, and a save will lose them");
  }
  return Done{};
}

Status Persistence::note_aof(const AofLoadReport& report) {
  if (report.truncated_bytes > 0) {
    server_.log().write(
        Level::warning,
        fmt::format("The end of '{}' was incomplete: {} bytes from offset {} on "
                    "were cut off (aof-load-truncated)",
                    report.truncated_file, report.truncated_bytes, report.truncated_at));
  }
  return report.base ? note_rdb(*report.base, "the base of the append-only file") : Status(Done{});
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
}

void Persistence::fail(const Error& error) {
  fatal_ = error;
  server_.log().write(Level::warning, fmt::format("Cannot start: {}", error.message));
  server_.surroundings().shut_down();
}

void Persistence::data_replaced() { aof_.begin_anew(); }

// ---- While it runs ----

void Persistence::before_sleep(Time now) {
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
  if (!is_ready_) return;
  const bool is_wanted = server_.config().appendonly;
  if (is_wanted && !aof_.is_on()) aof_.switch_on();
  if (!is_wanted && aof_.is_on()) aof_.switch_off();
  aof_.apply_config();
}

// ---- The end ----

bool Persistence::saves_at_end() const {
  // A file of which we could load a part only stays as it is unless there is something new.
  const bool would_only_lose = has_skipped_ && server_.stats().dirty == 0;
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
  const auto loaded = [this](const RdbReport& report) {
    return note_rdb(report, snapshots_.path());
  };
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
  if (!aof_.is_on() || !aof_.log()->is_in_force()) {
    return Error{Code::invalid, "there is no append-only file in force"};
  }
  if (Status status = aof_.sync_now(); !status) return status;
  server_.clear_all();
  Status ended = Done{};
  begin_aof([&](const Status& status) { ended = status; });
  server_.loading().finish();
  return ended;
}

}  // namespace mayfly
