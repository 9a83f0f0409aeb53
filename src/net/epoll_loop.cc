// SPDX-License-Identifier: Apache-2.0
#include "net/epoll_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>
#include <vector>

#include "mayfly/internal/stopwatch.h"
#include "net/epoll_link.h"
#include "net/epoll_listener.h"
#include "net/socket.h"

namespace mayfly {
namespace {

constexpr std::size_t kEventsMax = 512;         // of one wait; the others come with the next
constexpr Millis kAcceptPause{100};             // when the system has no more sockets
constexpr std::size_t kScratchMin = 32 * 1024;  // by InputBuffer
static_assert(kScratchMin >= 2 * InputBuffer::kShortMax);

int to_timeout(Millis wait) {
  if (wait == Loop::kForever) return -1;
  return static_cast<int>(std::clamp<Millis::rep>(wait.count(), 0, INT_MAX));
}

}  // namespace

// Turns a write to an eventfd into the end of a wait.
class EpollWaker final : public Watched {
 public:
  explicit EpollWaker(int epoll) : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = static_cast<Watched*>(this);
    (void)::epoll_ctl(epoll, EPOLL_CTL_ADD, fd_.get(), &event);
  }

  void wake() const {
    const int saved = errno;  // a signal handler must not change it
    const std::uint64_t one = 1;
    (void)!::write(fd_.get(), &one, sizeof one);
    errno = saved;
  }

  void ready(std::uint32_t) override {
    std::uint64_t count = 0;
    (void)!::read(fd_.get(), &count, sizeof count);
    if (call) call();
  }

  std::function<void()> call;

 private:
  Fd fd_;
};

struct EpollLoop::State {
  State(const Clock& the_clock, EpollOptions the_options)
      : clock(the_clock),
        options(std::move(the_options)),
        epoll(::epoll_create1(EPOLL_CLOEXEC)),
        waker(epoll.get()),
        scratch(std::max(options.read_bytes, kScratchMin)) {
    lists.epoll = epoll.get();
    lists.scratch = scratch;
    lists.long_read_bytes = std::max(options.long_read_bytes, scratch.size());
  }

  ~State() {
    stop_listening([](const EpollListener&) { return true; });
    for (const auto& link : links) link->close_now("the server stops");
    reap();
  }

  void listen(Fd fd, const std::string& path, int group, Acceptor acceptor) {
    auto listener = std::make_unique<EpollListener>(
        epoll.get(), std::move(fd), options.accepts_a_turn,
        [this, made = std::move(acceptor)](Fd client) { adopt(std::move(client), made); },
        [this](int error) { pause_accepting(error); });
    listener->own_path(path);
    listener->set_group(group);
    listeners.push_back(std::move(listener));
  }

  template <class Which>
  void stop_listening(const Which& which) {
    for (auto& listener : listeners) {
      if (!which(*listener)) continue;
      listener->stop();
      retired.push_back(std::move(listener));  // it may be the one that is calling us
    }
    std::erase(listeners, nullptr);
  }

  void adopt(Fd fd, const Acceptor& acceptor) {
    auto link = std::make_unique<EpollLink>(lists, std::move(fd));
    auto peer = acceptor(*link);
    if (peer == nullptr) return link->flush();

    complained = false;
    link->index = links.size();
    links.push_back(std::move(link));
    links.back()->begin(std::move(peer));
  }

  void pause_accepting(int error) {
    if (!complained && options.log) {
      options.log(std::string("cannot accept a connection: ").append(errno_text(error)));
    }
    complained = true;
    accepts_again = clock.now() + kAcceptPause;
  }

  void resume_accepting() {
    accepts_again = kNever;
    for (const auto& listener : listeners) listener->resume();
  }

  void connect(Fd fd, Acceptor connected, std::function<void(const Error&)> failed) {
    const auto done = [this, made = std::move(connected), told = std::move(failed)](
                          EpollConnecting& self, Result<Fd> result) {
      const auto place = std::find_if(connecting.begin(), connecting.end(),
                                      [&](const auto& each) { return each.get() == &self; });
      retired.push_back(std::move(*place));
      connecting.erase(place);
      if (!result) return told(result.error());
      adopt(std::move(*result), made);
    };
    connecting.push_back(std::make_unique<EpollConnecting>(epoll.get(), std::move(fd), done));
  }

  void turn(Millis longest) {
    if (turn_begin) turn_begin();
    const int timeout = to_timeout(longest_wait(longest));
    count_busy();
    const int ready =
        ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), timeout);
    busy_since = monotonic_ns();
    if (accepts_again != kNever && is_due(accepts_again, clock.now())) resume_accepting();
    for (const auto& call : std::exchange(failed_connects, {})) call();
    deliver_leftovers();
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      static_cast<Watched*>(event.data.ptr)->ready(event.events);
    }
    sleep = before_sleep ? before_sleep() : kForever;
    finish_touched();
    reap();
    retired.clear();
  }

  // A turn is over, and the wait of the next one begins.
  void count_busy() {
    ++lists.counts.turns;
    if (busy_since != 0) {
      lists.counts.busy_ns += static_cast<std::uint64_t>(monotonic_ns() - busy_since);
    }
  }

  // The turn around it works off its own events, and input that lies in the scratch memory.
  void serve_others() {
    std::array<epoll_event, 64> some;
    std::vector<char> other_scratch(scratch.size());
    const std::span<char> outer = std::exchange(lists.scratch, other_scratch);
    const int ready = ::epoll_wait(epoll.get(), some.data(), static_cast<int>(some.size()), 0);
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = some[static_cast<std::size_t>(i)];
      static_cast<Watched*>(event.data.ptr)->ready(event.events);
    }
    std::vector<EpollLink*> touched;
    touched.swap(lists.touched);
    for (EpollLink* const link : touched) {
      if (link->is_delivering()) {
        lists.touched.push_back(link);  // its peer is in the middle of writing
      } else {
        link->finish_turn();
      }
    }
    reap_others();
    lists.scratch = outer;
  }

  // As reap(); but the turn around it may still refer to the links, and one is in use by it.
  void reap_others() {
    std::vector<EpollLink*> gone;
    gone.swap(lists.gone);
    for (EpollLink* const link : gone) {
      if (link->is_delivering()) {
        lists.gone.push_back(link);
      } else {
        link->finish_close();
        retired.push_back(take(*link));
      }
    }
  }

  Millis longest_wait(Millis longest) const {
    if (!lists.touched.empty() || !lists.leftovers.empty() || !lists.gone.empty() ||
        !failed_connects.empty()) {
      return Millis(0);
    }
    const Millis wait = std::min(longest, sleep);
    return accepts_again == kNever ? wait : std::min(wait, remaining(accepts_again, clock.now()));
  }

  void deliver_leftovers() {
    batch.swap(lists.leftovers);
    for (EpollLink* link : batch) link->deliver();
    batch.clear();
  }

  void finish_touched() {
    batch.swap(lists.touched);
    for (EpollLink* link : batch) link->finish_turn();
    batch.clear();
  }

  std::unique_ptr<EpollLink> take(EpollLink& link) {
    const std::size_t hole = link.index;
    links.back()->index = hole;
    std::swap(links[hole], links.back());
    std::unique_ptr<EpollLink> taken = std::move(links.back());
    links.pop_back();
    return taken;
  }

  void reap() {
    if (lists.gone.empty()) return;
    while (!lists.gone.empty()) {
      batch.swap(lists.gone);
      for (EpollLink* link : batch) {
        link->finish_close();
        take(*link);
      }
      batch.clear();
    }
    resume_accepting();
  }

  const Clock& clock;
  const EpollOptions options;
  const Fd epoll;
  EpollWaker waker;
  std::vector<char> scratch;
  LinkLists lists;
  std::vector<EpollLink*> batch;  // of one of these lists, while it is worked off
  Time accepts_again = kNever;    // after a failure to accept
  std::vector<std::function<void()>> failed_connects;  // called in the next turn
  std::array<epoll_event, kEventsMax> events;
  std::vector<std::unique_ptr<EpollLink>> links;  // links[i]->index == i
  std::vector<std::unique_ptr<EpollListener>> listeners;
  std::vector<std::unique_ptr<EpollConnecting>> connecting;
  std::vector<std::unique_ptr<Watched>> retired;  // destroyed when the turn ends
  std::function<void()> turn_begin;
  std::function<Millis()> before_sleep;
  std::int64_t busy_since = 0;  // the end of the last wait; 0: no wait yet
  Millis sleep{0};              // the result of before_sleep
  bool complained = false;      // in the log, since the last connection was accepted
  std::atomic<bool> stopped = false;
};

EpollLoop::EpollLoop(const Clock& clock, EpollOptions options)
    : state_(std::make_unique<State>(clock, std::move(options))) {}

EpollLoop::~EpollLoop() = default;

Result<int> EpollLoop::listen_tcp(std::string_view host, int port, const ListenOptions& options,
                                  Acceptor acceptor) {
  Result<Fd> fd = listen_at_tcp(host, port, options);
  if (!fd) return fd.error();
  const int bound = local_end(fd->get()).port;
  state_->listen(std::move(*fd), "", options.group, std::move(acceptor));
  return bound;
}

Status EpollLoop::listen_unix(const std::string& path, const ListenOptions& options,
                              Acceptor acceptor) {
  Result<Fd> fd = listen_at_unix(path, options);
  if (!fd) return fd.error();
  state_->listen(std::move(*fd), path, options.group, std::move(acceptor));
  return Done{};
}

void EpollLoop::stop_listening() {
  state_->stop_listening([](const EpollListener&) { return true; });
}

void EpollLoop::stop_listening_tcp(int group) {
  state_->stop_listening(
      [&](const EpollListener& each) { return each.is_tcp() && each.group() == group; });
}

void EpollLoop::connect(std::string_view host, int port, Acceptor connected,
                        std::function<void(const Error&)> failed) {
  Result<Fd> fd = begin_connect(host, port);
  if (fd) return state_->connect(std::move(*fd), std::move(connected), std::move(failed));
  state_->failed_connects.push_back([failed, error = fd.error()] { failed(error); });
}

void EpollLoop::on_turn_begin(std::function<void()> call) { state_->turn_begin = std::move(call); }

void EpollLoop::before_sleep(std::function<Millis()> call) {
  state_->before_sleep = std::move(call);
}

void EpollLoop::on_wake(std::function<void()> call) { state_->waker.call = std::move(call); }

void EpollLoop::run() {
  while (!state_->stopped.exchange(false)) state_->turn(kForever);
}

void EpollLoop::run_once(Millis longest) { state_->turn(longest); }

void EpollLoop::serve_others() { state_->serve_others(); }

void EpollLoop::stop() {
  state_->stopped = true;
  wake();
}

void EpollLoop::wake() { state_->waker.wake(); }

const LoopCounts& EpollLoop::counts() const { return state_->lists.counts; }

std::size_t EpollLoop::connections() const { return state_->links.size(); }

}  // namespace mayfly
