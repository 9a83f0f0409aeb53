// SPDX-License-Identifier: Apache-2.0
// Connections, and which requests are refused. http_answers.cc answers the others.

#include "server/http/http_server.h"

#include <algorithm>

#include "server/cluster/cluster.h"
#include "server/core/server_call.h"
#include "server/http/http_connection.h"
#include "server/http/http_origin.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::size_t kOutputMost = std::size_t{32} << 20;  // that waits at all connections
constexpr std::size_t kLoginBodyMost = 4096;

std::string_view without_port(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}

bool is_probe(std::string_view path) { return path == "/health" || path == "/ready"; }

// What follows "Basic ", decoded, behind the colon. The user is "default", or none.
std::optional<std::string> basic_password(const HttpRequest& request) {
  constexpr std::string_view kScheme = "Basic ";
  const std::string_view value = request.header("authorization");
  if (!value.starts_with(kScheme)) return std::nullopt;
  const Result<std::string> decoded = from_base64(value.substr(kScheme.size()));
  if (!decoded) return std::nullopt;
  const std::size_t colon = decoded->find(':');
  if (colon == decoded->npos) return std::nullopt;
  const std::string_view user = std::string_view(*decoded).substr(0, colon);
  if (!user.empty() && user != "default") return std::nullopt;
  return decoded->substr(colon + 1);
}

HttpResponse wait_first(Millis wait) {
  HttpResponse response =
      http_error(429, "too many wrong passwords (wait before the next attempt)");
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  response.headers.emplace_back("Retry-After", std::to_string(seconds));
  return response;
}

}  // namespace

HttpServer::~HttpServer() = default;

Time HttpServer::now() const { return parts_.clock.now(); }

std::unique_ptr<Peer> HttpServer::accept(Link& link) {
  ++stats_.connections;
  const auto most = static_cast<std::size_t>(parts_.config.http_maxconnections);
  if (connections_.size() >= most) {
    // One that idles makes room. It is closed when the turn ends.
    const auto rank = [](const HttpConnection* each) {
      return each->is_idle() ? each->idle_since() : kNever;
    };
    const auto oldest = std::ranges::min_element(connections_, {}, rank);
    if (!(*oldest)->is_idle()) {
      ++stats_.rejected_connections;
      http_error(503, "too many connections (see http-maxconnections)")
          .write(link.output(), false, false);
      return nullptr;
    }
    HttpConnection* const idle = *oldest;
    connections_.erase(oldest);
    idle->link().close_now("idle, and others want to connect");
  }
  auto connection = std::make_unique<HttpConnection>(*this, link);
  connections_.push_back(connection.get());
  return connection;
}

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
  if (is_probe(request.path)) return std::nullopt;
  const Config& config = parts_.config;
  if (config.protected_mode && config.requirepass.empty() && !link.is_loopback()) {
    return http_error(403,
                      "protected mode: no password is set, so only this machine is served (set "
                      "requirepass, or protected-mode to 'no')");
  }
  if (has_too_much_output()) return http_error(503, "too many answers wait to be read");
  if (request.path == "/metrics") return check_metrics(request, link);
  if (!is_known_host(request.header("host"), config.http_hosts)) {
    return http_error(421,
                      "this server is not known by the name in the header Host (use an address or "
                      "localhost, or add the name to http-hosts)");
  }
  if (request.path.starts_with("/api/")) return check_api(request);
  return std::nullopt;
}

// From this machine without a password, as they have no data in them. A page that has a name point
// here (DNS rebinding) doesn't know the password.
std::optional<HttpResponse> HttpServer::check_metrics(const HttpRequest& request,
                                                      const Link& link) {
  const Config& config = parts_.config;
  const std::optional<std::string> password = basic_password(request);
  if (password && !config.requirepass.empty()) {
    const HttpSessions::LogIn checked =
        sessions_.check_password(without_port(link.address()), *password, config, now());
    if (checked.wait > Millis(0)) return wait_first(checked.wait);
    if (!checked.token.empty()) return std::nullopt;
  }
  const bool is_free = config.requirepass.empty() || link.is_loopback();
  if (is_free && !password) {
    if (is_known_host(request.header("host"), config.http_hosts)) return std::nullopt;
    return http_error(421,
                      "this server is not known by the name in the header Host (use an address or "
                      "localhost, add the name to http-hosts, or log in by HTTP Basic)");
  }
  if (is_free && config.requirepass.empty()) return std::nullopt;
  HttpResponse response =
      http_error(401, "log in by HTTP Basic: user default, password requirepass");
  response.headers.emplace_back("WWW-Authenticate", "Basic realm=\"mayfly\", charset=\"UTF-8\"");
  return response;
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
  if (request.path != "/api/command" && request.content_length > kLoginBodyMost) {
    return http_error(413, "the body is too long");
  }
  if (request.path == "/api/session" || request.path == "/api/login") return std::nullopt;
  if (!is_logged_in(request)) return http_error(401, "log in first: POST /api/login");
  return std::nullopt;
}

}  // namespace mayfly
