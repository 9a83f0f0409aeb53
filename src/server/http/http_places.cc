// SPDX-License-Identifier: Apache-2.0
// HttpServer: who gets one of the http-maxconnections places.
//
//   [ ....... from anywhere, half of them for one network ....... | from here, probes | probes ]
//
// The last quarter is for connections from this machine and for probes (/health, /ready) from
// elsewhere, the end of it (a sixteenth of all) for probes only. When there is no place, one
// connection is closed: the one that has been kept alive longest after its answer, else the oldest
// whose request has not come in full, else one that does not read its answer. So connections that
// send a byte now and then do not block others. A new connection without a byte counts as an
// unfinished request: a probe far away needs time to send it.

#include <algorithm>
#include <tuple>

#include "server/core/server_call.h"
#include "server/http/http_connection.h"
#include "server/http/http_server.h"

namespace mayfly {
namespace {

constexpr Millis kStuck = std::chrono::seconds(1);  // without taking any output

bool is_elsewhere(const HttpConnection& connection) {
  return !connection.link().is_loopback() && !connection.asks_probes_only();
}

}  // namespace

bool HttpServer::is_probe(const HttpRequest& request) {
  return request.path == "/health" || request.path == "/ready";
}

std::unique_ptr<Peer> HttpServer::accept(Link& link) {
  ++stats_.connections;
  auto connection = std::make_unique<HttpConnection>(*this, link);
  const auto most = static_cast<std::size_t>(parts_.config.http_maxconnections);
  if (!finds_place(*connection)) {
    connection->ask_probes_only(true);
    const auto asks_probes_only = [](const HttpConnection& each) {
      return each.asks_probes_only();
    };
    if (connections_.size() >= most && !makes_room(asks_probes_only)) {
      ++stats_.rejected_connections;
      http_error(503, "too many connections (see http-maxconnections)")
          .write(link.output(), false, false);
      return nullptr;
    }
  }
  connections_.push_back(connection.get());
  return connection;
}

bool HttpServer::finds_place(HttpConnection& connection) {
  const auto most = static_cast<std::size_t>(parts_.config.http_maxconnections);
  const auto is_anyone = [](const HttpConnection&) { return true; };
  const auto is_general = [](const HttpConnection& each) { return !each.asks_probes_only(); };
  const bool has_place = connection.asks_probes_only() || connections_.size() < most;
  const auto is_neighbour = [&](const HttpConnection& each) {
    return is_elsewhere(each) && each.network() == connection.network();
  };
  const auto count = [&](const auto& which) {
    return static_cast<std::size_t>(std::ranges::count_if(
        connections_,
        [&](const HttpConnection* each) { return each != &connection && which(*each); }));
  };
  if (connection.link().is_loopback()) {
    if (count(is_general) >= most - most / 16) return makes_room(is_general);
    return has_place || makes_room(is_anyone);
  }
  const std::size_t general = most - most / 4;
  if (count(is_neighbour) >= std::max<std::size_t>(general / 2, 1)) return makes_room(is_neighbour);
  if (count(is_elsewhere) >= general) return makes_room(is_elsewhere);
  return has_place || makes_room(is_anyone);
}

// Of those that may go. It is closed when the turn ends.
bool HttpServer::makes_room(const std::function<bool(const HttpConnection&)>& may_go) {
  const Time moment = now();
  HttpConnection* chosen = nullptr;
  std::tuple<int, Time> best{3, kNever};
  for (HttpConnection* const each : connections_) {
    if (!may_go(*each)) continue;
    const bool is_stuck = each->waits_for_output();
    // The answers of probes are short: they are sent at once.
    const bool reads_slowly = is_stuck && !each->asks_probes_only();
    if (reads_slowly && !is_due(each->since() + kStuck, moment)) continue;
    const std::tuple<int, Time> rank{each->is_kept_alive() ? 0 : is_stuck ? 2 : 1, each->since()};
    if (rank >= best) continue;
    best = rank;
    chosen = each;
  }
  if (chosen == nullptr) return false;
  std::erase(connections_, chosen);
  chosen->link().close_now("others want to connect (see http-maxconnections)");
  return true;
}

}  // namespace mayfly
