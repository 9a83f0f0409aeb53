// SPDX-License-Identifier: Apache-2.0
// Describing and choosing clients.

#include "server/client_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/words.h"
#include "resp/numbers.h"
#include "server/command_times.h"

namespace mayfly {
namespace {

std::string flags_of(const Client& client) {
  std::string flags;
  if (client.is_primary) flags += 'M';
  if (client.replica && client.replica->is_attached()) flags += 'S';
  if (client.wait) flags += 'b';
  if (client.is_monitor) flags += 'O';
  if (client.is_subscriber()) flags += 'P';
  if (client.is_in_multi) flags += 'x';
  if (client.is_watch_broken) flags += 'd';
  if (client.link().closing()) flags += 'c';
  if (client.link().is_unix()) flags += 'U';
  if (client.no_evict) flags += 'e';
  if (client.no_touch) flags += 'T';
  if (client.is_import_source) flags += 'I';
  return flags.empty() ? "N" : flags;
}

std::string last_command(const Client& client) {
  return client.last == nullptr ? "NULL" : full_name(*client.last);
}

std::int64_t seconds_between(Time from, Time to) {
  return std::chrono::duration_cast<std::chrono::seconds>(to - from).count();
}

// Reads as many ids as follow; moves `i` behind them.
bool parse_ids(ClientCall& call, std::size_t& i, std::vector<std::uint64_t>& ids) {
  const std::size_t begin = i;
  for (; i < call.count(); ++i) {
    const auto id = parse_integer(call.word(i));
    if (!id && i > begin) break;
    if (!id || *id < 1) {
      const bool is_list = call.command().name == "list";
      call.fail(is_list ? "ERR Invalid client ID" : "ERR client-id should be greater than 0");
      return false;
    }
    ids.push_back(static_cast<std::uint64_t>(*id));
  }
  return true;
}

bool parse_type(ClientCall& call, std::string_view word, ClientFilter& filter) {
  filter.type = lowered(word);
  if (*filter.type == "slave") filter.type = "replica";
  if (*filter.type == "primary") filter.type = "master";
  for (const std::string_view known : {"normal", "pubsub", "master", "replica"}) {
    if (*filter.type == known) return true;
  }
  call.fail(fmt::format("ERR Unknown client type '{}'", word));
  return false;
}

// One option with one value. Returns false after an error reply.
bool parse_option(ClientCall& call, std::size_t i, ClientFilter& filter) {
  const std::string value(call.word(i + 1));
  if (call.is(i, "type")) return parse_type(call, value, filter);
  if (call.is(i, "addr")) {
    filter.address = value;
  } else if (call.is(i, "laddr")) {
    filter.local_address = value;
  } else if (call.is(i, "name")) {
    filter.name = value;
  } else if (call.is(i, "user")) {
    filter.user = value;
    if (value == "default") return true;
    call.fail(fmt::format("ERR No such user '{}'", value));
    return false;
  } else if (call.is(i, "skipme")) {
    if (equals(value, "no")) filter.but_not.reset();
    if (equals(value, "yes")) filter.but_not = call.client.id();
    if (!equals(value, "no") && !equals(value, "yes")) call.fail_syntax();
  } else if (call.is(i, "maxage")) {
    filter.age_seconds_min = call.integer(i + 1, 1, std::numeric_limits<std::int64_t>::max(),
                                          "ERR maxage is not an integer or out of range");
  } else {
    call.fail_syntax();
  }
  return !call.has_failed();
}

}  // namespace

bool is_plain_word(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

std::string_view type_of(const Client& client) {
  if (client.is_primary) return "master";
  if (client.replica && client.replica->is_attached()) return "replica";
  return client.is_subscriber() ? "pubsub" : "normal";
}

std::string describe(Client& client, Server& server) {
  const Time now = server.keyspace().now();
  const Link& link = client.link();
  const std::size_t waiting = link.pending();
  const std::size_t memory = link.input().capacity() + link.output_capacity() + sizeof(Client);
  return fmt::format(
      "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db={} sub={} psub={} ssub={} "
      "multi={} watch={} qbuf={} qbuf-free={} argv-mem=0 multi-mem={} rbs={} rbp={} obl={} oll=0 "
      "omem={} tot-mem={} events=r{} cmd={} user=default redir=-1 resp={} lib-name={} lib-ver={} "
      "tot-net-in={} tot-net-out={} tot-cmds={}",
      client.id(), link.address(), link.local_address(), link.fd(), client.name,
      seconds_between(client.created, now), seconds_between(client.used, now), flags_of(client),
      client.database(), client.channels.size(), client.patterns.size(),
      client.shard_channels.size(),
      client.is_in_multi ? static_cast<std::int64_t>(client.queue.size()) : -1,
      server.watches().count(client), link.input().size(),
      link.input().capacity() - std::min(link.input().capacity(), link.input().size()),
      client.queued_bytes, link.output_capacity(), waiting, waiting, waiting, memory,
      waiting > 0 ? "w" : "", last_command(client), client.protocol(), client.lib_name,
      client.lib_version, client.bytes_in, link.sent(), client.commands);
}

bool matches(const ClientFilter& filter, Client& client, Time now) {
  if (!filter.ids.empty() && std::ranges::find(filter.ids, client.id()) == filter.ids.end()) {
    return false;
  }
  if (filter.type && *filter.type != type_of(client)) return false;
  if (filter.address && *filter.address != client.link().address()) return false;
  if (filter.local_address && *filter.local_address != client.link().local_address()) return false;
  if (filter.name && *filter.name != client.name) return false;
  if (filter.age_seconds_min && seconds_between(client.created, now) < *filter.age_seconds_min) {
    return false;
  }
  return !filter.but_not || *filter.but_not != client.id();
}

std::optional<ClientFilter> parse_client_filter(ClientCall& call, std::size_t i) {
  ClientFilter filter;
  while (i < call.count()) {
    if (i + 1 >= call.count()) {
      call.fail_syntax();
      return std::nullopt;
    }
    if (call.is(i, "id")) {
      if (!parse_ids(call, ++i, filter.ids)) return std::nullopt;
      continue;
    }
    if (!parse_option(call, i, filter)) return std::nullopt;
    i += 2;
  }
  return filter;
}

}  // namespace mayfly
