// SPDX-License-Identifier: Apache-2.0
// HttpServer: what a server answers by HTTP, and the limits on these connections.
//
//   GET /health, /ready        for orchestrators; no checks
//   GET /metrics               for Prometheus; by HTTP Basic from elsewhere if a password is set
//   GET /, /app.js, ...        the files of the console
//   GET /api/session           whether a password is needed
//   POST /api/login, /logout   sessions: http_sessions.h
//   POST /api/command          console_commands.h
//   GET /api/expired           what expired last
//
// Everything but /health and /ready is refused to other machines in protected mode, and unless it
// is asked for by an address, localhost or a name in http-hosts. The API is refused to pages of
// other origins: http_origin.h.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/time.h"
#include "net/http/http_request.h"
#include "net/http/http_response.h"
#include "net/transport.h"
#include "server/http/http_sessions.h"

namespace mayfly {

class HttpConnection;
struct ServerParts;

// For the metrics about HTTP.
struct HttpStats {
  std::uint64_t connections = 0;
  std::uint64_t rejected_connections = 0;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;  // answered by 4xx or 5xx
};

class HttpServer {
 public:
  explicit HttpServer(const ServerParts& parts) : parts_(parts) {}
  ~HttpServer();

  // Null if there are too many connections: the reason has been sent. See http_places.cc.
  std::unique_ptr<Peer> accept(Link& link);

  // Whether this connection may ask for more than probes, which some places are kept for.
  bool finds_place(HttpConnection& connection);

  // Closes connections that idle, are slow to send or to read. Called several times a second.
  void run_periodic(Time now);

  const std::vector<HttpConnection*>& connections() const { return connections_; }
  const HttpStats& stats() const { return stats_; }
  std::size_t sessions() const { return sessions_.size(); }

  // ---- For connections ----

  static bool is_probe(const HttpRequest& request);  // /health, /ready

  // Whether the request has a password, and whether the password may be checked without a delay.
  bool is_login(const HttpRequest& request) const;
  bool has_login_token(const Link& link) const;

  // The answer to a request that is refused by its head.
  std::optional<HttpResponse> refusal(const HttpRequest& request, const Link& link);

  // REQUIRES: it is not refused.
  HttpResponse answer(const HttpRequest& request, std::string_view body, Link& link);

  // The answer to a command of the console has been written: it may have to be kept for a while.
  // `from` is where it begins in the connection's stream.
  struct BeforeCommand {
    std::uint64_t from = 0;
    std::uint64_t log_end = 0;
  };
  std::optional<BeforeCommand> before_command(const HttpRequest& request, const Link& link) const;
  void command_answered(Link& link, const BeforeCommand& before);

  void answered(int status);
  void remove(HttpConnection& connection);
  Time now() const;

 private:
  std::optional<HttpResponse> check_metrics(const HttpRequest& request, const Link& link);
  std::optional<HttpResponse> check_api(const HttpRequest& request);
  bool is_logged_in(const HttpRequest& request);
  // Counts what is wrong.
  bool is_right(const Link& link, std::string_view user, std::string_view password);
  bool makes_room(const std::function<bool(const HttpConnection&)>& may_go);
  bool has_too_much_output() const;
  HttpResponse health(const HttpRequest& request) const;
  HttpResponse metrics() const;
  HttpResponse session(const HttpRequest& request);
  HttpResponse log_in(std::string_view body, const Link& link);
  HttpResponse log_out(const HttpRequest& request);
  HttpResponse expired(const HttpRequest& request) const;

  const ServerParts& parts_;
  HttpSessions sessions_;
  HttpStats stats_;
  std::vector<HttpConnection*> connections_;
};

}  // namespace mayfly
