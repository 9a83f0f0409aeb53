// SPDX-License-Identifier: Apache-2.0
// EpollListener: a listening socket of an EpollLoop. EpollConnecting: a socket that is about to be
// connected. Both turn into connections, which their loop makes of the sockets they hand over.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mayfly/result.h"
#include "net/epoll_link.h"
#include "net/socket.h"

namespace mayfly {

class EpollListener final : public Watched {
 public:
  using Accepted = std::function<void(Fd)>;
  using Exhausted = std::function<void(int error)>;

  // Gives at most `accepts_max` sockets a turn to `accepted`. When the system has no more to give
  // (too many open files, say), they stay in the backlog: it pauses and says `exhausted`.
  EpollListener(int epoll, Fd fd, int accepts_max, Accepted accepted, Exhausted exhausted);
  ~EpollListener() override;

  void ready(std::uint32_t events) override;
  void resume();

  // Accepts no more, and closes the socket: its port is free.
  void stop();
  bool is_tcp() const { return path_.empty(); }
  int group() const { return group_; }
  void set_group(int group) { group_ = group; }

  // Removes this file when it is destroyed.
  void own_path(const std::string& path) { path_ = path; }

 private:
  void watch(int operation, std::uint32_t events);

  const int epoll_;
  Fd fd_;
  const int accepts_max_;
  const Accepted accepted_;
  const Exhausted exhausted_;
  std::string path_;
  int group_ = 0;
  bool paused_ = false;
  bool stopped_ = false;
};

class EpollConnecting final : public Watched {
 public:
  // `done` is called once, with the socket or why there is none.
  using Done = std::function<void(EpollConnecting&, Result<Fd>)>;

  EpollConnecting(int epoll, Fd fd, Done done);

  void ready(std::uint32_t events) override;

 private:
  const int epoll_;
  Fd fd_;
  const Done done_;
};

}  // namespace mayfly
