// SPDX-License-Identifier: Apache-2.0
// Server: the parts of a server, and what they do in a turn of the loop. It knows neither sockets
// nor the system's clock, so that tests drive it by hand.
//
//   Server server(clock, config, log, host);
//   loop.listen_tcp(address, port, {}, [&](Link& link) { return server.accept(link); });
//   loop.on_turn_begin([&] { server.begin_turn(); });
//   loop.before_sleep([&] { return server.before_sleep(); });
//
// Requests takes it from there: requests.h. Threads: one.

#pragma once

#include <memory>

#include "mayfly/clock.h"
#include "mayfly/time.h"
#include "net/transport.h"
#include "server/config/config.h"
#include "server/core/log.h"
#include "server/core/server_host.h"

namespace mayfly {

struct ServerParts;

class Server {
 public:
  Server(const Clock& clock, Config config, Log& log, ServerHost& host);
  ~Server();

  // A client at a new connection; null if it is refused (the reason has been sent).
  std::unique_ptr<Peer> accept(Link& link);

  // Likewise at a connection that speaks HTTP.
  std::unique_ptr<Peer> accept_http(Link& link);

  // A slice of sweeping and freeing, or of loading. It runs before requests are read: a request
  // that arrives meanwhile waits for the rest of one slice, and its reply for none.
  void begin_turn();

  // Periodic tasks. Returns how long the loop may sleep.
  Millis before_sleep();

  // Something that is not a connection has an answer: the register of a cluster.
  void wake();

  // For the process and for tests.
  const ServerParts& parts() const;

 private:
  struct State;

  void apply_config();

  std::unique_ptr<State> state_;
};

}  // namespace mayfly
