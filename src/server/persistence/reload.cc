// SPDX-License-Identifier: Apache-2.0
// Loading in place of the data in memory, at once, for DEBUG.

#include "persist/aof/aof_manifest.h"
#include "server/core/key_events.h"
#include "server/persistence/background.h"
#include "server/persistence/data_directory.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"

namespace mayfly {

Status Persistence::reload(const ReloadPlan& plan) {
  if (context_.loading.is_active()) return Error{Code::busy, "data is already being loaded"};
  if (plan.saves) {
    if (context_.background.is_doing(Job::save)) snapshots_.cancel();
    if (Status status = snapshots_.save(context_.clock.now()); !status) return status;
  }
  // A damaged file, or one of another program, must not cost the data.
  if (Status good = verify_rdb(context_, snapshots_.path()); !good) return good;
  Status ended = Done{};
  const auto loaded = [this](const RdbReport& report) { return rdb_loaded(report); };
  // Due keys stay until it is swept, as its removal must be propagated.
  const Status begun = begin_rdb({.keeps_due = true, .replaces = plan.merges}, loaded,
                                 [&](const Status& status) { ended = status; });
  if (!begun) return begun;
  if (plan.flushes) clear_data(context_, events_);
  context_.loading.finish();
  if (!plan.saves || !plan.flushes) aof_.restart();  // the log has other data
  return ended;
}

Status Persistence::load_aof() {
  if (context_.loading.is_active()) return Error{Code::busy, "data is already being loaded"};
  const bool is_in_force = aof_.is_on() && aof_.log()->is_in_force();
  if (Status status = aof_.sync_now(); !status) return status;
  const AofOptions options = aof_.options();
  const Result<AofFiles> files = find_aof(context_.host.disk(), options);
  if (!files) return files.error();
  if (!files->manifest) return Error{Code::not_found, "there is no append-only file"};
  const Result<std::unique_ptr<DirectoryLock>> taken =  // while it is loaded
      directory_.lock(files->is_old ? context_.config.dir : options.directory,
                      "dir or appenddirname");
  if (!taken) return taken.error();
  if (const auto& base = files->manifest->base; base && base->name.ends_with(".rdb")) {
    if (Status good = verify_rdb(context_, files->path(options, *base)); !good) return good;
  }
  clear_data(context_, events_);
  Status ended = Done{};
  begin_aof([&](const Status& status) { ended = status; });
  context_.loading.finish();
  (void)events_.take_flush();
  if (!is_in_force) aof_.restart();  // the base that is being written has other data
  return ended;
}

}  // namespace mayfly
