// SPDX-License-Identifier: Apache-2.0
// Connections, and which requests are refused. http_answers.cc answers the others.

#include "server/http/http_server.h"

#include <algorithm>

#include "server/cluster/cluster.h"
#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/http/http_connection.h"
#include "server/http/http_origin.h"
#include "server/monitoring/secrets.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::size_t kOutputMost = std::size_t{32} << 20;  // that waits at all connections
constexpr std::size_t kSmallBodyMost = 4096;

struct BasicLogin {
  std::string user;
  std::string password;
};

// What follows "Basic ", decoded.
std::optional<BasicLogin> basic_login(const HttpRequest& request) {
  constexpr std::string_view kScheme = "Basic ";
  const std::string_view value = request.header("authorization");
  if (!value.starts_with(kScheme)) return std::nullopt;
  const Result<std::string> decoded = from_base64(value.substr(kScheme.size()));
  if (!decoded) return std::nullopt;
  const std::size_t colon = decoded->find(':');
  if (colon == decoded->npos) return std::nullopt;
  return BasicLogin{decoded->substr(0, colon), decoded->substr(colon + 1)};
}

}  // namespace

HttpServer::~HttpServer() = default;

Time HttpServer::now() const { return parts_.clock.now(); }

void HttpServer::remove(HttpConnection& connection) {
  parts_.cluster.forget(connection.link());
  std::erase(connections_, &connection);
}

void HttpServer::run_periodic(Time now) {
  const std::vector<HttpConnection*> all = connections_;
  for (HttpConnection* const connection : all) {
    if (!connection->link().closing()) connection->check_time(now);
  }
}

void HttpServer::answered(int status) {
  ++stats_.requests;
  if (status >= 400) ++stats_.refused;
}

bool HttpServer::has_too_much_output() const {
  std::size_t bytes = 0;
  for (HttpConnection* const connection : connections_) bytes += connection->link().pending();
  return bytes > kOutputMost;
}

// ---- Refusals ----

std::optional<HttpResponse> HttpServer::refusal(const HttpRequest& request, const Link& link) {
  // Only commands have long bodies, and commands need a session.
  if (request.path != "/api/command" && request.content_length > kSmallBodyMost) {
    return http_error(413, "the body is too long");
  }
  if (is_probe(request)) return std::nullopt;
  const Config& config = parts_.config;
  if (config.protected_mode && config.requirepass.empty() && !link.is_loopback()) {
    return http_error(403,
                      "protected mode: no password is set, so only this machine is served (set "
                      "requirepass, or protected-mode to 'no')");
  }
  if (has_too_much_output()) return http_error(503, "too many answers wait to be read");
  if (!is_known_host(request.header("host"), config.http_hosts)) {
    return http_error(421,
                      "this server is not known by the name in the header Host (use an address or "
                      "localhost, or add the name to http-hosts)");
  }
  if (request.path == "/metrics") return check_metrics(request, link);
  if (request.path.starts_with("/api/")) return check_api(request);
  return std::nullopt;
}

// From this machine without a password, as they have no data in them.
std::optional<HttpResponse> HttpServer::check_metrics(const HttpRequest& request,
                                                      const Link& link) {
  if (parts_.config.requirepass.empty()) return std::nullopt;
  const std::optional<BasicLogin> login = basic_login(request);
  std::string_view user = "default";
  if (login && !login->user.empty()) user = login->user;
  if (login ? is_right(link, user, login->password) : link.is_loopback()) return std::nullopt;
  HttpResponse response =
      http_error(401, "log in by HTTP Basic: user default, password requirepass");
  response.headers.emplace_back("WWW-Authenticate", "Basic realm=\"mayfly\", charset=\"UTF-8\"");
  return response;
}

// ---- Logins ----

bool HttpServer::is_login(const HttpRequest& request) const {
  if (parts_.config.requirepass.empty()) return false;
  return request.path == "/api/login" ||
         (request.path == "/metrics" && request.has_header("authorization"));
}

bool HttpServer::has_login_token(const Link& link) const {
  return parts_.clients.attempts().has_token(link.address(), now());
}

bool HttpServer::is_right(const Link& link, std::string_view user, std::string_view password) {
  const bool is_same = is_same_secret(password, parts_.config.requirepass);
  if (is_same && user == "default") return true;
  parts_.clients.attempts().failed(link.address(), user, now());
  return false;
}

std::optional<HttpResponse> HttpServer::check_api(const HttpRequest& request) {
  if (const Status status = check_same_origin(request); !status) {
    return http_error(403, status.error().message);
  }
  const bool is_get = request.path == "/api/session" || request.path == "/api/expired";
  const bool is_post = request.path == "/api/login" || request.path == "/api/logout" ||
                       request.path == "/api/command";
  if (!is_get && !is_post) return http_error(404, "there is no such part of the API");
  if (request.method != (is_get ? "GET" : "POST")) {
    HttpResponse response = http_error(405, is_get ? "use GET" : "use POST");
    response.headers.emplace_back("Allow", is_get ? "GET" : "POST");
    return response;
  }
  if (request.path == "/api/session" || request.path == "/api/login") return std::nullopt;
  if (!is_logged_in(request)) return http_error(401, "log in first: POST /api/login");
  return std::nullopt;
}

}  // namespace mayfly
