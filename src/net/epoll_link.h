// SPDX-License-Identifier: Apache-2.0
// EpollLink: a connection of an EpollLoop.
//
// A link never calls its peer by itself, nor does it ask the kernel more than it must: it notes in
// LinkLists what is to be done, and the loop does it when the turn ends. Reading, writing and the
// peer's functions are called by the loop only.
//
//   output()         noted in touched: finish_turn() writes, and says drained()
//   pause, resume    noted in touched: finish_turn() tells epoll, if anything is different by then
//   resume           noted in leftovers too, if there is input: received() in the next turn
//   close_now        noted in gone: closed() and the end when the turn ends

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/input_buffer.h"
#include "net/socket.h"
#include "net/transport.h"

namespace mayfly {

class EpollLink;

// What epoll points to.
class Watched {
 public:
  virtual ~Watched() = default;
  virtual void ready(std::uint32_t events) = 0;
};

// What the links of a loop share.
struct LinkLists {
  int epoll = -1;
  std::span<char> scratch;
  std::size_t long_read_bytes = 0;
  std::vector<EpollLink*> touched;
  std::vector<EpollLink*> leftovers;
  std::vector<EpollLink*> gone;
  LoopCounts counts;
};

class EpollLink final : public Link, public Watched {
 public:
  EpollLink(LinkLists& lists, Fd fd);
  ~EpollLink() override;

  std::string& output() override;
  void flush() override;
  std::size_t pending() const override { return output_.size() - sent_; }
  std::uint64_t sent() const override { return sent_ever_; }
  std::size_t output_capacity() const override { return output_.capacity(); }
  std::size_t memory() const override {
    return sizeof(EpollLink) + remote_.text.capacity() + local_.capacity();
  }
  void close_after_flush() override;
  void close_now(std::string_view why) override;
  bool closing() const override { return closing_ || gone_; }
  void hold_output(std::uint64_t position) override;
  void pause_reading() override;
  void resume_reading() override;
  void watch_for_close() override;
  bool paused() const override { return paused_; }
  const InputBuffer& input() const override { return input_; }
  const std::string& address() const override { return remote_.text; }
  const std::string& local_address() const override { return local_; }
  bool is_unix() const override { return remote_.is_unix; }
  bool is_loopback() const override { return remote_.is_loopback; }
  int fd() const override { return fd_.get(); }

  // For the loop.

  // Begins: `peer` will be called from now on.
  void begin(std::unique_ptr<Peer> peer);
  void ready(std::uint32_t events) override;
  void deliver();  // the input that is there, to the peer
  bool is_delivering() const { return delivering_; }
  void finish_turn();     // for a link in touched, which the loop has cleared
  void finish_close();    // calls closed(); the loop destroys the link next
  std::size_t index = 0;  // in the loop's list of links

 private:
  bool reading() const { return !paused_ && !closing(); }
  void read();
  void touch();
  void watch();
  std::size_t sendable() const;  // of pending()

  LinkLists& lists_;
  Fd fd_;
  SocketEnd remote_;
  std::string local_;
  std::unique_ptr<Peer> peer_;
  InputBuffer input_;
  std::string output_;
  std::size_t sent_ = 0;  // bytes of output_ that the kernel has taken
  std::uint64_t sent_ever_ = 0;
  std::uint64_t hold_ = kNoHold;
  std::string why_;  // the connection is gone

  bool added_ = false;         // to epoll
  std::uint32_t watched_ = 0;  // the events that epoll watches
  bool paused_ = false;
  bool watches_close_ = false;  // while paused
  bool closing_ = false;        // once all output is written
  bool gone_ = false;           // in lists_.gone
  bool touched_ = false;        // in lists_.touched
  bool delivering_ = false;     // received() is running
  bool left_over_ = false;      // in lists_.leftovers
  bool undrained_ = false;      // drained() was not called yet
};

}  // namespace mayfly
