// SPDX-License-Identifier: Apache-2.0
// Saving snapshots, and when.

#include "server/persistence/snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/version.h"
#include "keyspace/eviction.h"
#include "server/monitoring/memory.h"
#include "server/monitoring/stats.h"
#include "server/persistence/aside/files_aside.h"
#include "server/persistence/background.h"
#include "server/persistence/data_directory.h"
#include "server/persistence/loading.h"
#include "server/replication/replication_stream.h"
#include "server/scripting/functions.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

constexpr Millis kSaveRetryDelay{5000};  // after a failure

constexpr std::uint64_t kSyncEveryBytes = 4u << 20;  // 4 MiB

bool uses_access(Eviction policy) {
  using enum Eviction;
  return policy == allkeys_lru || policy == volatile_lru || uses_lfu(policy);
}

}  // namespace

SaveOptions save_options(const StorageContext& context) {
  const Config& config = context.config;
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(context.clock.now()).time_since_epoch().count();
  SaveOptions options;
  options.format = {.compresses = config.rdbcompression,
                    .checksums = config.rdbchecksum,
                    .now = context.now,
                    .streams = rdb::Type::stream2};  // Redis 7.0 can load it
  options.saves_access = uses_access(config.maxmemory_policy);
  options.aux = {{"mayfly-ver", std::string(kMayflyVersion)},
                 {"redis-ver", std::string(kCompatibleVersion)},
                 {"ctime", std::to_string(seconds)},
                 {"used-mem", std::to_string(used_memory())}};
  const RdbAux more = context.stream.aux();
  options.aux.insert(options.aux.end(), more.begin(), more.end());
  options.libraries = context.scripting.functions().codes();
  options.sync_every_bytes = config.rdb_save_incremental_fsync ? kSyncEveryBytes : 0;
  return options;
}

std::uint64_t stored_keys(Keyspace& keyspace) {
  std::uint64_t keys = 0;
  for (int i = 0; i < keyspace.count(); ++i) keys += keyspace[i].stored();
  return keys;
}

// No two servers write the same file, even in the same directory. One that a crash left is
// overwritten by the next.
std::string Snapshots::temporary_name() const {
  return fmt::format("temp-{}-{}", context_.host.port(), context_.config.dbfilename);
}

std::string Snapshots::path() const {
  const Config& config = context_.config;
  return config.dir + "/" + config.dbfilename;
}

Time Snapshots::last_save() const { return last_save_.value_or(context_.stats.started); }

void Snapshots::begin(Time now) {
  last_save_ = now;
  context_.stats.dirty = 0;
}

Result<SaveProgress> Snapshots::write(const SaveOptions& options, const OnSaveProgress& progress) {
  const Config& config = context_.config;
  return save_rdb_file(context_.host.disk(), config.dir, config.dbfilename, temporary_name(),
                       context_.keyspace, options, progress);
}

Status Snapshots::link_file_aside() {
  Disk& disk = context_.host.disk();
  if (kept_ != path() || !disk.exists(path())) return Done{};
  const std::string name = unused_name(disk, path(), kept_why_);
  if (Status status = disk.link(path(), name); !status) return status;
  if (Status status = disk.sync_directory(context_.config.dir); !status) return status;
  kept_.clear();
  context_.log.notice("'{}' was not loaded, or not all of it: it is kept as '{}'", path(), name);
  return Done{};
}

// No file is replaced that another server may use, or that has keys that were left out.
Status Snapshots::prepare() {
  if (Status status = directory_.take(); !status) return status;
  return link_file_aside();
}

Status Snapshots::save(Time now) {
  const Status prepared = prepare();
  const Result<SaveProgress> written =
      prepared ? write(save_options(context_), {}) : prepared.error();
  if (!written) {
    context_.log.warning("Cannot save the data in '{}': {}", path(), written.error().message);
    return written.error();
  }
  saved(now, context_.stats.dirty);
  context_.log.notice("DB saved on disk: {} keys, {} bytes in '{}'", written->keys, written->bytes,
                      path());
  return Done{};
}

void Snapshots::saved(Time now, std::uint64_t dirty) {
  std::uint64_t& changes = context_.stats.dirty;
  changes -= std::min(changes, dirty);  // DEBUG RELOAD may have reset the count
  last_save_ = now;
  last_worked_ = true;
  ++count_;
  if (context_.config.appendonly) mark_dump(context_);
}

Status Snapshots::start(Time now) {
  last_try_ = now;
  is_scheduled_ = false;
  dirty_at_start_ = context_.stats.dirty;
  const SaveOptions options = save_options(context_);
  const auto work = [this, options](const OnChildProgress& report) -> Status {
    const Result<SaveProgress> written = write(
        options, [&](const SaveProgress& at) { report({.keys = at.keys, .bytes = at.bytes}); });
    if (!written) return written.error();
    report({.keys = written->keys, .bytes = written->bytes});
    return Done{};
  };
  temporary_ = context_.config.dir + "/" + temporary_name();
  Status started = prepare();
  if (started) {
    started = context_.background.start(
        Job::save, now, work,
        [this](const Status& status, const ChildProgress& progress) { ended(status, progress); });
  }
  if (!started) {
    last_worked_ = false;
    warn_of_failure(started.error());
    return started;
  }
  context_.log.notice("Background saving started by pid {}", context_.background.pid());
  return Done{};
}

void Snapshots::ended(const Status& status, const ChildProgress& progress) {
  const Time now = context_.clock.now();
  last_took_ = now - last_try_;
  last_copied_bytes_ = progress.copied_bytes;
  if (status) {
    saved(now, dirty_at_start_);
    context_.log.notice("Background saving terminated with success: {} keys, {} bytes",
                        progress.keys, progress.bytes);
    return;
  }
  const Status removed = context_.host.disk().remove(temporary_);
  if (!removed) context_.log.write(Level::warning, removed.error().message);
  if (std::exchange(is_cancelled_, false)) {
    context_.log.notice("Background saving was cancelled");
    return;
  }
  last_worked_ = false;
  warn_of_failure(status.error());
}

void Snapshots::warn_of_failure(const Error& why) const {
  context_.log.warning("Background saving failed: {}{}", why.message,
                       check_writable() ? ""
                                        : ". Writes are refused (MISCONF) until a save works (make "
                                          "room, or see to the disk; then BGSAVE)");
}

void Snapshots::cancel() {
  is_cancelled_ = true;
  context_.background.stop();
  is_cancelled_ = false;
}

bool Snapshots::is_time(Time now) const {
  const bool was_just_tried = is_due(last_try_, now) && !is_due(last_try_ + kSaveRetryDelay, now);
  if (!last_worked_ && was_just_tried) return false;
  return std::ranges::any_of(context_.config.save, [&](const SaveRule& rule) {
    return context_.stats.dirty >= static_cast<std::uint64_t>(rule.changes) &&
           is_due(last_save() + std::chrono::seconds(rule.seconds), now);
  });
}

void Snapshots::before_sleep(Time now) {
  if (context_.background.is_busy() || context_.loading.is_active()) return;
  if (!is_scheduled_ && !is_time(now)) return;
  if (!is_scheduled_) {
    context_.log.notice("{} changes since the last snapshot. Saving...", context_.stats.dirty);
  }
  // A failure has been logged, and a rule will try again.
  if (Status status = start(now); !status) is_scheduled_ = false;
}

Status Snapshots::check_writable() const {
  const Config& config = context_.config;
  if (last_worked_ || !config.stop_writes_on_bgsave_error || config.save.empty()) return Done{};
  return Error{
      Code::io,
      "MISCONF Mayfly is configured to save RDB snapshots, but it's currently unable to persist "
      "to disk. Commands that may modify the data set are disabled, because this instance is "
      "configured to report errors during writes if RDB snapshotting fails "
      "(stop-writes-on-bgsave-error option). Please check the Mayfly logs for details about the "
      "RDB error."};
}

}  // namespace mayfly
