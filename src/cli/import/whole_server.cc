// SPDX-License-Identifier: Apache-2.0
#include "cli/import/whole_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "text/byte_text.h"

namespace mayfly {
namespace {

// The number behind `before` at the front of a text, which is taken off.
std::optional<std::uint64_t> take_number(std::string_view& text, std::string_view before) {
  if (!text.starts_with(before)) return std::nullopt;
  text.remove_prefix(before.size());
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// A reply of FUNCTION LIST: names and values in turn.
FunctionLibrary library_of(const ReplyValue& reply) {
  FunctionLibrary library;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    if (reply.items[i].text == "library_name") library.name = reply.items[i + 1].text;
    if (reply.items[i].text == "library_code") library.code = reply.items[i + 1].text;
  }
  return library;
}

// A range of CLUSTER SLOTS: both ends, then its primary and replicas, each with host, port and id.
void add_slots(const ReplyValue& range, std::string_view own_id, std::vector<OtherSlots>& others) {
  if (range.items.size() < 3) return;
  const std::span nodes(range.items.begin() + 2, range.items.end());
  const bool is_own = std::ranges::any_of(nodes, [own_id](const ReplyValue& node) {
    return node.items.size() > 2 && node.items[2].text == own_id;
  });
  const std::vector<ReplyValue>& primary = nodes[0].items;
  if (is_own || primary.size() < 2) return;
  const std::string& host = primary[0].text;
  const auto port = static_cast<int>(primary[1].integer);
  auto found = std::ranges::find_if(
      others, [&](const OtherSlots& other) { return other.host == host && other.port == port; });
  if (found == others.end()) found = others.insert(found, {host, port, ""});
  const std::int64_t first = range.items[0].integer;
  const std::int64_t last = range.items[1].integer;
  if (!found->slots.empty()) found->slots += ' ';
  found->slots += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

}  // namespace

std::vector<DatabaseKeys> keys_of_databases(std::string_view info) {
  std::vector<DatabaseKeys> databases;
  while (!info.empty()) {
    std::string_view line = info.substr(0, info.find('\n'));
    info.remove_prefix(std::min(info.size(), line.size() + 1));
    const std::optional<std::uint64_t> number = take_number(line, "db");
    const std::optional<std::uint64_t> keys = take_number(line, ":keys=");
    if (number && keys && *keys > 0) databases.push_back({static_cast<int>(*number), *keys});
  }
  std::ranges::sort(databases, {}, &DatabaseKeys::number);
  return databases;
}

Result<std::vector<DatabaseKeys>> databases_of(RespClient& client) {
  const Result<ReplyValue> info = client.call("INFO", "keyspace");
  if (!info) {
    return Error{info.error().code, fmt::format("INFO keyspace: {}", info.error().message)};
  }
  return keys_of_databases(info->text);
}

Result<std::vector<OtherSlots>> other_slots_of(RespClient& client) {
  const auto failed = [](std::string_view command, const Error& why) {
    return Error{why.code, fmt::format("{}: {}", command, why.message)};
  };
  const Result<ReplyValue> info = client.call("INFO", "cluster");
  if (!info) return failed("INFO cluster", info.error());
  std::vector<OtherSlots> others;
  if (info->text.find("cluster_enabled:1") == std::string::npos) return others;
  const Result<ReplyValue> own = client.call("CLUSTER", "MYID");
  if (!own) return failed("CLUSTER MYID", own.error());
  const Result<ReplyValue> all = client.call("CLUSTER", "SLOTS");
  if (!all) return failed("CLUSTER SLOTS", all.error());
  for (const ReplyValue& range : all->items) add_slots(range, own->text, others);
  return others;
}

Result<std::vector<FunctionLibrary>> libraries_of(RespClient& client) {
  client.add("FUNCTION", "LIST", "WITHCODE");
  if (const Status status = client.send(); !status) return status.error();
  const Result<ReplyValue> reply = client.read();
  if (!reply) return reply.error();
  std::vector<FunctionLibrary> libraries;
  if (reply->kind == ReplyValue::Kind::error) {
    if (reply->text.starts_with("ERR unknown")) return libraries;  // it has no functions
    return Error{Code::unsupported, fmt::format("FUNCTION LIST: {}", reply->text)};
  }
  for (const ReplyValue& item : reply->items) {
    FunctionLibrary library = library_of(item);
    if (!library.name.empty()) libraries.push_back(std::move(library));
  }
  return libraries;
}

Result<std::vector<std::string>> load_libraries(RespClient& client,
                                                const std::vector<FunctionLibrary>& libraries,
                                                bool keeps) {
  std::vector<std::string> failures;
  RespDialogue dialogue(client);
  for (const FunctionLibrary& library : libraries) {
    const auto take = [&](const ReplyValue& reply) -> Status {
      if (reply.kind != ReplyValue::Kind::error) return Done{};
      const bool is_kept = keeps && reply.text.find("already exists") != std::string::npos;
      failures.push_back(fmt::format("library of functions {}: {}", bytes_as_json(library.name),
                                     is_kept ? "the target has one of this name" : reply.text));
      return Done{};
    };
    if (keeps) {
      dialogue.ask(take, "FUNCTION", "LOAD", library.code);
    } else {
      dialogue.ask(take, "FUNCTION", "LOAD", "REPLACE", library.code);
    }
  }
  if (const Status status = dialogue.finish(); !status) return status.error();
  return failures;
}

}  // namespace mayfly
