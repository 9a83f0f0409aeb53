// SPDX-License-Identifier: Apache-2.0
// EpollLoop: the transport on epoll. See transport.h for what it promises.
//
//   SteadyClock clock;
//   EpollLoop loop(clock, {.log = [](std::string_view line) { ... }});
//
// Level-triggered, with one read a connection and turn, so that there is no read that finds nothing
// and no connection that keeps the others waiting. A write is tried when the turn ends; only
// what the kernel does not take then is waited for. In the steady state a turn is one epoll_wait,
// and one recv and one send for each busy connection.
//
// The clock is only used for the pause after a failure to accept.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mayfly/clock.h"
#include "net/transport.h"

namespace mayfly {

struct EpollOptions {
  // Gets lines for the log: connections that could not be accepted and why. May be empty.
  std::function<void(std::string_view)> log;

  std::size_t read_bytes = 64 * 1024;         // at a time, and shared by all connections
  std::size_t long_read_bytes = 1024 * 1024;  // at a time, of a long request
  int accepts_a_turn = 64;                    // at each listener
};

class EpollLoop final : public Loop {
 public:
  explicit EpollLoop(const Clock& clock, EpollOptions options = {});
  ~EpollLoop() override;  // connections still open get closed("the server stops")

  Result<int> listen_tcp(std::string_view host, int port, const ListenOptions& options,
                         Acceptor acceptor) override;
  Status listen_unix(const std::string& path, const ListenOptions& options,
                     Acceptor acceptor) override;
  void stop_listening() override;
  void stop_listening_tcp(int group = 0);  // only these: CONFIG SET port and bind
  void connect(std::string_view host, int port, Acceptor connected,
               std::function<void(const Error&)> failed) override;

  void on_turn_begin(std::function<void()> call) override;
  void before_sleep(std::function<Millis()> call) override;
  void on_wake(std::function<void()> call) override;

  void run() override;
  void run_once(Millis longest) override;
  void stop() override;
  void wake() override;

  // From within a turn: delivers what has come for other connections, and writes their outputs.
  // Connections that end meanwhile are closed when the turn ends.
  void serve_others();

  std::size_t connections() const override;
  const LoopCounts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mayfly
