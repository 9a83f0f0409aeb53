// SPDX-License-Identifier: Apache-2.0
// Answers to requests of HTTP that are not refused.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/prometheus_text.h"
#include "base/version.h"
#include "server/cluster/cluster.h"
#include "server/core/server_call.h"
#include "server/expiry/expiry_log.h"
#include "server/http/console_commands.h"
#include "server/http/http_files.h"
#include "server/http/http_server.h"
#include "server/http/readiness.h"
#include "server/http/reply_json.h"
#include "server/metrics/metrics.h"
#include "server/replication/replication.h"
#include "text/json_reader.h"

namespace mayfly {
namespace {

// A browser sends the cookies of one port to all ports of a machine.
std::string cookie_name(const ServerParts& parts) {
  return fmt::format("mayfly_session_{}", parts.host.http_port());
}

// The value of the cookie of this name; empty if the request has no such cookie.
std::string_view session_token(const HttpRequest& request, std::string_view name) {
  std::string_view rest = request.header("cookie");
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) {
      return one.substr(name.size() + 1);
    }
  }
  return {};
}

HttpResponse with_cookie(std::string_view name, std::string_view token, std::string_view more) {
  HttpResponse response;
  response.status = 204;
  response.headers.emplace_back(
      "Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}", name, token, more));
  return response;
}

bool is_read(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

HttpResponse HttpServer::answer(const HttpRequest& request, std::string_view body, Link& link) {
  const std::string_view path = request.path;
  if (path == "/api/session") return session(request);
  if (path == "/api/login") return log_in(body, link);
  if (path == "/api/logout") return log_out(request);
  if (path == "/api/expired") return expired(request);
  if (path == "/api/command") return run_console_commands(parts_, link, body);
  if ((path == "/health" || path == "/ready" || path == "/metrics") && !is_read(request)) {
    HttpResponse response = http_error(405, "use GET");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  if (path == "/health" || path == "/ready") return health(request);
  if (path == "/metrics") return metrics();
  return answer_file(parts_.host.web_files(), request);
}

std::optional<HttpServer::BeforeCommand> HttpServer::before_command(const HttpRequest& request,
                                                                    const Link& link) const {
  if (request.path != "/api/command" || !parts_.cluster.is_enabled()) return std::nullopt;
  return BeforeCommand{link.sent() + link.pending(), parts_.replication.stream().log().end()};
}

void HttpServer::command_answered(Link& link, const BeforeCommand& before) {
  parts_.cluster.answer_added(link, before.from, before.log_end);
}

// Who gets an answer knows that the process serves; a server that stops says so.
HttpResponse HttpServer::health(const HttpRequest& request) const {
  if (request.path == "/health") return http_text(200, "ok\n");
  const std::optional<std::string> why = why_not_ready(parts_);
  return why ? http_text(503, *why + "\n") : http_text(200, "ready\n");
}

HttpResponse HttpServer::metrics() const {
  HttpResponse response;
  response.type = PrometheusText::kContentType;
  response.body = metrics_text(parts_);
  return response;
}

bool HttpServer::is_logged_in(const HttpRequest& request) {
  return parts_.config.requirepass.empty() ||
         sessions_.is_logged_in(session_token(request, cookie_name(parts_)), parts_.config, now());
}

HttpResponse HttpServer::session(const HttpRequest& request) {
  const bool needs_login = !parts_.config.requirepass.empty();
  const bool is_read_only = parts_.replication.is_replica() && parts_.config.replica_read_only;
  return http_json(
      200, fmt::format(R"({{"login_required":{},"logged_in":{},"version":"{}","read_only":{}}})"
                       "\n",
                       needs_login, is_logged_in(request), kMayflyVersion, is_read_only));
}

// "last" is what to ask for next by since=. If it is less than what was asked for, the server has
// restarted.
HttpResponse HttpServer::expired(const HttpRequest& request) const {
  constexpr std::size_t kMost = 500;
  constexpr std::string_view kHow[] = {"access", "sweep", "past"};
  const std::string_view text = request.parameter("since");
  std::uint64_t since = 0;
  const char* const end = text.data() + text.size();
  if (!text.empty() && std::from_chars(text.data(), end, since).ptr != end) {
    return http_error(400, "since must be the number of an expiry");
  }
  since = std::min(since, parts_.expiry_log.last_recent());
  std::string json;
  for (const RecentExpiry& one : parts_.expiry_log.read_recent(since, kMost)) {
    json += fmt::format(R"({}{{"seq":{},"db":{},"key":)", json.empty() ? "" : ",", one.sequence,
                        one.database);
    append_json_bytes(json, one.key);
    json += ",\"member\":";
    if (one.member) {
      append_json_bytes(json, *one.member);
    } else {
      json += "null";
    }
    json += fmt::format(R"(,"type":"{}","deadline":{},"at":{},"how":"{}"}})", type_name(one.type),
                        one.deadline.time_since_epoch().count(), one.at.time_since_epoch().count(),
                        kHow[static_cast<std::size_t>(one.by)]);
  }
  return http_json(200, fmt::format("{{\"last\":{},\"expired\":[{}]}}\n",
                                    parts_.expiry_log.last_recent(), json));
}

HttpResponse HttpServer::log_in(std::string_view body, const Link& link) {
  const Result<JsonValue> json = read_json(body);
  const JsonValue* const password = json ? json->find("password") : nullptr;
  if (password == nullptr || !password->is(JsonValue::Kind::string)) {
    return http_error(400, "the body must be {\"password\": \"...\"}");
  }
  if (parts_.config.requirepass.empty()) {
    HttpResponse response;
    response.status = 204;
    return response;
  }
  if (!is_right(link, "default", password->text)) return http_error(401, "wrong password");
  const std::string token = sessions_.begin(parts_.config, now());
  if (token.empty()) return http_error(500, "no session: the system has no random bytes");
  return with_cookie(cookie_name(parts_), token, "");
}

HttpResponse HttpServer::log_out(const HttpRequest& request) {
  const std::string name = cookie_name(parts_);
  sessions_.log_out(session_token(request, name));
  return with_cookie(name, "", "; Max-Age=0");
}

}  // namespace mayfly
