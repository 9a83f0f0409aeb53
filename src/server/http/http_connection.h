// SPDX-License-Identifier: Apache-2.0
// HttpConnection: a connection that speaks HTTP. One request at a time: the next one is read when
// the answer has been taken by the other side, so that at most one answer waits in memory.

#pragma once

#include <cstdint>
#include <optional>
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
  static constexpr Millis kIdleMost = std::chrono::seconds(60);   // between requests
  static constexpr Millis kHeadMost = std::chrono::seconds(5);    // of a request
  static constexpr Millis kBodyMost = std::chrono::seconds(20);   // behind the head
  static constexpr Millis kStuckMost = std::chrono::seconds(30);  // without taking any output

  HttpConnection(HttpServer& server, Link& link);

  void received(InputBuffer& input) override;
  void drained() override;
  void closed(std::string_view why) override;

  Link& link() { return link_; }
  const Link& link() const { return link_; }
  const std::string& network() const { return network_; }  // login_attempts.h
  bool is_idle() const { return is_idle_; }                // no request has begun
  bool is_kept_alive() const { return is_idle_ && was_answered_; }
  bool waits_for_output() const { return waits_for_output_; }  // its answer has not been taken
  Time since() const { return since_; }                        // when that began

  // It has a place that is kept for probes.
  bool asks_probes_only() const { return asks_probes_only_; }
  void ask_probes_only(bool does) { asks_probes_only_ = does; }

  // Closes it if it takes too long.
  void check_time(Time now);

 private:
  bool must_wait(const HttpRequest& request);
  std::optional<HttpResponse> refusal(const HttpRequest& request);
  void answer(const HttpResponse& response, bool keeps_alive);
  void refuse(const HttpResponse& response, InputBuffer& input);

  HttpServer& server_;
  Link& link_;
  const std::string network_;
  HttpRequestParser parser_;
  bool asks_probes_only_ = false;
  bool has_head_ = false;        // of the request under way
  bool may_log_in_ = false;      // its password may be looked at
  Time login_at_ = Time::min();  // it waits until then before that
  bool is_idle_ = true;
  bool was_answered_ = false;  // at least once
  bool waits_for_output_ = false;
  std::uint64_t ignored_ = 0;  // bytes to come, of the body of a refused request
  std::uint64_t sent_ = 0;     // when it was checked last
  Time since_{};               // it idles, its request began, or output was taken
};

}  // namespace mayfly
