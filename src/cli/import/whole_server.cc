// SPDX-License-Identifier: Apache-2.0
#include "cli/import/whole_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
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
