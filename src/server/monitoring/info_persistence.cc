// SPDX-License-Identifier: Apache-2.0
// INFO: data on disk.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "server/core/server_call.h"
#include "server/monitoring/info.h"
#include "server/monitoring/stats.h"
#include "server/persistence/background.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"

namespace mayfly {
namespace {

std::int64_t whole_seconds(Millis time) {
  return std::chrono::floor<std::chrono::seconds>(time).count();
}

std::int64_t seconds_or_none(std::optional<Millis> time) {
  return time ? whole_seconds(*time) : -1;
}

std::string_view ok_or_err(bool worked) { return worked ? "ok" : "err"; }

// How long the child has been at this job, or -1.
std::int64_t seconds_at(const ServerParts& server, Job job) {
  const Background& background = server.background;
  return background.is_doing(job) ? whole_seconds(server.clock.now() - background.since()) : -1;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void info_child(const ServerParts& server, std::string& text) {
  const ChildProgress at = server.background.progress();
  const bool is_busy = server.background.is_busy();
  const std::uint64_t total = is_busy ? std::max(stored_keys(server.keyspace), at.keys) : 0;
  info_line(text, "current_cow_peak", at.copied_bytes);
  info_line(text, "current_cow_size", at.copied_bytes);
  info_line(text, "current_cow_size_age", 0);
  info_line(text, "current_fork_perc", percent(at.keys, total));
  info_line(text, "current_save_keys_processed", at.keys);
  info_line(text, "current_save_keys_total", total);
}

void info_snapshots(const ServerParts& server, std::string& text) {
  Persistence& persistence = server.persistence;
  const Snapshots& snapshots = persistence.snapshots();
  info_line(text, "rdb_changes_since_last_save", server.stats.dirty);
  // A child that saves for replicas counts as well: BGSAVE has to wait for it.
  const Job job = server.background.is_doing(Job::sync) ? Job::sync : Job::save;
  info_line(text, "rdb_bgsave_in_progress", server.background.is_doing(job));
  info_line(text, "rdb_last_save_time", whole_seconds(snapshots.last_save().time_since_epoch()));
  info_line(text, "rdb_last_bgsave_status", ok_or_err(snapshots.last_worked()));
  info_line(text, "rdb_last_bgsave_time_sec", seconds_or_none(snapshots.last_took()));
  info_line(text, "rdb_current_bgsave_time_sec", seconds_at(server, job));
  info_line(text, "rdb_saves", snapshots.count());
  info_line(text, "rdb_last_cow_size", snapshots.last_copied_bytes());
  info_line(text, "rdb_last_load_keys_expired", persistence.due_keys());
  info_line(text, "rdb_last_load_keys_loaded", persistence.loaded_keys());
}

void info_aof(const ServerParts& server, std::string& text) {
  const AofWriter& aof = server.persistence.aof();
  info_line(text, "aof_enabled", aof.is_on());
  info_line(text, "aof_rewrite_in_progress", server.background.is_doing(Job::rewrite));
  info_line(text, "aof_rewrite_scheduled", aof.is_scheduled());
  info_line(text, "aof_last_rewrite_time_sec", seconds_or_none(aof.last_rewrite_took()));
  info_line(text, "aof_current_rewrite_time_sec", seconds_at(server, Job::rewrite));
  info_line(text, "aof_last_bgrewrite_status", ok_or_err(aof.last_rewrite_worked()));
  info_line(text, "aof_rewrites", aof.rewrites());
  info_line(text, "aof_rewrites_consecutive_failures", aof.failures());
  info_line(text, "aof_last_write_status", ok_or_err(aof.last_write_worked()));
  info_line(text, "aof_last_cow_size", aof.last_copied_bytes());
  info_line(text, "module_fork_in_progress", 0);
  info_line(text, "module_fork_last_cow_size", 0);
  const Aof* const log = aof.log();
  if (log == nullptr) return;
  info_line(text, "aof_current_size", log->size());
  info_line(text, "aof_base_size", log->base_size());
  info_line(text, "aof_pending_rewrite", aof.is_scheduled());
  info_line(text, "aof_buffer_length", log->buffered());
  info_line(text, "aof_pending_bio_fsync", log->has_unsynced());
  info_line(text, "aof_delayed_fsync", 0);
}

void info_loading(const ServerParts& server, std::string& text) {
  const Loading& loading = server.loading;
  if (!loading.is_active()) return;
  const std::uint64_t total = std::max(loading.total(), loading.offset());
  const std::int64_t passed = whole_seconds(server.clock.now() - loading.since());
  const double done = percent(loading.offset(), total);
  info_line(text, "loading_start_time", whole_seconds(loading.since().time_since_epoch()));
  info_line(text, "loading_total_bytes", loading.total());
  info_line(text, "loading_rdb_used_mem", 0);
  info_line(text, "loading_loaded_bytes", loading.offset());
  info_line(text, "loading_loaded_perc", done);
  info_line(
      text, "loading_eta_seconds",
      done > 0 ? static_cast<std::int64_t>(static_cast<double>(passed) * (100 - done) / done) : 1);
}

}  // namespace

void info_persistence(const ServerParts& server, std::string& text) {
  info_line(text, "loading", server.loading.is_active());
  info_line(text, "async_loading", 0);
  info_child(server, text);
  info_snapshots(server, text);
  info_aof(server, text);
  info_loading(server, text);
}

}  // namespace mayfly
