// SPDX-License-Identifier: Apache-2.0
// CONFIG GET, SET, RESETSTAT and REWRITE.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "commands/scan_options.h"
#include "commands/words.h"
#include "resp/glob.h"
#include "server/config/config_table.h"
#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/expiry/expiry_log.h"
#include "server/monitoring/stats.h"
#include "server/persistence/loading.h"
#include "server/persistence/persistence.h"

namespace mayfly {
namespace {

void config_get(Call& call) {
  const Config& config = parts_of(call).config;
  std::vector<GlobPattern> patterns;
  for (const std::string_view word : call.words().subspan(2)) {
    if (fails_pattern(call, word)) return;
    patterns.emplace_back(word, true);
  }
  const std::size_t place = call.reply().defer();
  std::size_t count = 0;
  for (const std::string_view name : directive_names()) {
    const bool is_hidden = (marks_of(name) & mark::hidden) != 0;
    const auto asked = std::ranges::find_if(patterns, [&](const GlobPattern& pattern) {
      return is_hidden ? equals(pattern.text(), name) : pattern.matches(name);
    });
    if (asked == patterns.end()) continue;
    call.reply().bulk(equals(asked->text(), name) ? asked->text()
                                                  : name);  // in the case in which it was asked
    call.reply().bulk(directive_text(config, name).value_or(""));
    ++count;
  }
  call.reply().map_at(place, count);
}

bool may_change_protected(const ServerCall& call) {
  const std::string& permission = call.server.config.enable_protected_configs;
  return permission == "yes" || (permission == "local" && call.client.link().is_loopback());
}

std::string failure(std::string_view name, std::string_view why) {
  return fmt::format("ERR CONFIG SET failed (possibly related to argument '{}') - {}", name, why);
}

// The message of an error is the reply.
std::string set_one(ServerCall& call, Config& config, std::string_view name,
                    std::string_view value) {
  if ((marks_of(name) & mark::is_protected) != 0 && !may_change_protected(call)) {
    return failure(name, "can't set protected config");
  }
  if ((marks_of(name) & mark::loaded) != 0 && call.server.loading.is_active()) {
    return "LOADING Mayfly is loading the dataset in memory";
  }
  const std::string word(value);
  const std::optional<std::string> before = directive_text(config, name);
  const Status status = set_directive(config, name, {&word, 1}, false);
  if (!status) return failure(name, status.error().message);
  const std::optional<std::string> after = directive_text(config, name);
  const std::string_view refusal = refusal_of_inert(name, after.value_or(""));
  if (after != before && !refusal.empty()) return failure(name, refusal);
  if (is_inert(name) && after != before && changes_safety(name, after.value_or(""))) {
    return failure(
        name,
        "it has no effect in Mayfly, and the server would be less safe than with it in Valkey");
  }
  return {};
}

// As for a file.
void warn_of_inert(ServerCall& call, const Config& config) {
  std::vector<std::pair<std::string, std::string>> inert;
  for (std::size_t i = 2; i < call.count(); i += 2) {
    const std::string name = lowered(call.word(i));
    if (is_inert(name)) inert.emplace_back(name, directive_text(config, name).value_or(""));
  }
  for (const std::string& warning : inert_warnings(inert)) {
    call.server.log.write(Level::warning, "CONFIG SET: " + warning);
  }
}

// CONFIG SET name value [name value ...]: all or none.
void config_set(Call& call) {
  ServerCall& here = server_call(call);
  if (call.count() % 2 != 0) return call.fail_arity();
  for (std::size_t i = 2; i < call.count(); i += 2) {
    if (directive_text(here.server.config, call.word(i))) continue;
    return call.fail(fmt::format("ERR Unknown option or number of arguments for CONFIG SET - '{}'",
                                 call.word(i)));
  }

  Config changed = here.server.config;
  std::set<std::string> seen;
  for (std::size_t i = 2; i < call.count(); i += 2) {
    if (!seen.insert(lowered(call.word(i))).second) {
      return call.fail(failure(call.word(i), "duplicate parameter"));
    }
    const std::string error = set_one(here, changed, call.word(i), call.word(i + 1));
    if (!error.empty()) return call.fail(error);
  }
  if (Status status = here.server.expiry_log.check_config(changed); !status) {
    return call.fail(failure("expiry-log", status.error().message));
  }
  const Status prepared = here.server.persistence.prepare_config(changed);
  if (!prepared) return call.fail("ERR CONFIG SET failed - " + prepared.error().message);
  if (Status listens = here.server.host.relisten(changed); !listens) {
    here.server.persistence.cancel_config();
    const Config& before = here.server.config;
    if (changed.http_port != before.http_port || changed.http_bind != before.http_bind) {
      const bool is_http_port = changed.http_port != before.http_port;
      return call.fail(failure(is_http_port ? "http-port" : "http-bind", listens.error().message));
    }
    const bool is_port = changed.port != before.port;
    return call.fail(failure(is_port ? "port" : "bind",
                             fmt::format("{}: {}",
                                         is_port ? "Unable to listen on this port"
                                                 : "Failed to bind to specified addresses",
                                         listens.error().message)));
  }
  warn_of_inert(here, changed);
  here.server.config = std::move(changed);
  here.server.apply_config();
  call.reply().ok();
}

void config_resetstat(Call& call) {
  const ServerParts& server = parts_of(call);
  server.stats.reset();
  // Open connections count what they have sent themselves: see info_stats.cc.
  for (const auto& [id, client] : server.clients.all()) {
    server.stats.bytes_out -= client->link().sent();
    if (client->is_attached_replica()) {
      server.stats.replication_bytes_out -= client->link().sent();
    }
  }
  server.stats.loop_before = server.host.loop_counts();
  server.keyspace.stats() = {};
  call.reply().ok();
}

void config_rewrite(Call& call) {
  const ServerParts& server = parts_of(call);
  const Status status = rewrite_config(server.config);
  if (!status && status.error().code == Code::not_found) {
    return call.fail(fmt::format("ERR {}", status.error().message));
  }
  if (!status) {
    server.log.warning("CONFIG REWRITE failed: {}", status.error().message);
    return call.fail(fmt::format("ERR Rewriting config file: {}", status.error().message));
  }
  server.log.notice("CONFIG REWRITE executed with success.");
  call.reply().ok();
}

constexpr std::uint64_t kConfigAdmin = flag::admin | flag::noscript | flag::loading | flag::stale;
constexpr std::uint64_t kConfigHelp = flag::loading | flag::stale;

// clang-format off
constexpr Command kConfigRows[] = {
    {"get", config_get, -3, kConfigAdmin, {}, "server", "2.0.0", "parameter...",
     "Returns directives and their values.", {}, "config"},
    {"set", config_set, -4, kConfigAdmin, {}, "server", "2.0.0", "(parameter value)...",
     "Changes directives, all of them or none.", {}, "config"},
    {"resetstat", config_resetstat, 2, kConfigAdmin, {}, "server", "2.0.0", "",
     "Resets the statistics of INFO.", {}, "config"},
    {"rewrite", config_rewrite, 2, kConfigAdmin, {}, "server", "2.8.0", "",
     "Writes the settings in effect into the configuration file.", {}, "config"},
    {"help", reply_help, 2, kConfigHelp, {}, "server", "5.0.0", "", "Prints this help.", {},
     "config"},
};

constexpr Command kConfigCommands[] = {
    {"config", nullptr, -2, 0, {}, "server", "2.0.0", "", "Shows and changes the configuration.",
     kConfigRows},
};
// clang-format on

}  // namespace

std::span<const Command> config_commands() { return kConfigCommands; }

}  // namespace mayfly
