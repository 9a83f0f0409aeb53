// SPDX-License-Identifier: Apache-2.0
// Commands about the server as a whole: INFO, TIME, SHUTDOWN, MONITOR, LOLWUT.

#include <fmt/format.h>

#include <optional>

#include "base/version.h"
#include "server/core/server.h"
#include "server/monitoring/info.h"

namespace mayfly {
namespace {

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

struct ShutdownWords {
  bool saves = false;
  bool skips_saving = false;
  bool aborts = false;
  ShutdownPlan plan;
};

// Nothing if they do not go together.
std::optional<ShutdownWords> read_shutdown(const Call& call) {
  ShutdownWords words;
  for (std::size_t i = 1; i < call.count(); ++i) {
    if (call.is(i, "save")) {
      words.saves = true;
    } else if (call.is(i, "nosave")) {
      words.skips_saving = true;
    } else if (call.is(i, "abort")) {
      words.aborts = true;
    } else if (call.is(i, "now")) {
      words.plan.is_now = true;
    } else if (call.is(i, "force")) {
      words.plan.is_forced = true;
    } else {
      return std::nullopt;
    }
  }
  if (words.saves && words.skips_saving) return std::nullopt;
  if (words.aborts && call.count() > 2) return std::nullopt;
  return words;
}

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] | ABORT: there is no reply if it works.
void shutdown(Call& call) {
  std::optional<ShutdownWords> words = read_shutdown(call);
  if (!words) return call.fail_syntax();
  ClientCall& here = client_call(call);
  Persistence& persistence = here.server.persistence();
  if (words->aborts) {
    if (!persistence.shutdown().abort()) return call.fail("ERR No shutdown in progress.");
    return call.reply().ok();
  }
  here.server.log().write(Level::notice, "User requested shutdown...");
  words->plan.saves = words->saves || (persistence.saves_at_end() && !words->skips_saving);
  const Status status = persistence.shutdown().begin(words->plan, &here.client);
  if (!status) call.fail(status.error().message);
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
  call.reply().verbatim("txt", fmt::format("{}\nMayfly ver. {}\n", kMayfly, kMayflyVersion));
}

constexpr std::uint32_t kAnytime = flag::loading | flag::stale;
constexpr std::uint32_t kQuick = kAnytime | flag::fast;
constexpr std::uint32_t kAdmin = flag::admin | flag::noscript;

// clang-format off
constexpr Command kCommands[] = {
    {"info",     info,     -1, kAnytime | flag::dangerous, {}, "server", "1.0.0",
     "[section...]",
     "Tells about the server: numbers for people and programs."},
    {"time",     time,      1, kQuick, {}, "server", "2.6.0",
     "", "Returns what time it is for the server."},
    {"shutdown", shutdown, -1, kAdmin | kAnytime | flag::no_multi | flag::allow_busy, {}, "server",
     "1.0.0",
     "[saving:(NOSAVE | SAVE)] [NOW] [FORCE] [ABORT]",
     "Ends the server."},
    {"monitor",  monitor,   1, kAdmin | kAnytime, {}, "server", "1.0.0",
     "", "Shows every request that the server gets from now on."},
    {"lolwut",   lolwut,   -1, flag::readonly | flag::fast, {}, "server", "5.0.0",
     "[VERSION version:int] [argument:int...]",
     "Draws a mayfly."},
};
// clang-format on

}  // namespace

std::span<const Command> server_commands() { return kCommands; }

}  // namespace mayfly
