// SPDX-License-Identifier: Apache-2.0
// Connections by completion: the loop delivers bytes that were received, and takes bytes to send.
// The implementation (epoll_loop.h) can be replaced.
//
//   class Echo : public Peer {
//    public:
//     explicit Echo(Link& link) : link_(link) {}
//     void received(InputBuffer& input) override {
//       link_.send(input.view());
//       input.consume(input.size());
//     }
//     void closed(std::string_view) override {}
//    private:
//     Link& link_;
//   };
//   EpollLoop loop(clock);
//   auto port = loop.listen_tcp("127.0.0.1", 0, {}, [](Link& link) {
//     return std::make_unique<Echo>(link);
//   });
//   loop.run();
//
// A turn of the loop: on_turn_begin, the wait, new connections and the bytes that have
// come, before_sleep, then all outputs are written, and at last closed() for those that are gone.
// So each connection costs one read and one write a turn, however many requests it sent, and what
// before_sleep does (write a log, say) is done before any reply is on its way. What on_turn_begin
// does keeps no reply waiting, and what arrives meanwhile is read right after it.
//
// Threads: everything happens in the thread that runs the loop, and must be called there. Only
// wake() and stop() may be called from other threads and from signal handlers.
//
// Calls back: a peer may call anything of its own link or of others, from any of its functions;
// no peer is called back from within such a call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"
#include "net/input_buffer.h"

namespace mayfly {

// A connection as its peer sees it. It lives until closed() has returned.
class Link {
 public:
  virtual ~Link() = default;

  // Where to append what shall be sent: it is written when the turn ends. Call it again in each
  // call from the loop, since the call marks the link as one with output. After
  // close_now() and in closed() it goes nowhere. What is in it may already have been sent in part:
  // append only.
  virtual std::string& output() = 0;
  void send(std::string_view bytes) { output().append(bytes); }

  // Hands the output to the kernel now, as much as it takes.
  virtual void flush() = 0;

  // Sends nothing from this byte of the output on, counted from the first that was ever sent, until
  // it is called again. Both closing functions work as ever: a link that closes after all output
  // has been sent waits for the end of the hold.
  static constexpr std::uint64_t kNoHold = UINT64_MAX;
  virtual void hold_output(std::uint64_t position) = 0;

  // How many bytes the kernel has not taken yet. If it only grows, the other side does not read.
  virtual std::size_t pending() const = 0;

  // How many it has taken, ever.
  virtual std::uint64_t sent() const = 0;

  // Memory that the connection holds for output, sent or not.
  virtual std::size_t output_capacity() const = 0;

  // Memory of the connection itself, without its input and output.
  virtual std::size_t memory() const { return 0; }

  // Reads no more, and closes when all output has been taken by the kernel.
  virtual void close_after_flush() = 0;

  // Closes without writing any more. closed(why) follows before the turn ends.
  virtual void close_now(std::string_view why) = 0;
  virtual bool closing() const = 0;  // by either

  // While paused nothing is received, and what was left in the input stays there. After resuming,
  // received() is called in the next turn if there is input, new or left over; so a peer that has
  // done enough for now can pause and resume at once. What is left over comes before anything new
  // is read, so that it does not pile up.
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;
  virtual bool paused() const = 0;

  // While paused, closes as soon as the other side has finished sending: nobody waits for an answer
  // any more. Otherwise that is noticed after resuming, behind all that came before it.
  virtual void watch_for_close() = 0;

  virtual const InputBuffer& input() const = 0;          // for statistics
  virtual const std::string& address() const = 0;        // "127.0.0.1:1234", "[::1]:1234", "path:0"
  virtual const std::string& local_address() const = 0;  // the same of our end
  virtual bool is_unix() const = 0;
  virtual bool is_loopback() const = 0;  // from this machine, by unix socket or 127.0.0.0/8 or ::1
  virtual int fd() const = 0;
};

// Who is at our end of a connection. Destroyed right after closed().
class Peer {
 public:
  virtual ~Peer() = default;

  // Bytes have come. The peer consumes from the front what it understands and leaves the rest. The
  // bytes it leaves may be elsewhere at the next call.
  virtual void received(InputBuffer& input) = 0;

  // All output has been taken by the kernel.
  virtual void drained() {}

  // The connection is gone, by whichever side; the last call.
  virtual void closed(std::string_view why) = 0;
};

// Makes the peer of a new connection, which keeps the link. Null refuses the connection: what has
// been sent to the link is tried once, then it is closed.
using Acceptor = std::function<std::unique_ptr<Peer>(Link&)>;

struct ListenOptions {
  int backlog = 511;
  int keepalive_seconds = 300;  // between probes of a silent TCP connection; 0: none
  unsigned permissions = 0;     // of a unix socket, such as 0700; 0: by the umask
  int group = 0;                // listeners that are stopped together
};

// What a loop has done since it was made.
struct LoopCounts {
  std::uint64_t turns = 0;
  std::uint64_t busy_ns = 0;  // not waiting
  std::uint64_t reads = 0;    // of connections
  std::uint64_t writes = 0;
};

class Loop {
 public:
  static constexpr Millis kForever = Millis::max();

  virtual ~Loop() = default;

  // Accepts connections at `host` (a name, an address, "*" for all of IPv4, "::*" or "::" for all
  // of IPv6) and `port`; 0 is any. Returns the port. Hosts with several addresses use the first.
  virtual Result<int> listen_tcp(std::string_view host, int port, const ListenOptions& options,
                                 Acceptor acceptor) = 0;

  // Accepts connections at a unix socket. A file that a dead server left there is replaced; our own
  // is removed when the loop is destroyed.
  virtual Status listen_unix(const std::string& path, const ListenOptions& options,
                             Acceptor acceptor) = 0;

  // Accepts no more, anywhere. Connections stay.
  virtual void stop_listening() = 0;

  // Connects to a numeric address without blocking: `connected` makes the peer, once there is a
  // connection; otherwise `failed` gets the reason. One of them is called, in a later turn.
  virtual void connect(std::string_view host, int port, Acceptor connected,
                       std::function<void(const Error&)> failed) = 0;

  // Called in each turn right before the wait, when all outputs have been written: the place for
  // work that can wait, a slice at a time.
  virtual void on_turn_begin(std::function<void()> call) = 0;

  // Called in each turn before outputs are written. It returns how long the next turn may wait:
  // zero or less for not at all, kForever until something happens. The first turn does not wait.
  virtual void before_sleep(std::function<Millis()> call) = 0;

  // Called in the loop's thread after wake().
  virtual void on_wake(std::function<void()> call) = 0;

  // Runs turns until stop(). What has been sent by then is still tried once.
  virtual void run() = 0;

  // One turn that sleeps for `longest` at most.
  virtual void run_once(Millis longest) = 0;

  // Both may be called from any thread and from a signal handler.
  virtual void stop() = 0;
  virtual void wake() = 0;  // ends the present or the next sleep

  virtual std::size_t connections() const = 0;
};

}  // namespace mayfly
