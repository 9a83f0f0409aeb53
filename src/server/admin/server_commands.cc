// SPDX-License-Identifier: Apache-2.0
// Commands about the server as a whole: INFO, TIME, SHUTDOWN, MONITOR, LOLWUT.

#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <vector>

#include "base/version.h"
#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/monitoring/info.h"
#include "server/persistence/persistence.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

std::string uppered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

// "[count:int]" becomes "[count]", and "mode:(ON | OFF)" becomes "(ON | OFF)".
std::string readable_syntax(std::string_view syntax) {
  std::string text;
  for (std::size_t i = 0; i < syntax.size(); ++i) {
    if (syntax[i] != ':') {
      text += syntax[i];
    } else if (syntax[i + 1] == '(') {
      text.resize(text.find_last_of(" [(") + 1);  // npos + 1 is 0
    } else {
      while (i + 1 < syntax.size() && std::islower(static_cast<unsigned char>(syntax[i + 1]))) ++i;
    }
  }
  return text;
}

void info(Call& call) {
  call.reply().verbatim("txt", info_text(parts_of(call), call.words().subspan(1)));
}

// Seconds and microseconds. The clock has a resolution of milliseconds.
void time(Call& call) {
  const std::int64_t ms = call.now().time_since_epoch().count();
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

// Nothing if the options exclude each other.
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
  ServerCall& here = server_call(call);
  Persistence& persistence = here.server.persistence;
  if (words->aborts) {
    if (!persistence.shutdown().abort()) return call.fail("ERR No shutdown in progress.");
    return call.reply().ok();
  }
  Scripting& scripting = here.server.scripting;
  if (scripting.is_busy() && !words->skips_saving) return call.fail(scripting.busy_reply());
  here.server.log.notice("User requested shutdown...");
  words->plan.saves = words->saves || (persistence.saves_at_end() && !words->skips_saving);
  const Status status = persistence.shutdown().begin(words->plan, &here.client);
  if (!status) return call.fail(status.error().message);
  scripting.abandon();  // one that has written nothing
}

void monitor(Call& call) {
  parts_of(call).clients.add_monitor(client_of(call));
  call.reply().ok();
}

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

constexpr std::uint64_t kServerFlags = flag::loading | flag::stale;
constexpr std::uint64_t kServerQuick = kServerFlags | flag::fast;
constexpr std::uint64_t kServerAdmin = flag::admin | flag::noscript;

// clang-format off
constexpr Command kServerCommands[] = {
    {"info", info, -1, kServerFlags | flag::dangerous, {}, "server", "1.0.0", "[section...]",
     "Returns information and statistics about the server."},
    {"time", time, 1, kServerQuick, {}, "server", "2.6.0", "", "Returns the time of the server."},
    {"shutdown", shutdown, -1, kServerAdmin | kServerFlags | flag::no_multi | flag::allow_busy, {},
     "server", "1.0.0", "[saving:(NOSAVE | SAVE)] [NOW] [FORCE] [ABORT]", "Stops the server."},
    {"monitor", monitor, 1, kServerAdmin | kServerFlags, {}, "server", "1.0.0", "",
     "Shows every request that the server gets from now on."},
    {"lolwut", lolwut, -1, flag::readonly | flag::fast, {}, "server", "5.0.0",
     "[VERSION version:int] [argument:int...]", "Draws a mayfly."},
};
// clang-format on

}  // namespace

void reply_help(Call& call) {
  const Command& container = *parts_of(call).commands.find(call.command().parent);
  std::vector<HelpEntry> entries;
  for (const Command& row : container.subcommands) {
    entries.push_back({row.name, readable_syntax(row.syntax), row.summary});
  }
  reply_help(call, container.name, entries);
}

void reply_help(Call& call, std::string_view name, std::span<const HelpEntry> entries) {
  call.reply().array(entries.size() * 2 + 1);
  call.reply().simple(
      fmt::format("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", uppered(name)));
  for (const HelpEntry& entry : entries) {
    const std::string_view space = entry.arguments.empty() ? "" : " ";
    call.reply().simple(uppered(entry.name).append(space).append(entry.arguments));
    call.reply().simple(fmt::format("    {}", entry.summary));
  }
}

std::span<const Command> server_commands() { return kServerCommands; }

}  // namespace mayfly
