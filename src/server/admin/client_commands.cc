// SPDX-License-Identifier: Apache-2.0
// CLIENT and its subcommands.

#include <fmt/format.h>

#include <limits>

#include "commands/words.h"
#include "server/admin/client_list.h"
#include "server/blocking/blocked_clients.h"
#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/tracking/tracking_commands.h"

namespace mayfly {
namespace {

void id(Call& call) { call.reply().integer(static_cast<std::int64_t>(client_of(call).id())); }

void client_info(Call& call) {
  ServerCall& here = server_call(call);
  call.reply().verbatim("txt", describe(here.client, call.now()) + "\n");
}

void list(Call& call) {
  ServerCall& here = server_call(call);
  const auto filter = parse_client_filter(here, 2);
  if (!filter) return;
  std::string lines;
  for (const auto& [number, client] : here.server.clients.all()) {
    if (!matches(*filter, *client, call.now())) continue;
    if (filter->skips_self.value_or(false) && client == &here.client) continue;
    lines += describe(*client, call.now());
    lines += '\n';
  }
  call.reply().verbatim("txt", lines);
}

void kill_client(ServerCall& call, Client& client) {
  if (&client == &call.client) {
    client.close_after_reply();
  } else {
    client.link().close_now("CLIENT KILL");
  }
}

// CLIENT KILL 127.0.0.1:1234
void kill_address(ServerCall& call) {
  for (const auto& [number, client] : call.server.clients.all()) {
    if (client->link().address() != call.word(2)) continue;
    kill_client(call, *client);
    return call.reply().ok();
  }
  call.fail("ERR No such client");
}

void kill(Call& call) {
  ServerCall& here = server_call(call);
  if (call.count() == 3) return kill_address(here);
  const auto filter = parse_client_filter(here, 2);
  if (!filter) return;
  const bool skips_self = filter->skips_self.value_or(true);
  std::int64_t killed = 0;
  for (const auto& [number, client] : here.server.clients.all()) {
    if (client->link().closing() || !matches(*filter, *client, call.now())) continue;
    if (skips_self && client == &here.client) continue;
    kill_client(here, *client);
    ++killed;
  }
  call.reply().integer(killed);
}

void setname(Call& call) {
  if (!is_plain_word(call.word(2))) {
    return call.fail("ERR Client names cannot contain spaces, newlines or special characters.");
  }
  client_of(call).info.name = call.word(2);
  call.reply().ok();
}

void getname(Call& call) {
  const std::string& name = client_of(call).info.name;
  name.empty() ? call.reply().null() : call.reply().bulk(name);
}

void setinfo(Call& call) {
  Client& client = client_of(call);
  const bool is_name = call.is(2, "lib-name");
  if (!is_name && !call.is(2, "lib-ver")) {
    return call.fail(fmt::format("ERR Unrecognized option '{}'", call.word(2)));
  }
  if (!is_plain_word(call.word(3))) {
    return call.fail(fmt::format("ERR {} cannot contain spaces, newlines or special characters.",
                                 is_name ? "lib-name" : "lib-ver"));
  }
  (is_name ? client.info.lib_name : client.info.lib_version) = call.word(3);
  call.reply().ok();
}

// ON or OFF, or an error reply.
std::optional<bool> on_or_off(Call& call, std::size_t i) {
  if (call.is(i, "on")) return true;
  if (call.is(i, "off")) return false;
  call.fail_syntax();
  return std::nullopt;
}

void no_evict(Call& call) {
  const auto on = on_or_off(call, 2);
  if (!on) return;
  client_of(call).options.no_evict = *on;
  call.reply().ok();
}

void no_touch(Call& call) {
  const auto on = on_or_off(call, 2);
  if (!on) return;
  client_of(call).options.no_touch = *on;
  call.reply().ok();
}

// CLIENT IMPORT-SOURCE ON | OFF
//
// A tool that copies the data of another server sends commands that mean what they meant there. So
// in import mode nothing expires by itself, and the tool sees what is due, since the other server
// sends the removals.
void import_source(Call& call) {
  ServerCall& here = server_call(call);
  const bool is_off = call.is(2, "off");
  if (!here.server.config.import_mode && !is_off) {
    return call.fail("ERR Server is not in import mode");
  }
  if (!is_off && !call.is(2, "on")) return call.fail_syntax();
  here.client.options.is_import_source = !is_off;
  call.reply().ok();
}

void reply_mode(Call& call) {
  Client& client = client_of(call);
  if (call.is(2, "on")) {
    client.options.reply_mode = ReplyMode::on;
    return call.reply().ok();
  }
  if (call.is(2, "off")) {
    client.options.reply_mode = ReplyMode::off;
  } else if (call.is(2, "skip")) {
    if (client.options.reply_mode == ReplyMode::on)
      client.options.reply_mode = ReplyMode::skip_next;
  } else {
    call.fail_syntax();
  }
}

void pause(Call& call) {
  ServerCall& here = server_call(call);
  if (call.count() > 4) return call.fail_arity();
  bool only_writes = false;
  if (call.count() == 4) {
    only_writes = call.is(3, "write");
    if (!only_writes && !call.is(3, "all")) {
      return call.fail("ERR CLIENT PAUSE mode must be WRITE or ALL");
    }
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto ms = call.integer(2, kLeast, kMost, "ERR timeout is not an integer or out of range");
  if (!ms) return;
  if (*ms < 0) return call.fail("ERR timeout is negative");
  here.server.clients.pause(PauseReason::client_command, call.now() + Millis(*ms),
                            only_writes ? PauseLevel::writes : PauseLevel::all);
  call.reply().ok();
}

void unpause(Call& call) {
  parts_of(call).clients.unpause(PauseReason::client_command);
  call.reply().ok();
}

void unblock(Call& call) {
  ServerCall& here = server_call(call);
  if (call.count() > 4) return call.fail_arity();
  const bool with_error = call.is(3, "error");
  if (call.count() == 4 && !with_error && !call.is(3, "timeout")) {
    return call.fail("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  }
  const auto id = call.integer(2);
  if (!id) return;
  Client* const client = here.server.clients.find(static_cast<std::uint64_t>(*id));
  const bool is_woken = client != nullptr && here.server.blocked.unblock(*client, with_error);
  call.reply().integer(is_woken ? 1 : 0);
}

// CLIENT CAPA option [option ...]: unknown options are ignored.
void capa(Call& call) {
  for (std::size_t i = 2; i < call.count(); ++i) {
    if (call.is(i, "redirect")) client_of(call).options.can_redirect = true;
  }
  call.reply().ok();
}

// They run even while all is paused, so that UNPAUSE can end it and LIST show who waits. Only PAUSE
// itself waits, as in Valkey.
constexpr std::uint64_t kPauseFlags = flag::noscript | flag::loading | flag::stale;
constexpr std::uint64_t kClientFlags = kPauseFlags | flag::unpaused;
constexpr std::uint64_t kClientAdmin = kClientFlags | flag::admin | flag::dangerous;
constexpr std::uint64_t kClientState = kClientFlags | flag::allow_busy;  // about this connection

// The syntax of the filters that LIST and KILL share. A macro, as only literals can be joined.
#define CLIENT_FILTERS                                                                          \
  "ID client-id:int... | NOT-ID client-id:int... | TYPE type | NOT-TYPE type | ADDR ip-port | " \
  "NOT-ADDR ip-port | LADDR ip-port | NOT-LADDR ip-port | IP ip | NOT-IP ip | USER username | " \
  "NOT-USER username | FLAGS flags | NOT-FLAGS flags | NAME name | NOT-NAME name | "            \
  "LIB-NAME name | NOT-LIB-NAME name | LIB-VER version | NOT-LIB-VER version | DB db:int | "    \
  "NOT-DB db:int | CAPA capability | NOT-CAPA capability | IDLE seconds:int | MAXAGE seconds:int"

// clang-format off
constexpr Command kClientRows[] = {
    {"id", id, 2, kClientState, {}, "connection", "5.0.0", "", "Returns the id of this connection.",
     {}, "client"},
    {"info", client_info, 2, kClientFlags, {}, "connection", "6.2.0", "",
     "Describes this connection.", {}, "client"},
    {"list", list, -2, kClientAdmin, {}, "connection", "2.4.0", "[filter:(" CLIENT_FILTERS ")...]",
     "Describes connections.", {}, "client"},
    {"kill", kill, -3, kClientAdmin, {}, "connection", "2.4.0", "target:(ip-port | filter:("
     CLIENT_FILTERS " | SKIPME skip:(YES | NO))...)", "Closes connections.", {}, "client"},
    {"setname", setname, 3, kClientState, {}, "connection", "2.6.9", "connection-name",
     "Names this connection.", {}, "client"},
    {"getname", getname, 2, kClientState, {}, "connection", "2.6.9", "",
     "Returns the name of this connection.", {}, "client"},
    {"setinfo", setinfo, 4, kClientState, {}, "connection", "7.2.0",
     "attribute:((LIB-NAME name) | (LIB-VER version))",
     "Sets the name or version of the client library.", {}, "client"},
    {"no-evict", no_evict, 3, kClientAdmin | flag::allow_busy, {}, "connection", "7.0.0",
     "enabled:(ON | OFF)", "Exempts this connection from eviction.", {}, "client"},
    {"no-touch", no_touch, 3, kClientState, {}, "connection", "7.2.0", "enabled:(ON | OFF)",
     "Commands of this connection are not uses of keys.", {}, "client"},
    {"import-source", import_source, 3, kClientFlags, {}, "connection", "8.1.0",
     "enabled:(ON | OFF)", "Marks this connection as a source of an import.", {}, "client"},
    {"reply", reply_mode, 3, kClientState | flag::no_multi, {}, "connection", "3.2.0",
     "mode:(ON | OFF | SKIP)", "Turns replies on or off.", {}, "client"},
    {"pause", pause, -3, kPauseFlags | flag::admin | flag::dangerous, {}, "connection", "3.0.0",
     "timeout:int [mode:(WRITE | ALL)]", "Makes commands of all connections wait.", {}, "client"},
    {"unpause", unpause, 2, kClientAdmin, {}, "connection", "6.2.0", "", "Ends a pause.", {},
     "client"},
    {"tracking", client_tracking, -3, kClientFlags, {}, "connection", "6.0.0",
     "status:(ON | OFF) [REDIRECT client-id:int] [PREFIX prefix]... [BCAST] [OPTIN] "
     "[OPTOUT] [NOLOOP]", "Switches client-side caching on and off.", {}, "client"},
    {"trackinginfo", client_trackinginfo, 2, kClientFlags, {}, "connection", "6.2.0", "",
     "Returns the state of client-side caching.", {}, "client"},
    {"caching", client_caching, 3, kClientState, {}, "connection", "6.0.0", "mode:(YES | NO)",
     "Decides whether the next command is cached.", {}, "client"},
    {"getredir", client_getredir, 2, kClientState, {}, "connection", "6.0.0", "",
     "Returns the client that gets the invalidations of this one.", {}, "client"},
    {"unblock", unblock, -3, kClientAdmin, {}, "connection", "5.0.0",
     "client-id:int [answer:(TIMEOUT | ERROR)]", "Ends the wait of a client.", {}, "client"},
    {"capa", capa, -3, kClientState, {}, "connection", "8.0.0", "capability...",
     "Declares what this client supports.", {}, "client"},
    {"help", reply_help, 2, flag::loading | flag::stale | flag::unpaused, {}, "connection", "5.0.0",
     "", "Prints this help.", {}, "client"},
};

#undef CLIENT_FILTERS

constexpr Command kClientCommands[] = {
    {"client", nullptr, -2, 0, {}, "connection", "2.4.0", "", "Shows and manages connections.",
     kClientRows},
};
// clang-format on

}  // namespace

std::span<const Command> client_commands() { return kClientCommands; }

}  // namespace mayfly
