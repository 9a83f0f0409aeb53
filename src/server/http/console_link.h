// SPDX-License-Identifier: Apache-2.0
// ConsoleLink: the connection of a client that runs commands of the console. Its output stays here,
// to be read as JSON. Everything else is that of the connection of HTTP.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/transport.h"

namespace mayfly {

class ConsoleLink final : public Link {
 public:
  explicit ConsoleLink(Link& http) : http_(http) {}

  std::string& output() override { return output_; }
  void hold_output(std::uint64_t) override {}  // what is in it is not sent anywhere
  void flush() override {}
  std::size_t pending() const override { return output_.size(); }
  std::uint64_t sent() const override { return 0; }
  std::size_t output_capacity() const override { return output_.capacity(); }
  void close_after_flush() override { is_closing_ = true; }
  void close_now(std::string_view) override { is_closing_ = true; }
  bool closing() const override { return is_closing_; }
  // Nothing may be read meanwhile: of a client that waits, or whose script runs for long.
  void pause_reading() override { http_.pause_reading(); }
  void resume_reading() override { http_.resume_reading(); }
  bool paused() const override { return http_.paused(); }
  void watch_for_close() override {}
  const InputBuffer& input() const override { return input_; }
  const std::string& address() const override { return http_.address(); }
  const std::string& local_address() const override { return http_.local_address(); }
  bool is_unix() const override { return false; }
  bool is_loopback() const override { return http_.is_loopback(); }
  int fd() const override { return http_.fd(); }

 private:
  Link& http_;
  InputBuffer input_;
  std::string output_;
  bool is_closing_ = false;
};

}  // namespace mayfly
