// SPDX-License-Identifier: Apache-2.0
// HttpConnection: a connection that speaks HTTP. One request at a time: the next one is read when
// the answer has been taken by the other side, so that at most one answer waits in memory.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mayfly/time.h"
#include "net/http/http_request.h"
#include "net/transport.h"

namespace mayfly {

class HttpServer;
struct HttpResponse;

class HttpConnection final : public Peer {
 public:
  static constexpr Millis kIdleMost = std::chrono::seconds(60);  // between requests
  static constexpr Millis kRequestMost =
      std::chrono::seconds(20);                                   // from its first to its last byte
  static constexpr Millis kStuckMost = std::chrono::seconds(30);  // without taking any output

  HttpConnection(HttpServer& server, Link& link);

  void received(InputBuffer& input) override;
  void drained() override;
  void closed(std::string_view why) override;

  Link& link() { return link_; }
  bool is_idle() const { return is_idle_; }  // no request has begun, and no answer waits
  Time idle_since() const { return since_; }

  // Closes it if it takes too long.
  void check_time(Time now);

 private:
  void answer(const HttpResponse& response, bool keeps_alive);
  void refuse(const HttpResponse& response, InputBuffer& input);

  HttpServer& server_;
  Link& link_;
  HttpRequestParser parser_;
  bool is_idle_ = true;
  bool waits_for_output_ = false;
  std::uint64_t ignored_ = 0;  // bytes to come, of the body of a refused request
  std::uint64_t sent_ = 0;     // when it was checked last
  Time since_{};               // it idles, its request began, or output was taken
};

}  // namespace mayfly
