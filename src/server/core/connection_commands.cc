// SPDX-License-Identifier: Apache-2.0
// PING, ECHO, AUTH, HELLO, SELECT, QUIT and RESET.

#include <fmt/format.h>

#include "base/version.h"
#include "resp/numbers.h"
#include "server/admin/client_list.h"
#include "server/core/clients.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/monitoring/secrets.h"
#include "server/monitoring/stats.h"
#include "server/pubsub/pubsub.h"
#include "server/replication/replication.h"
#include "server/tracking/tracking.h"
#include "server/transactions/watches.h"

namespace mayfly {
namespace {

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

// There is one user so far, "default".
bool is_right(const Config& config, std::string_view user, std::string_view password) {
  const bool right = config.requirepass.empty() || is_same_secret(password, config.requirepass);
  return right && user == "default";
}

// False after an error reply. A login within a transaction cannot wait as others do.
bool log_in(ServerCall& call, std::string_view user, std::string_view password) {
  Clients& clients = call.server.clients;
  const std::string& address = call.client.link().address();
  const Time now = call.server.clock.now();
  if (call.server.requests.is_in_transaction() && !clients.attempts().has_token(address, now)) {
    call.fail("ERR too many logins have failed (log in outside of a transaction)");
    return false;
  }
  if (!is_right(call.server.config, user, password)) {
    clients.attempts().failed(address, user, now);
    call.fail(kWrongPassword);
    return false;
  }
  clients.log_in(call.client);
  return true;
}

void ping(Call& call) {
  ServerCall& here = server_call(call);
  if (call.count() > 2) return call.fail_arity();
  if (here.client.is_subscriber() && here.client.protocol() == 2) {
    call.reply().array(2);
    call.reply().bulk("pong");
    return call.reply().bulk(call.count() == 2 ? call.word(1) : "");
  }
  call.count() == 2 ? call.reply().bulk(call.word(1)) : call.reply().simple("PONG");
}

void echo(Call& call) { call.reply().bulk(call.word(1)); }

void auth(Call& call) {
  ServerCall& here = server_call(call);
  if (call.count() > 3) return call.fail_syntax();
  if (call.count() == 2 && here.server.config.requirepass.empty()) {
    return call.fail(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const std::string_view user = call.count() == 3 ? call.word(1) : "default";
  if (log_in(here, user, call.word(call.count() - 1))) call.reply().ok();
}

struct Hello {
  std::optional<std::int64_t> protocol;
  std::optional<std::string_view> user;
  std::string_view password;
  std::optional<std::string_view> name;
};

std::optional<Hello> parse_hello(Call& call) {
  Hello hello;
  if (call.count() > 1) {
    hello.protocol = parse_integer(call.word(1));
    if (!hello.protocol || *hello.protocol < 2 || *hello.protocol > 3) {
      call.fail(hello.protocol ? "NOPROTO unsupported protocol version"
                               : "ERR Protocol version is not an integer or out of range");
      return std::nullopt;
    }
  }
  for (std::size_t i = 2; i < call.count();) {
    if (call.is(i, "auth") && i + 2 < call.count()) {
      hello.user = call.word(i + 1);
      hello.password = call.word(i + 2);
      i += 3;
    } else if (call.is(i, "setname") && i + 1 < call.count()) {
      hello.name = call.word(i + 1);
      i += 2;
    } else {
      call.fail(fmt::format("ERR Syntax error in HELLO option '{}'", call.word(i)));
      return std::nullopt;
    }
  }
  if (hello.name && !is_plain_word(*hello.name)) {
    call.fail("ERR Client names cannot contain spaces, newlines or special characters.");
    return std::nullopt;
  }
  return hello;
}

void reply_hello(ServerCall& call) {
  Reply reply(call.reply().out(), call.client.protocol());
  const std::string& zone = call.server.config.availability_zone;
  reply.map(zone.empty() ? 7 : 8);
  reply.bulk("server");
  reply.bulk("redis");  // clients look for it
  reply.bulk("version");
  reply.bulk(kCompatibleVersion);
  reply.bulk("proto");
  reply.integer(call.client.protocol());
  reply.bulk("id");
  reply.integer(static_cast<std::int64_t>(call.client.id()));
  reply.bulk("mode");
  reply.bulk(call.server.config.cluster_enabled ? "cluster" : "standalone");
  reply.bulk("role");
  reply.bulk(call.server.replication.is_replica() ? "replica" : "master");
  reply.bulk("modules");
  reply.array(0);
  if (zone.empty()) return;
  reply.bulk("availability_zone");
  reply.bulk(zone);
}

void hello(Call& call) {
  ServerCall& here = server_call(call);
  const std::optional<Hello> hello = parse_hello(call);
  if (!hello) return;
  if (hello->user && !log_in(here, *hello->user, hello->password)) return;
  if (!here.client.is_authenticated()) {
    return call.fail(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  }
  if (hello->name) here.client.info.name = *hello->name;
  if (hello->protocol) here.client.set_protocol(static_cast<int>(*hello->protocol));
  reply_hello(here);
}

void select(Call& call) {
  const auto number = call.integer(1);
  if (!number) return;
  if (*number < 0 || *number >= call.keyspace().count()) {
    return call.fail("ERR DB index is out of range");
  }
  ServerCall& here = server_call(call);
  if (here.server.config.cluster_enabled && *number != 0 && !here.client.is_primary) {
    return call.fail("ERR SELECT is not allowed in cluster mode");
  }
  client_of(call).select(static_cast<int>(*number));
  call.reply().ok();
}

void quit(Call& call) {
  call.reply().ok();
  client_of(call).close_after_reply();
}

void reset(Call& call) {
  ServerCall& here = server_call(call);
  if (here.client.is_attached_replica()) {
    return call.fail("ERR can only reset normal client connections");
  }
  here.server.pubsub.unsubscribe_all(here.client);
  here.server.watches.unwatch_all(here.client);
  here.server.tracking.disable(here.client);
  here.server.clients.remove_monitor(here.client);
  here.client.reset(here.server.config.requirepass.empty());
  call.reply().simple("RESET");
}

constexpr std::uint64_t kAlways = flag::noscript | flag::loading | flag::stale | flag::fast;
constexpr std::uint64_t kAtOnce = flag::unqueued | flag::for_subscribers;

// clang-format off
constexpr Command kConnectionCommands[] = {
    {"ping", ping, -1, flag::fast | flag::health_check | flag::for_subscribers | flag::from_primary,
     {}, "connection", "1.0.0", "[message]", "Checks that the server answers."},
    {"echo", echo, 2, flag::loading | flag::stale | flag::fast, {}, "connection", "1.0.0",
     "message", "Returns its argument."},
    {"auth", auth, -2, kAlways | flag::no_auth |
     flag::allow_busy, {}, "connection", "1.0.0", "[username] password",
     "Authenticates the connection."},
    {"hello", hello, -1, kAlways | flag::no_auth |
     flag::allow_busy, {}, "connection", "6.0.0",
     "[protover:int [AUTH username password] [SETNAME clientname]]",
     "Sets the protocol; can authenticate and name the connection."},
    {"select", select, 2,
     flag::loading | flag::stale | flag::fast | flag::allow_busy | flag::from_primary, {},
     "connection", "1.0.0", "index:int", "Changes to another database."},
    {"quit", quit, -1, kAlways | flag::no_auth | flag::allow_busy | kAtOnce, {}, "connection",
     "1.0.0", "[arg...]", "Closes the connection."},
    {"reset", reset, 1, kAlways | flag::no_auth | flag::allow_busy | kAtOnce, {}, "connection",
     "6.2.0", "", "Resets the state of the connection."},
};
// clang-format on

}  // namespace

std::span<const Command> connection_commands() { return kConnectionCommands; }

}  // namespace mayfly
