// SPDX-License-Identifier: Apache-2.0
// EtcdCalls: questions to etcd. Each is asked at one endpoint after the other until one answers or
// the time is over, with the user's token where etcd wants one.
//
//   calls.call(kRangePath, range_request(prefix), [&](const EtcdReply& reply) { ... });
//
// Answers of another etcd than the trusted one are errors, and nothing is asked of it but reads.
//
// It begins at the endpoint that answered last. An attempt that gets no answer in 500 ms is given
// up, as etcd loses what reaches it while it has no leader.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/plan/register_trust.h"
#include "etcd/etcd_meter.h"
#include "etcd/etcd_options.h"
#include "etcd/gateway/gateway_error.h"
#include "etcd/http/http_loop.h"

namespace mayfly {

struct EtcdReply {
  Result<std::string> body;
  // An attempt before this answer may have been carried out, or may be carried out later.
  bool was_repeated = false;
};

class EtcdCalls {
 public:
  using OnReply = std::function<void(const EtcdReply&)>;
  using OnSilence = std::function<void(std::size_t endpoint)>;

  // All of them must outlive it. `options` were checked.
  EtcdCalls(HttpLoop& loop, const EtcdOptions& options, EtcdMeter& meter);

  // Calls back once, from within the loop. With Pace::slow an attempt may take twice as long: for
  // what is not urgent, and for what was tried in vain, since etcd itself may be slow.
  enum class Pace { normal = 1, slow = 2 };
  void call(std::string_view path, std::string body, OnReply on_reply, Pace pace = Pace::normal);

  // Is called when a connection to an endpoint breaks or an answer does not come in time.
  void on_silence(OnSilence tell) { tell_silence_ = std::move(tell); }

  void trust(const RegisterPoint& point);
  void distrust(std::string why);
  // Whether the line of a watch is of the trusted register, as far as a line shows.
  bool takes_line(const RegisterPoint& point);

  // For requests that are not calls: which endpoint to ask first, and what to send along.
  std::size_t endpoint() const { return endpoint_; }
  const std::string& url(std::size_t endpoint) const { return options_.endpoints[endpoint]; }
  void skip(std::size_t endpoint);  // ask another one first, if this is the one
  std::vector<std::string> headers() const;
  void drop_token() { token_.clear(); }

 private:
  using Id = std::uint64_t;
  struct Call {
    std::string_view path;
    std::string body;
    OnReply on_reply;
    Millis timeout{0};  // of an attempt
    std::size_t endpoint = 0;
    std::size_t tried = 0;        // endpoints in this round
    std::size_t unreachable = 0;  // of the last attempts, how many reached nobody
    int tokens = 0;               // that etcd did not take
    bool was_repeated = false;
    std::uint64_t floor = 0;  // of the versions of its answer
    Time give_up{};
    std::int64_t begun_ns = 0;
  };

  void attempt(Id id);
  void on_attempt(Id id, const HttpReply& reply, const std::string& token);
  Status check_register(const Call& call, std::string_view body);
  void next(Id id, const Error& error);
  void finish(Id id, Result<std::string> body);
  void authenticate(std::size_t endpoint);
  void on_authenticated(std::size_t endpoint, const HttpReply& reply);

  HttpLoop& loop_;
  const EtcdOptions& options_;
  EtcdMeter& meter_;
  OnSilence tell_silence_;
  RegisterTrust trust_;
  std::size_t endpoint_ = 0;
  Id last_id_ = 0;
  std::map<Id, Call> calls_;

  std::string token_;
  bool wants_token_ = false;
  bool is_authenticating_ = false;
  std::vector<Id> waiting_;  // for a token
};

}  // namespace mayfly
