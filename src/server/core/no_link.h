// SPDX-License-Identifier: Apache-2.0
// NoLink: a connection without another end, for clients that are not connected: the one that
// replays an append-only file, and the one that runs the commands of scripts.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "net/transport.h"

namespace mayfly {

class NoLink final : public Link {
 public:
  explicit NoLink(std::string address = "nowhere:0") : address_(std::move(address)) {}

  std::string& output() override { return output_; }
  void hold_output(std::uint64_t) override {}  // what is in it is not sent anywhere
  void flush() override {}
  std::size_t pending() const override { return output_.size(); }
  std::uint64_t sent() const override { return 0; }
  std::size_t output_capacity() const override { return output_.capacity(); }
  void close_after_flush() override {}
  void close_now(std::string_view) override {}
  bool closing() const override { return false; }
  void pause_reading() override {}
  void resume_reading() override {}
  bool paused() const override { return false; }
  void watch_for_close() override {}
  const InputBuffer& input() const override { return input_; }
  const std::string& address() const override { return address_; }
  const std::string& local_address() const override { return address_; }
  bool is_unix() const override { return false; }
  bool is_loopback() const override { return true; }
  int fd() const override { return -1; }

 private:
  InputBuffer input_;
  std::string output_;
  const std::string address_;
};

}  // namespace mayfly
