// SPDX-License-Identifier: Apache-2.0
#include "net/epoll_listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mayfly {
namespace {

// The client has given up while it was in the backlog, or a signal came: the next one may be there.
bool is_passing(int error) {
  return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM;
}

}  // namespace

EpollListener::EpollListener(int epoll, Fd fd, int accepts_max, Accepted accepted,
                             Exhausted exhausted)
    : epoll_(epoll),
      fd_(std::move(fd)),
      accepts_max_(accepts_max),
      accepted_(std::move(accepted)),
      exhausted_(std::move(exhausted)) {
  watch(EPOLL_CTL_ADD, EPOLLIN);
}

EpollListener::~EpollListener() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void EpollListener::ready(std::uint32_t) {
  for (int i = 0; i < accepts_max_ && !stopped_ && !paused_; ++i) {
    Fd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const int error = errno;
    if (client.valid()) {
      accepted_(std::move(client));
    } else if (error == EAGAIN) {
      return;
    } else if (!is_passing(error)) {
      paused_ = true;
      watch(EPOLL_CTL_MOD, 0);
      exhausted_(error);
    }
  }
}

void EpollListener::resume() {
  if (!paused_ || stopped_) return;
  paused_ = false;
  watch(EPOLL_CTL_MOD, EPOLLIN);
}

void EpollListener::stop() {
  stopped_ = true;
  watch(EPOLL_CTL_DEL, 0);
  fd_ = Fd();
}

void EpollListener::watch(int operation, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = static_cast<Watched*>(this);
  (void)::epoll_ctl(epoll_, operation, fd_.get(), &event);
}

EpollConnecting::EpollConnecting(int epoll, Fd fd, Done done)
    : epoll_(epoll), fd_(std::move(fd)), done_(std::move(done)) {
  epoll_event event{};
  event.events = EPOLLOUT;
  event.data.ptr = static_cast<Watched*>(this);
  (void)::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_.get(), &event);
}

void EpollConnecting::ready(std::uint32_t) {
  (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd_.get(), nullptr);
  int error = 0;
  socklen_t size = sizeof error;
  (void)::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return done_(*this, Error{Code::io, errno_text(error)});
  done_(*this, std::move(fd_));
}

}  // namespace mayfly
