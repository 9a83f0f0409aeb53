// SPDX-License-Identifier: Apache-2.0
// SAVE, BGSAVE, LASTSAVE and BGREWRITEAOF.

#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/persistence/background.h"
#include "server/persistence/persistence.h"

namespace mayfly {
namespace {

constexpr std::string_view kSavesAlready = "ERR Background save already in progress";

// SAVE: no client is served meanwhile.
void save(Call& call) {
  const ServerParts& server = parts_of(call);
  if (server.background.is_doing(Job::save)) return call.fail(kSavesAlready);
  const Status status = server.persistence.snapshots().save(server.clock.now());
  if (!status) return call.fail("ERR " + status.error().message);
  call.reply().ok();
}

void cancel_save(Call& call) {
  const ServerParts& server = parts_of(call);
  Snapshots& snapshots = server.persistence.snapshots();
  if (server.background.is_doing(Job::save)) {
    snapshots.cancel();
    return call.reply().simple("Background saving cancelled");
  }
  if (!snapshots.is_scheduled()) {
    return call.fail("ERR Background saving is currently not in progress or scheduled");
  }
  snapshots.unschedule();
  call.reply().simple("Scheduled background saving cancelled");
}

void bgsave(Call& call) {
  if (call.count() == 2 && call.is(1, "cancel")) return cancel_save(call);
  const bool schedules = call.count() == 2 && call.is(1, "schedule");
  if (call.count() > 1 && !schedules) return call.fail_syntax();
  const ServerParts& server = parts_of(call);
  Snapshots& snapshots = server.persistence.snapshots();
  if (server.background.is_doing(Job::save)) return call.fail(kSavesAlready);
  // A snapshot must not have half of a transaction.
  if (server.requests.is_in_transaction() || (server.background.is_busy() && schedules)) {
    snapshots.schedule();
    return call.reply().simple("Background saving scheduled");
  }
  if (server.background.is_doing(Job::sync)) return call.fail(kSavesAlready);  // for replicas
  if (server.background.is_busy()) {
    return call.fail(
        "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE "
        "in order to schedule a BGSAVE whenever possible.");
  }
  const Status status = snapshots.start(server.clock.now());
  if (!status) return call.fail("ERR " + status.error().message);
  call.reply().simple("Background saving started");
}

void lastsave(Call& call) {
  const Time at = parts_of(call).persistence.snapshots().last_save();
  call.reply().integer(std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
}

void bgrewriteaof(Call& call) {
  const ServerParts& server = parts_of(call);
  AofWriter& aof = server.persistence.aof();
  if (server.background.is_doing(Job::rewrite)) {
    return call.fail("ERR Background append only file rewriting already in progress");
  }
  if (server.background.is_busy() || server.requests.is_in_transaction()) {
    aof.schedule_rewrite();
    return call.reply().simple("Background append only file rewriting scheduled");
  }
  const Status status = aof.start_rewrite(server.clock.now());
  if (!status) {
    return call.fail(
        "ERR Can't execute an AOF background rewriting. Please check the server logs for more "
        "information.");
  }
  call.reply().simple("Background append only file rewriting started");
}

constexpr std::uint64_t kSavingFlags = flag::admin | flag::noscript | flag::no_async_loading;
constexpr std::uint64_t kLastsaveFlags = flag::loading | flag::stale | flag::fast;

// clang-format off
constexpr Command kPersistenceCommands[] = {
    {"save", save, 1, kSavingFlags | flag::no_multi, {}, "server", "1.0.0", "",
     "Saves all data in a file, and serves no client meanwhile."},
    {"bgsave", bgsave, -1, kSavingFlags, {}, "server", "1.0.0", "[SCHEDULE]",
     "Saves all data in a file, in the background."},
    {"lastsave", lastsave, 1, kLastsaveFlags | flag::dangerous, {}, "server", "1.0.0", "",
     "Returns when data was saved last."},
    {"bgrewriteaof", bgrewriteaof, 1, kSavingFlags, {}, "server", "1.0.0", "",
     "Rewrites the append-only file, in the background."},
};
// clang-format on

}  // namespace

std::span<const Command> persistence_commands() { return kPersistenceCommands; }

}  // namespace mayfly
