// SPDX-License-Identifier: Apache-2.0
#include "net/epoll_link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

namespace mayfly {
namespace {

constexpr std::size_t kOutputKept = 16 * 1024;  // memory that an idle connection keeps for output
constexpr int kDrainReadsMax = 16;

}  // namespace

EpollLink::EpollLink(LinkLists& lists, Fd fd)
    : lists_(lists),
      fd_(std::move(fd)),
      remote_(remote_end(fd_.get())),
      local_(local_end(fd_.get()).text) {
  // The other end of a unix socket has no name; ours says which one it is.
  if (remote_.is_unix) remote_.text = local_;
}

EpollLink::~EpollLink() {
  if (gone_) std::erase(lists_.gone, this);
  if (touched_) std::erase(lists_.touched, this);
  if (left_over_) std::erase(lists_.leftovers, this);
}

void EpollLink::begin(std::unique_ptr<Peer> peer) {
  peer_ = std::move(peer);
  watch();
}

std::string& EpollLink::output() {
  undrained_ = true;
  touch();
  return output_;
}

void EpollLink::hold_output(std::uint64_t position) {
  hold_ = position;
  touch();
}

std::size_t EpollLink::sendable() const {
  if (hold_ == kNoHold) return pending();
  const std::uint64_t before_hold = hold_ - std::min(hold_, sent_ever_);
  return static_cast<std::size_t>(std::min<std::uint64_t>(pending(), before_hold));
}

void EpollLink::flush() {
  const std::size_t size = sendable();
  if (gone_ || size == 0) return;
  const ssize_t taken =
      ::send(fd_.get(), output_.data() + sent_, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  ++lists_.counts.writes;
  if (taken < 0) {
    if (errno != EAGAIN && errno != EINTR) close_now(errno_text(errno));
    return;
  }
  sent_ += static_cast<std::size_t>(taken);
  sent_ever_ += static_cast<std::size_t>(taken);
  if (sent_ == output_.size()) {
    sent_ = 0;
    output_.clear();
    if (output_.capacity() > kOutputKept) std::string().swap(output_);
  } else if (sent_ >= output_.size() / 2) {
    output_.erase(0, sent_);
    sent_ = 0;
  }
}

void EpollLink::close_after_flush() {
  closing_ = true;
  touch();
}

void EpollLink::close_now(std::string_view why) {
  if (gone_) return;
  gone_ = true;
  why_ = why;
  if (!delivering_) {  // else the peer is reading it; freed now, as many may be closed in a turn
    input_.consume(input_.size());
    input_.keep_rest();
  }
  lists_.gone.push_back(this);
}

void EpollLink::pause_reading() {
  paused_ = true;
  touch();
}

void EpollLink::resume_reading() {
  paused_ = false;
  watches_close_ = false;
  touch();
  if (gone_ || left_over_ || input_.empty()) return;
  left_over_ = true;
  lists_.leftovers.push_back(this);
}

void EpollLink::watch_for_close() {
  watches_close_ = true;
  touch();
}

void EpollLink::touch() {
  if (touched_ || gone_) return;
  touched_ = true;
  lists_.touched.push_back(this);
}

void EpollLink::ready(std::uint32_t events) {
  if (gone_) return;
  if ((events & EPOLLOUT) != 0) touch();
  if (reading()) {
    if (left_over_) return;  // the peer has not consumed all input yet
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
  } else if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
    close_now("the other side closed the connection");
  }
}

void EpollLink::read() {
  std::span<char> room = input_.room(lists_.scratch);
  room = room.first(std::min(room.size(), lists_.long_read_bytes));
  const ssize_t bytes = ::recv(fd_.get(), room.data(), room.size(), 0);
  ++lists_.counts.reads;
  if (bytes > 0) {
    input_.added(static_cast<std::size_t>(bytes));
    deliver();
    return;
  }
  const int error = errno;
  input_.keep_rest();
  if (bytes < 0 && (error == EAGAIN || error == EINTR)) return;
  if (bytes < 0) {
    close_now(errno_text(error));
  } else if (pending() > 0) {
    close_after_flush();  // the other side may have closed its half only
  } else {
    close_now("the other side closed the connection");
  }
}

void EpollLink::deliver() {
  left_over_ = false;
  delivering_ = true;
  if (reading() && !input_.empty()) peer_->received(input_);
  delivering_ = false;
  input_.keep_rest();
}

void EpollLink::finish_turn() {
  touched_ = false;
  flush();
  if (gone_) return;

  if (pending() == 0 && undrained_) {
    undrained_ = false;
    peer_->drained();
    if (gone_) return;
  }
  if (pending() == 0 && closing_) {
    // Closing while there is input would make the kernel throw away what the other side has not
    // read yet.
    ::shutdown(fd_.get(), SHUT_WR);
    for (int i = 0; i < kDrainReadsMax; ++i) {
      if (::recv(fd_.get(), lists_.scratch.data(), lists_.scratch.size(), MSG_DONTWAIT) <= 0) break;
    }
    return close_now("closed by us");
  }
  watch();
}

void EpollLink::watch() {
  const std::uint32_t in = reading() ? EPOLLIN : 0u;
  const std::uint32_t out = sendable() > 0 && !touched_ ? EPOLLOUT : 0u;  // touched: tried anyway
  const std::uint32_t end = paused_ && watches_close_ && !closing() ? EPOLLRDHUP : 0u;
  const std::uint32_t wanted = in | out | end;
  epoll_event event{};
  event.events = wanted;
  event.data.ptr = static_cast<Watched*>(this);
  if (!added_) {
    added_ = ::epoll_ctl(lists_.epoll, EPOLL_CTL_ADD, fd_.get(), &event) == 0;
    if (!added_) close_now(errno_text(errno));
  } else if (wanted != watched_) {
    ::epoll_ctl(lists_.epoll, EPOLL_CTL_MOD, fd_.get(), &event);
  }
  watched_ = wanted;
}

void EpollLink::finish_close() {
  assert(gone_);
  // A child of this process may still have the socket. Then closing it here would end neither the
  // connection nor what epoll knows of it.
  if (added_) ::epoll_ctl(lists_.epoll, EPOLL_CTL_DEL, fd_.get(), nullptr);
  ::shutdown(fd_.get(), SHUT_RDWR);
  peer_->closed(why_);
  peer_.reset();
}

}  // namespace mayfly
