// SPDX-License-Identifier: Apache-2.0
// Commands about the server as a whole: INFO, TIME, SHUTDOWN, MONITOR, WAIT, ROLE and their like.

#include <fmt/format.h>

#include "resp/numbers.h"
#include "server/info.h"
#include "server/server.h"
#include "server/version.h"

namespace mayfly {
namespace {

std::int64_t seconds_of(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

// INFO [section ...]
void info(Call& call) {
  call.reply().verbatim("txt", info_text(client_call(call).server, call.words().subspan(1)));
}

// TIME: seconds, and microseconds in the second, of which our clock knows the thousands.
void time(Call& call) {
  const std::int64_t ms = client_call(call).server.wall().now().time_since_epoch().count();
  call.reply().array(2);
  call.reply().bulk_integer(ms / 1000);
  call.reply().bulk_integer(ms % 1000 * 1000);
}

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]: there is no reply if it works.
void shutdown(Call& call) {
  bool saves = false;
  bool skips_saving = false;
  bool aborts = false;
  for (std::size_t i = 1; i < call.count(); ++i) {
    if (call.is(i, "save")) {
      saves = true;
    } else if (call.is(i, "nosave")) {
      skips_saving = true;
    } else if (call.is(i, "abort")) {
      aborts = true;
    } else if (!call.is(i, "now") && !call.is(i, "force")) {
      return call.fail_syntax();
    }
  }
  if ((saves && skips_saving) || (aborts && call.count() > 2)) return call.fail_syntax();
  if (aborts) return call.fail("ERR No shutdown in progress.");
  if (saves) return call.fail("ERR SHUTDOWN SAVE needs persistence, which is not there yet");
  ClientCall& here = client_call(call);
  here.server.log().write(Level::notice, "User requested shutdown...");
  here.server.surroundings().shut_down();
}

// MONITOR
void monitor(Call& call) {
  ClientCall& here = client_call(call);
  if (!here.client.is_monitor) {
    here.client.is_monitor = true;
    here.server.monitors().push_back(&here.client);
  }
  call.reply().ok();
}

// WAIT replicas timeout: there are none to wait for, whatever the timeout.
void wait(Call& call) {
  if (!call.integer(1)) return;
  const auto timeout =
      call.integer(2, INT64_MIN, INT64_MAX, "ERR timeout is not an integer or out of range");
  if (!timeout) return;
  if (*timeout < 0) return call.fail("ERR timeout is negative");
  call.reply().integer(0);
}

// WAITAOF local replicas timeout
void waitaof(Call& call) {
  const auto local = call.integer(1, 0, 1, "ERR value is out of range, value must between 0 and 1");
  if (!local) return;
  if (!call.integer(2, 0, INT64_MAX, "ERR value is out of range, must be positive")) return;
  if (!call.integer(3, 0, INT64_MAX, "ERR timeout is negative")) return;
  if (*local > 0) {
    return call.fail("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
  }
  call.reply().array(2);
  call.reply().integer(0);
  call.reply().integer(0);
}

// LASTSAVE: nothing is saved, so that it is when the server started.
void lastsave(Call& call) {
  call.reply().integer(seconds_of(client_call(call).server.stats().started));
}

// ROLE
void role(Call& call) {
  call.reply().array(3);
  call.reply().bulk("master");
  call.reply().integer(0);
  call.reply().array(0);
}

// REPLICAOF host port | NO ONE
void replicaof(Call& call) {
  if (call.is(1, "no") && call.is(2, "one")) return call.reply().ok();
  const auto port = parse_integer(call.word(2));
  if (!port || *port < 0 || *port > 65'535) return call.fail("ERR Invalid master port");
  call.fail("ERR Replication is not there yet: this server cannot follow another one");
}

void need_persistence(Call& call) {
  call.fail(fmt::format("ERR {} needs persistence, which is not there yet: data is in memory only",
                        call.word(0)));
}

// FAILOVER [...]
void failover(Call& call) { call.fail("ERR FAILOVER requires connected replicas."); }

// LOLWUT [VERSION n]: what gave us our name.
void lolwut(Call& call) {
  static constexpr std::string_view kMayfly =
      "            .--.\n"
      "           /   /.-.\n"
      "          /   //  /\n"
      "    \\    /   //  /\n"
      "  ___\\__/___//__/___________________\n"
      " (o__________________)______________\n"
      "     /  /            `--------------\n"
      "    /  /\n"
      "\n"
      "It lives for a day, and knows when to die.\n";
  call.reply().verbatim("txt", fmt::format("{}\nMayfly ver. {}\n", kMayfly, kServerVersion));
}

constexpr std::uint32_t kAnytime = flag::loading | flag::stale;
constexpr std::uint32_t kQuick = kAnytime | flag::fast;
constexpr std::uint32_t kAdmin = flag::admin | flag::noscript;
constexpr std::uint32_t kSaving = kAdmin | flag::no_async_loading;

// clang-format off
constexpr Command kCommands[] = {
    {"info",     info,     -1, kAnytime | flag::dangerous, {}, "server", "1.0.0",
     "Tells about the server: numbers for people and programs."},
    {"time",     time,      1, kQuick, {}, "server", "2.6.0",
     "Returns what time it is for the server."},
    {"shutdown", shutdown, -1, kAdmin | kAnytime | flag::no_multi | flag::allow_busy, {}, "server",
     "1.0.0", "Ends the server."},
    {"monitor",  monitor,   1, kAdmin | kAnytime, {}, "server", "1.0.0",
     "Shows every request that the server gets from now on."},
    {"wait",     wait,      3, flag::noscript | flag::blocking, {}, "generic", "3.0.0",
     "Waits until replicas have what was written; there are none."},
    {"waitaof",  waitaof,   4, flag::noscript | flag::blocking, {}, "generic", "7.2.0",
     "Waits until what was written is on disk, here or at replicas."},
    {"lastsave", lastsave,  1, kQuick | flag::dangerous, {}, "server", "1.0.0",
     "Returns when data was saved last."},
    {"role",     role,      1, kQuick | flag::noscript | flag::dangerous, {}, "server", "2.8.12",
     "Returns the part the server plays in replication."},
    {"replicaof", replicaof, 3, kSaving | flag::stale, {}, "server", "5.0.0",
     "Makes the server follow another one, or nobody."},
    {"slaveof",  replicaof, 3, kSaving | flag::stale, {}, "server", "1.0.0",
     "REPLICAOF by its old name."},
    {"failover", failover, -1, kAdmin | flag::stale, {}, "server", "6.2.0",
     "Hands over to a replica; there is none."},
    {"save",     need_persistence,  1, kSaving | flag::no_multi, {}, "server", "1.0.0",
     "Saves the data; not there yet."},
    {"bgsave",   need_persistence, -1, kSaving, {}, "server", "1.0.0",
     "Saves the data in the background; not there yet."},
    {"bgrewriteaof", need_persistence, 1, kSaving, {}, "server", "1.0.0",
     "Rewrites the append-only file; not there yet."},
    {"lolwut",   lolwut,   -1, flag::readonly | flag::fast, {}, "server", "5.0.0",
     "Draws a mayfly."},
};
// clang-format on

}  // namespace

std::span<const Command> server_commands() { return kCommands; }

}  // namespace mayfly
