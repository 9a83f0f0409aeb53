// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_connection.h"

#include <algorithm>

#include "server/http/http_server.h"
#include "server/login/login_attempts.h"

namespace mayfly {

HttpConnection::HttpConnection(HttpServer& server, Link& link)
    : server_(server), link_(link), network_(network_of(link.address())), since_(server.now()) {}

void HttpConnection::received(InputBuffer& input) {
  while (!input.empty() && !link_.closing() && !waits_for_output_) {
    if (ignored_ > 0) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(ignored_, input.size()));
      input.consume(bytes);
      ignored_ -= bytes;
      continue;
    }
    if (is_idle_) {
      is_idle_ = false;
      has_head_ = false;
      since_ = server_.now();
    }
    const HttpParsed parsed = parser_.parse(input.view());
    if (parsed == HttpParsed::error) {
      return refuse(http_error(parser_.status(), parser_.error()), input);
    }
    if (parsed == HttpParsed::incomplete) {
      if (parser_.wanted() > 0) input.want(parser_.wanted());
      return;
    }
    // The body of what is refused is not kept.
    const HttpRequest& request = parser_.request();
    if (must_wait(request)) return;
    if (const auto refusal = this->refusal(request)) {
      const std::size_t there = std::min(input.size(), parser_.consumed());
      ignored_ = parser_.consumed() - there;
      input.consume(there);
      answer(*refusal, request.is_keep_alive && !asks_probes_only_);
      continue;
    }
    if (parsed == HttpParsed::head) {
      has_head_ = true;
      since_ = server_.now();
      if (request.expects_continue) link_.send("HTTP/1.1 100 Continue\r\n\r\n");
      input.want(parser_.wanted());
      return;
    }
    // A copy, as others may be served while a script of it runs, and the input may move then.
    const std::string body(parser_.body(input.view()));
    input.consume(parser_.consumed());
    const auto before = server_.before_command(request, link_);
    const HttpResponse response = server_.answer(request, body, link_);
    answer(response, request.is_keep_alive);
    if (before) server_.command_answered(link_, *before);
  }
}

// Too many logins from its address have failed. After the wait, the request is read again.
bool HttpConnection::must_wait(const HttpRequest& request) {
  if (may_log_in_ || !server_.is_login(request)) return false;
  may_log_in_ = server_.has_login_token(link_);
  if (may_log_in_) return false;
  login_at_ = server_.now() + LoginAttempts::kDelay;
  parser_.reset();
  link_.pause_reading();
  return true;
}

std::optional<HttpResponse> HttpConnection::refusal(const HttpRequest& request) {
  if (asks_probes_only_ && !HttpServer::is_probe(request)) {
    asks_probes_only_ = !server_.finds_place(*this);
    if (asks_probes_only_) {
      return http_error(503, "too many connections (see http-maxconnections)");
    }
  }
  return server_.refusal(request, link_);
}

void HttpConnection::answer(const HttpResponse& response, bool keeps_alive) {
  server_.answered(response.status);
  response.write(link_.output(), parser_.request().method == "HEAD", keeps_alive);
  parser_.reset();
  may_log_in_ = false;
  since_ = server_.now();
  waits_for_output_ = true;
  if (!keeps_alive) return link_.close_after_flush();
  link_.pause_reading();  // until drained()
}

// After an error in the input there is no way on.
void HttpConnection::refuse(const HttpResponse& response, InputBuffer& input) {
  input.consume(input.size());
  answer(response, false);
}

void HttpConnection::drained() {
  if (!waits_for_output_) return;
  waits_for_output_ = false;
  is_idle_ = true;
  was_answered_ = true;
  since_ = server_.now();
  if (!link_.closing()) link_.resume_reading();
}

void HttpConnection::closed(std::string_view) { server_.remove(*this); }

void HttpConnection::check_time(Time now) {
  if (login_at_ != Time::min()) {
    if (!is_due(login_at_, now)) return;
    login_at_ = Time::min();
    may_log_in_ = true;
    since_ = now;
    return link_.resume_reading();
  }
  if (waits_for_output_) {
    if (link_.sent() != sent_) since_ = now;
    sent_ = link_.sent();
    if (is_due(since_ + kStuckMost, now)) link_.close_now("it does not read its answer");
    return;
  }
  if (is_idle_) {
    if (is_due(since_ + kIdleMost, now)) link_.close_now("idle");
    return;
  }
  if (!is_due(since_ + (has_head_ ? kBodyMost : kHeadMost), now)) return;
  server_.answered(408);
  http_error(408, "the request took too long to arrive").write(link_.output(), false, false);
  since_ = now;
  waits_for_output_ = true;
  link_.close_after_flush();
}

}  // namespace mayfly
