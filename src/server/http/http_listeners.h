// SPDX-License-Identifier: Apache-2.0
// HttpListeners: where a server listens for HTTP.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mayfly/result.h"
#include "net/epoll_loop.h"
#include "server/config/config.h"

namespace mayfly {

// An error if other machines could connect and no password is set: anybody there could run
// commands. With protected-mode off that is allowed, as it is for other clients.
Status check_http_bind(const Config& config);

class HttpListeners {
 public:
  HttpListeners(EpollLoop& loop, Acceptor acceptor) : loop_(loop), acceptor_(std::move(acceptor)) {}

  // Listens where the configuration says, and nowhere else. With `any_port`, the next free port is
  // taken if the first is in use.
  Status listen(const Config& config, bool any_port);

  // After a change of the configuration. After an error it listens where it did before.
  Status relisten(const Config& before, const Config& config);

  std::int64_t port() const { return port_; }  // 0: off
  // "http://127.0.0.1:8379/"; empty if it is off.
  std::string url() const;

 private:
  Status listen_everywhere(const Config& config, int port);

  EpollLoop& loop_;
  const Acceptor acceptor_;
  std::int64_t port_ = 0;
  std::string host_;  // the first
};

}  // namespace mayfly
