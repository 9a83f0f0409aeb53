// SPDX-License-Identifier: Apache-2.0
#include "server/http/console_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "server/blocking/blocked_clients.h"
#include "server/core/clients.h"
#include "server/core/pauses.h"
#include "server/core/requests.h"
#include "server/core/server_call.h"
#include "server/http/console_link.h"
#include "server/http/reply_json.h"
#include "text/json_reader.h"

namespace mayfly {
namespace {

using ConsoleRequest = std::vector<std::string>;

// They change how a connection works, or need one that stays.
constexpr std::array<std::string_view, 32> kRefused = {"asking",
                                                       "auth",
                                                       "client|caching",
                                                       "client|capa",
                                                       "client|no-evict",
                                                       "client|no-touch",
                                                       "client|import-source",
                                                       "client|reply",
                                                       "client|setinfo",
                                                       "client|setname",
                                                       "client|tracking",
                                                       "discard",
                                                       "exec",
                                                       "hello",
                                                       "monitor",
                                                       "multi",
                                                       "psubscribe",
                                                       "psync",
                                                       "punsubscribe",
                                                       "quit",
                                                       "readonly",
                                                       "readwrite",
                                                       "replconf",
                                                       "reset",
                                                       "shutdown",
                                                       "ssubscribe",
                                                       "subscribe",
                                                       "sunsubscribe",
                                                       "sync",
                                                       "unsubscribe",
                                                       "unwatch",
                                                       "watch"};

struct ParsedBody {
  int database = 0;
  std::vector<ConsoleRequest> requests;
};

Error bad_body(std::string message) { return {Code::invalid, std::move(message)}; }

Result<ParsedBody> parse_body(std::string_view body, int databases) {
  using Kind = JsonValue::Kind;
  const Result<JsonValue> json = read_json(body);
  if (!json) return bad_body("the body is not JSON: " + json.error().message);
  const JsonValue* const commands = json->find("commands");
  if (commands == nullptr || !commands->is(Kind::array)) {
    return bad_body("the body must be {\"db\": 0, \"commands\": [[\"GET\", \"key\"], ...]}");
  }
  if (commands->values.size() > kConsoleCommandsMost) {
    return bad_body(
        fmt::format("too many commands in one request (at most {})", kConsoleCommandsMost));
  }
  ParsedBody parsed;
  if (const JsonValue* const number = json->find("db")) {
    const std::optional<std::int64_t> database = number->whole_number();
    if (!database || *database < 0 || *database >= databases) {
      if (databases == 1) return bad_body("db must be 0");
      return bad_body(fmt::format("db must be a number from 0 to {}", databases - 1));
    }
    parsed.database = static_cast<int>(*database);
  }
  for (const JsonValue& command : commands->values) {
    if (!command.is(Kind::array) || command.values.empty()) {
      return bad_body("a command must be an array of its words: [\"GET\", \"key\"]");
    }
    ConsoleRequest& request = parsed.requests.emplace_back();
    for (const JsonValue& value : command.values) {
      Result<std::string> word = word_of_json(value);
      if (!word) return word.error();
      request.push_back(std::move(*word));
    }
  }
  return parsed;
}

bool is_refused(const CommandTable& commands, Words words) {
  const Command* const found = commands.find(words[0]);
  const Command* const command = found == nullptr ? nullptr : commands.resolve(*found, words);
  return command != nullptr && std::ranges::find(kRefused, full_name(*command)) != kRefused.end();
}

class ConsoleClient {
 public:
  ConsoleClient(const ServerParts& parts, Link& http, int database)
      : parts_(parts), link_(http), client_(parts.clients.adopt(link_)) {
    client_->set_protocol(3);
    client_->set_authenticated(true);
    client_->select(database);
    client_->info.name = "console";
    client_->can_wait = false;
  }
  ~ConsoleClient() { client_->closed("the request of the console is answered"); }
  ConsoleClient(const ConsoleClient&) = delete;
  ConsoleClient& operator=(const ConsoleClient&) = delete;

  // The reply in RESP3.
  std::string run(const ConsoleRequest& request) {
    const std::vector<std::string_view> words(request.begin(), request.end());
    if (link_.closing()) return "-ERR the server has closed this client\r\n";
    if (is_refused(parts_.commands, words)) {
      return fmt::format("-ERR '{}' needs a connection of its own and is refused here\r\n",
                         lowered_name(words[0]));
    }
    parts_.requests.begin_batch();
    if (!parts_.requests.handle(*client_, words)) {
      return parts_.pauses.any()
                 ? "-ERR clients are paused (CLIENT PAUSE), and this command would have to wait\r\n"
                 : "-TRYAGAIN slots of this shard are moving, and this command would have to "
                   "wait\r\n";
    }
    if (client_->is_blocked()) parts_.blocked.end(*client_);
    return std::exchange(link_.output(), {});
  }

 private:
  static std::string lowered_name(std::string_view word) {
    std::string name(word);
    std::ranges::transform(name, name.begin(), [](unsigned char letter) {
      return static_cast<char>(std::tolower(letter));
    });
    return name;
  }

  const ServerParts& parts_;
  ConsoleLink link_;
  std::unique_ptr<Client> client_;
};

// {"ok": value} or {"error": "..."}
void append_result(std::string& json, std::string_view reply) {
  const std::size_t start = json.size();
  const bool is_error = reply.starts_with('-') || reply.starts_with('!');
  if (!is_error) json += "{\"ok\":";
  const bool is_whole = append_reply_json(json, reply, kConsoleReplyMost);
  if (!is_error) json += '}';
  if (is_whole && json.size() <= kConsoleReplyMost) return;
  json.resize(start);
  json += "{\"error\":\"ERR the reply is too large for the console (ask for a part of it)\"}";
}

}  // namespace

HttpResponse run_console_commands(const ServerParts& parts, Link& link, std::string_view body) {
  const int databases = parts.config.cluster_enabled ? 1 : parts.keyspace.count();
  const Result<ParsedBody> parsed = parse_body(body, databases);
  if (!parsed) return http_error(400, parsed.error().message);
  std::string json = "{\"replies\":[";
  ConsoleClient client(parts, link, parsed->database);
  for (std::size_t i = 0; i < parsed->requests.size(); ++i) {
    if (i > 0) json += ',';
    const std::string reply = client.run(parsed->requests[i]);
    if (reply.size() > kConsoleReplyMost) {
      append_result(json, "");
    } else {
      append_result(json, reply);
    }
  }
  json += "]}\n";
  return http_json(200, std::move(json));
}

}  // namespace mayfly
