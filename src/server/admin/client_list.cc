// SPDX-License-Identifier: Apache-2.0
// Describing and choosing clients.

#include "server/admin/client_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "commands/words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

std::string flags_of(const Client& client) {
  std::string flags;
  if (client.options.is_monitor) flags += 'O';
  if (client.is_attached_replica()) flags += 'S';
  if (client.is_primary) flags += 'M';
  if (client.is_subscriber()) flags += 'P';
  if (client.transaction.is_open) flags += 'x';
  const bool waits = client.blocked || client.limits.is_paused || client.limits.awaits_end;
  if (waits) flags += 'b';
  if (client.tracking) {
    flags += 't';
    if (client.tracking->is_broken) flags += 'R';
    if (client.tracking->is_broadcast) flags += 'B';
  }
  if (client.transaction.is_watch_broken) flags += 'd';
  if (client.link().closing()) flags += 'c';
  if (client.link().is_unix()) flags += 'U';
  if (client.options.is_readonly) flags += 'r';
  if (client.options.no_evict) flags += 'e';
  if (client.options.no_touch) flags += 'T';
  if (client.options.is_import_source) flags += 'I';
  return flags.empty() ? "N" : flags;
}

std::string last_command(const Client& client) {
  return client.info.last == nullptr ? "NULL" : full_name(*client.info.last);
}

std::int64_t redirect_of(const Client& client) {
  return client.tracking ? static_cast<std::int64_t>(client.tracking->redirect) : -1;
}

std::int64_t seconds_between(Time from, Time to) {
  return std::chrono::duration_cast<std::chrono::seconds>(to - from).count();
}

struct KeyName {
  std::string_view name;
  ClientKey key;
  bool can_be_negated = true;
};

constexpr KeyName kKeyNames[] = {
    {"id", ClientKey::id},
    {"type", ClientKey::type},
    {"addr", ClientKey::address},
    {"laddr", ClientKey::local_address},
    {"ip", ClientKey::ip},
    {"user", ClientKey::user},
    {"flags", ClientKey::flags},
    {"name", ClientKey::name},
    {"lib-name", ClientKey::lib_name},
    {"lib-ver", ClientKey::lib_version},
    {"db", ClientKey::database},
    {"capa", ClientKey::capa},
    {"idle", ClientKey::idle, false},
    {"maxage", ClientKey::age, false},
};

// The condition that a word names, "type" or "not-type".
std::optional<ClientCondition> condition_named(std::string_view word) {
  const std::string name = lowered(word);
  const bool is_negated = name.starts_with("not-");
  const std::string_view rest = std::string_view(name).substr(is_negated ? 4 : 0);
  for (const KeyName& one : kKeyNames) {
    if (one.name != rest || (is_negated && !one.can_be_negated)) continue;
    return ClientCondition{one.key, is_negated, {}, 0, {}};
  }
  return std::nullopt;
}

// Reads as many ids as follow; moves `i` behind them.
bool parse_ids(ServerCall& call, std::size_t& i, std::vector<std::uint64_t>& ids) {
  const std::size_t begin = i;
  for (; i < call.count(); ++i) {
    const auto id = parse_integer(call.word(i));
    if (!id && i > begin) break;
    if (!id) {
      call.fail_syntax();
      return false;
    }
    if (*id < 1) {
      call.fail("ERR client-id should be greater than 0");
      return false;
    }
    ids.push_back(static_cast<std::uint64_t>(*id));
  }
  return true;
}

void parse_type(ServerCall& call, std::string_view word, std::string& type) {
  type = lowered(word);
  if (type == "slave") type = "replica";
  if (type == "primary") type = "master";
  for (const std::string_view known : {"normal", "pubsub", "master", "replica"}) {
    if (type == known) return;
  }
  call.fail(fmt::format("ERR Unknown client type '{}'", word));
}

void parse_seconds(ServerCall& call, std::size_t i, std::string_view name, std::int64_t& seconds) {
  const auto number = call.integer(i, std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max(),
                                   fmt::format("ERR {} is not an integer or out of range", name));
  if (!number) return;
  if (*number <= 0) return call.fail(fmt::format("ERR {} should be greater than 0", name));
  seconds = *number;
}

void parse_database(ServerCall& call, std::size_t i, std::int64_t& database) {
  const auto number = call.integer(i, std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max(),
                                   "ERR DB is not an integer or out of range");
  if (!number) return;
  const int count = call.keyspace().count();
  if (*number < 0 || *number >= count) {
    return call.fail(fmt::format("ERR DB number should be between 0 and {}", count - 1));
  }
  database = *number;
}

// The value of a condition that takes one word. An error reply if it is wrong.
void parse_value(ServerCall& call, std::size_t i, ClientCondition& condition) {
  const std::string_view word = call.word(i);
  condition.text = word;
  switch (condition.key) {
    case ClientKey::type:
      return parse_type(call, word, condition.text);
    case ClientKey::user:
      if (word != "default") call.fail(fmt::format("ERR No such user '{}'", word));
      return;
    case ClientKey::flags:
      if (word.find_first_not_of("OSMPxbtRBdcuAUreTIN") != std::string_view::npos) {
        call.fail(fmt::format("ERR Unknown flags found in the provided filter: {}", word));
      }
      return;
    case ClientKey::capa:
      if (word.find_first_not_of('r') != std::string_view::npos) {
        call.fail(fmt::format("ERR Unknown capa found in the provided filter: {}", word));
      }
      return;
    case ClientKey::database:
      return parse_database(call, i, condition.number);
    case ClientKey::idle:
      return parse_seconds(call, i, "idle", condition.number);
    case ClientKey::age:
      return parse_seconds(call, i, "maxage", condition.number);
    default:
      return;
  }
}

// The ids of a second ID are added to those of the first; any other condition takes the place of
// the one before.
void add_condition(ClientFilter& filter, ClientCondition condition) {
  for (ClientCondition& one : filter.conditions) {
    if (one.key != condition.key || one.is_negated != condition.is_negated) continue;
    condition.ids.insert(condition.ids.end(), one.ids.begin(), one.ids.end());
    one = std::move(condition);
    return;
  }
  filter.conditions.push_back(std::move(condition));
}

// "127.0.0.1:5000" and "[::1]:5000" without the port; nothing of a unix socket.
std::string_view ip_of(const Link& link) {
  if (link.is_unix()) return {};
  std::string_view host = link.address();
  host = host.substr(0, host.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

bool has_all_flags(const std::string& flags, std::string_view asked) {
  return std::ranges::all_of(asked, [&](char c) { return flags.find(c) != std::string::npos; });
}

bool fits_condition(const ClientCondition& condition, const Client& client, Time now) {
  const std::string& text = condition.text;
  switch (condition.key) {
    case ClientKey::id:
      return std::ranges::find(condition.ids, client.id()) != condition.ids.end();
    case ClientKey::type:
      return text == type_of(client);
    case ClientKey::address:
      return text == client.link().address();
    case ClientKey::local_address:
      return text == client.link().local_address();
    case ClientKey::ip:
      return !text.empty() && text == ip_of(client.link());
    case ClientKey::user:
      return true;  // there is one user, and it was named
    case ClientKey::flags:
      return has_all_flags(flags_of(client), text);
    case ClientKey::name:
      return !client.info.name.empty() && text == client.info.name;
    case ClientKey::lib_name:
      return !client.info.lib_name.empty() && text == client.info.lib_name;
    case ClientKey::lib_version:
      return !client.info.lib_version.empty() && text == client.info.lib_version;
    case ClientKey::database:
      return condition.number == client.database();
    case ClientKey::capa:
      return text.empty() || client.options.can_redirect;
    case ClientKey::idle:
      return seconds_between(client.info.used, now) >= condition.number;
    case ClientKey::age:
      return seconds_between(client.info.created, now) >= condition.number;
  }
  return false;
}

}  // namespace

bool is_plain_word(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

std::string_view type_of(const Client& client) {
  if (client.is_primary) return "master";
  if (client.is_attached_replica()) return "replica";
  return client.is_subscriber() ? "pubsub" : "normal";
}

std::size_t memory_of(const Client& client) {
  constexpr std::size_t kInList = 48;  // in the list of all clients
  const Link& link = client.link();
  const Client::Info& info = client.info;
  const Client::Transaction& transaction = client.transaction;
  std::size_t bytes = allocated_for(sizeof(Client)) + kInList + link.memory() +
                      allocated_for(link.input().capacity()) +
                      allocated_for_text(link.output_capacity()) + client.pending_memory();
  for (const std::string* const name : {&info.name, &info.lib_name, &info.lib_version}) {
    bytes += allocated_for_text(name->capacity());
  }
  bytes += transaction.queued_bytes + allocated_for(transaction.queue.capacity() * sizeof(Queued)) +
           transaction.watched_bytes + client.subscriptions.bytes + client.tracked_bytes +
           client.held_bytes;
  if (client.blocked) bytes += client.blocked->bytes;
  if (client.tracking) {
    bytes += client.tracking->prefix_bytes +
             allocated_for(client.tracking->prefixes.capacity() * sizeof(std::string_view));
  }
  return bytes;
}

std::string describe(const Client& client, Time now) {
  const Link& link = client.link();
  const std::size_t waiting = link.pending();
  return fmt::format(
      "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} capa={} db={} sub={} psub={} "
      "ssub={} multi={} watch={} qbuf={} qbuf-free={} argv-mem=0 multi-mem={} rbs={} rbp={} obl={} "
      "oll=0 omem={} tot-mem={} events=r{} cmd={} user=default redir={} resp={} lib-name={} "
      "lib-ver={} tot-net-in={} tot-net-out={} tot-cmds={}",
      client.id(), link.address(), link.local_address(), link.fd(), client.info.name,
      seconds_between(client.info.created, now), seconds_between(client.info.used, now),
      flags_of(client), client.options.can_redirect ? "r" : "", client.database(),
      client.subscriptions.channels.size(), client.subscriptions.patterns.size(),
      client.subscriptions.shard_channels.size(),
      client.transaction.is_open ? static_cast<std::int64_t>(client.transaction.queue.size()) : -1,
      client.transaction.watched_keys, client.unprocessed_bytes(),
      link.input().capacity() - std::min(link.input().capacity(), link.input().size()),
      client.transaction.queued_bytes, link.output_capacity(), waiting, waiting, waiting,
      memory_of(client), waiting > 0 ? "w" : "", last_command(client), redirect_of(client),
      client.protocol(), client.info.lib_name, client.info.lib_version, client.info.bytes_in,
      link.sent(), client.info.commands);
}

bool matches(const ClientFilter& filter, const Client& client, Time now) {
  return std::ranges::all_of(filter.conditions, [&](const ClientCondition& condition) {
    return fits_condition(condition, client, now) != condition.is_negated;
  });
}

std::optional<ClientFilter> parse_client_filter(ServerCall& call, std::size_t i) {
  ClientFilter filter;
  while (i < call.count() && !call.has_failed()) {
    std::optional<ClientCondition> condition = condition_named(call.word(i));
    if (i + 1 >= call.count()) {
      call.fail_syntax();
    } else if (call.is(i, "skipme") && (call.is(i + 1, "yes") || call.is(i + 1, "no"))) {
      filter.skips_self = call.is(i + 1, "yes");
      i += 2;
    } else if (!condition) {
      call.fail_syntax();
    } else if (condition->key == ClientKey::id) {
      if (parse_ids(call, ++i, condition->ids)) add_condition(filter, std::move(*condition));
    } else {
      parse_value(call, i + 1, *condition);
      add_condition(filter, std::move(*condition));
      i += 2;
    }
  }
  if (call.has_failed()) return std::nullopt;
  return filter;
}

}  // namespace mayfly
