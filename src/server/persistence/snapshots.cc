// SPDX-License-Identifier: Apache-2.0
// When a snapshot is saved, and what follows from it.

#include "server/persistence/snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/core/server.h"

namespace mayfly {
namespace {

constexpr Millis kRetryDelay{5000};  // after a failure

// One that a crash left is overwritten by the next.
// No two servers write the same one, even in the same directory; and one that was killed while it
// wrote finds its own.
std::string temporary_name(Server& server) {
  return fmt::format("temp-{}-{}", server.surroundings().port(), server.config().dbfilename);
}

}  // namespace

std::uint64_t stored_keys(Server& server) {
  std::uint64_t keys = 0;
  for (int i = 0; i < server.keyspace().count(); ++i) keys += server.keyspace()[i].stored();
  return keys;
}

void note_fork(Server& server, Time now) {
  server.latency().add("fork", server.background().fork_micros() / 1000,
                       server.config().latency_monitor_threshold, now);
}

std::string Snapshots::path() const {
  const Config& config = server_.config();
  return config.dir + "/" + config.dbfilename;
}

Time Snapshots::last_save() const { return last_save_.value_or(server_.stats().started); }

void Snapshots::begin(Time now) {
  last_save_ = now;
  server_.stats().dirty = 0;
}

Result<SaveProgress> Snapshots::write(const SaveOptions& options, const OnSaveProgress& progress) {
  const Config& config = server_.config();
  return save_rdb_file(server_.surroundings().disk(), config.dir, config.dbfilename,
                       temporary_name(server_), server_.keyspace(), options, progress);
}

// No file is replaced that another server may be using, or that has what we have not.
Status Snapshots::prepare() {
  if (Status status = server_.persistence().take_directory(); !status) return status;
  return server_.persistence().keep_snapshot_aside();
}

Status Snapshots::save(Time now) {
  const Status prepared = prepare();
  const Result<SaveProgress> written =
      prepared ? write(server_.persistence().save_options(), {}) : prepared.error();
  if (!written) {
    server_.log().write(Level::warning, fmt::format("Cannot save the data in '{}': {}", path(),
                                                    written.error().message));
    return written.error();
  }
  saved(now, server_.stats().dirty);
  server_.log().write(Level::notice, fmt::format("DB saved on disk: {} keys, {} bytes in '{}'",
                                                 written->keys, written->bytes, path()));
  return Done{};
}

void Snapshots::saved(Time now, std::uint64_t dirty) {
  std::uint64_t& changes = server_.stats().dirty;
  changes -= std::min(changes, dirty);  // DEBUG RELOAD may have begun to count anew
  last_save_ = now;
  last_worked_ = true;
  ++count_;
}

Status Snapshots::start(Time now) {
  last_try_ = now;
  is_scheduled_ = false;
  dirty_at_start_ = server_.stats().dirty;
  const SaveOptions options = server_.persistence().save_options();
  const auto work = [this, options](const OnChildProgress& tell) -> Status {
    const Result<SaveProgress> written =
        write(options, [&](const SaveProgress& at) { tell({.keys = at.keys, .bytes = at.bytes}); });
    if (!written) return written.error();
    tell({.keys = written->keys, .bytes = written->bytes});
    return Done{};
  };
  temporary_ = server_.config().dir + "/" + temporary_name(server_);
  Status started = prepare();
  if (started) {
    started = server_.background().start(
        Job::save, now, work,
        [this](const Status& status, const ChildProgress& progress) { ended(status, progress); });
  }
  if (!started) {
    last_worked_ = false;
    server_.log().write(Level::warning,
                        fmt::format("Cannot save in the background: {}", started.error().message));
    return started;
  }
  note_fork(server_, now);
  server_.log().write(Level::notice, fmt::format("Background saving started by pid {}",
                                                 server_.background().pid()));
  return Done{};
}

void Snapshots::ended(const Status& status, const ChildProgress& progress) {
  const Time now = server_.wall().now();
  last_took_ = now - last_try_;
  last_copied_bytes_ = progress.copied_bytes;
  if (status) {
    saved(now, dirty_at_start_);
    server_.log().write(Level::notice,
                        fmt::format("Background saving terminated with success: {} keys, {} bytes",
                                    progress.keys, progress.bytes));
    return;
  }
  const Status removed = server_.surroundings().disk().remove(temporary_);
  if (!removed) server_.log().write(Level::warning, removed.error().message);
  if (std::exchange(is_cancelled_, false)) {
    server_.log().write(Level::notice, "Background saving was cancelled");
    return;
  }
  last_worked_ = false;
  server_.log().write(Level::warning,
                      fmt::format("Background saving failed: {}", status.error().message));
}

void Snapshots::cancel() {
  is_cancelled_ = true;
  server_.background().stop();
  is_cancelled_ = false;
}

bool Snapshots::is_time(Time now) const {
  const bool was_just_tried = is_due(last_try_, now) && !is_due(last_try_ + kRetryDelay, now);
  if (!last_worked_ && was_just_tried) return false;
  return std::ranges::any_of(server_.config().save, [&](const SaveRule& rule) {
    return server_.stats().dirty >= static_cast<std::uint64_t>(rule.changes) &&
           is_due(last_save() + std::chrono::seconds(rule.seconds), now);
  });
}

void Snapshots::before_sleep(Time now) {
  if (server_.background().is_busy() || server_.loading().is_active()) return;
  if (!is_scheduled_ && !is_time(now)) return;
  if (!is_scheduled_) {
    server_.log().write(Level::notice, fmt::format("{} changes since the last snapshot. Saving...",
                                                   server_.stats().dirty));
  }
  // A failure has been logged, and a rule will try again.
  if (Status status = start(now); !status) is_scheduled_ = false;
}

std::string Snapshots::why_no_writes() const {
  const Config& config = server_.config();
  if (last_worked_ || !config.stop_writes_on_bgsave_error || config.save.empty()) return {};
  return "MISCONF Mayfly is configured to save RDB snapshots, but it's currently unable to persist "
         "to disk. Commands that may modify the data set are disabled, because this instance is "
         "configured to report errors during writes if RDB snapshotting fails "
         "(stop-writes-on-bgsave-error option). Please check the Mayfly logs for details about the "
         "RDB error.";
}

}  // namespace mayfly
