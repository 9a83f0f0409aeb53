// SPDX-License-Identifier: Apache-2.0
// HttpLoop: HTTP requests and timers of one thread, by libcurl's multi interface.
//
//   HttpLoop loop(curl, {});
//   loop.post({.url = "http://127.0.0.1:2379/v3/kv/range", .body = "{}"},
//             [&](HttpReply reply) { ... });
//   while (!done) loop.run_once();
//
// Connections are kept and used again. A request is sent once only: libcurl's own repetition on a
// kept connection that breaks is turned off, because only the caller knows what a repetition means.
//
// Threads: one, but for wake(). Callbacks are called from within run_once(); they may start and
// cancel anything.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/http/curl_library.h"
#include "mayfly/clock.h"
#include "mayfly/time.h"

namespace mayfly {

struct HttpTls {
  std::string ca;
  std::string cert;
  std::string key;
};

struct HttpCall {
  std::string url;
  std::string body = {};
  std::vector<std::string> headers = {};                    // "Name: value"
  Millis timeout{0};                                        // 0: none
  Millis connect_timeout{0};                                // 0: as `timeout` says
  std::function<void(std::string_view)> on_data = nullptr;  // null: the body comes with the reply
};

struct HttpReply {
  enum class Outcome {
    answered,  // `status` and `body` are there
    not_sent,  // nothing has reached the server
    lost,      // the server may have got it
  };

  Outcome outcome = Outcome::lost;
  long status = 0;
  std::string body;
  std::string error;  // unless answered: "connection refused"
};

class HttpLoop {
 public:
  using OnReply = std::function<void(HttpReply)>;
  using Id = std::uint64_t;  // 0 is none

  // `curl` must outlive the loop.
  HttpLoop(const CurlLibrary& curl, HttpTls tls);
  ~HttpLoop();

  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  Id post(HttpCall request, OnReply on_reply);
  Id after(Millis delay, std::function<void()> act);

  // Ends a request or a timer without calling back. One that has ended, or 0, does nothing.
  void cancel(Id id);
  void cancel_all();

  // Waits until something happens, calls back for all that has happened, and returns.
  void run_once();

  // Ends the wait of run_once(), or the next one. Any thread may call this.
  void wake();

  Time now() const { return clock_.now(); }

 private:
  struct Transfer;
  struct Timer {
    Time deadline;
    std::function<void()> act;
  };

  void set_options(Transfer& transfer);
  void run_timers();
  void hand_out_data();
  void hand_out_replies();
  HttpReply reply_of(Transfer& transfer, CURLcode code);
  std::string error_of(Transfer& transfer, CURLcode code);
  int wait_ms() const;

  const CurlLibrary& curl_;
  const HttpTls tls_;
  SteadyClock clock_;
  CURLM* const multi_;
  Id last_id_ = 0;
  std::map<Id, std::unique_ptr<Transfer>> transfers_;
  std::map<Id, Timer> timers_;
};

}  // namespace mayfly
