// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_calls.h"

#include <algorithm>
#include <utility>

#include "etcd/gateway/replies.h"
#include "etcd/gateway/requests.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

constexpr int kTokensMax = 2;  // for one question
// etcd checks a password by bcrypt, which is slow on purpose.
constexpr int kAuthenticateTimeouts = 4;

}  // namespace

EtcdCalls::EtcdCalls(HttpLoop& loop, const EtcdOptions& options, EtcdMeter& meter)
    : loop_(loop), options_(options), meter_(meter), wants_token_(!options.user.empty()) {}

void EtcdCalls::call(std::string_view path, std::string body, OnReply on_reply, Pace pace) {
  const Id id = ++last_id_;
  Call& call = calls_[id];
  call.path = path;
  call.body = std::move(body);
  call.on_reply = std::move(on_reply);
  call.timeout = options_.call_timeout * static_cast<int>(pace);
  call.endpoint = endpoint_;
  call.give_up = deadline_after(loop_.now(), options_.give_up_after);
  call.begun_ns = monotonic_ns();
  call.floor = trust_.floor();
  // It may be an older state of the right register, in which a change could be carried out.
  if (!trust_.problem().empty() && path != kRangePath) {
    loop_.after(options_.retry_pause, [this, id] {
      finish(id, Error{Code::io, trust_.problem()});
    });
    return;
  }
  attempt(id);
}

void EtcdCalls::trust(const RegisterPoint& point) {
  trust_.trust(point);
  meter_.set_refused(trust_.problem(), trust_.is_final());
}

void EtcdCalls::distrust(std::string why) {
  trust_.distrust(std::move(why));
  meter_.set_refused(trust_.problem(), trust_.is_final());
}

bool EtcdCalls::takes_line(const RegisterPoint& point) {
  const bool takes = trust_.check({point.id, 0}, 0).ok() && trust_.problem().empty();
  if (takes) trust_.saw(point.version);
  meter_.set_refused(trust_.problem(), trust_.is_final());
  return takes;
}

// Reads and transactions have the version of the moment. Other answers may have a version
// that their member had some time ago.
Status EtcdCalls::check_register(const Call& call, std::string_view body) {
  RegisterPoint point = parse_reply_header(body);
  const bool is_ordered = call.path == kRangePath || call.path == kTxnPath;
  if (!is_ordered) point.version = 0;
  Status status = trust_.check(point, call.floor);
  meter_.set_refused(trust_.problem(), trust_.is_final());
  return status;
}

void EtcdCalls::skip(std::size_t endpoint) {
  if (endpoint_ == endpoint) endpoint_ = (endpoint + 1) % options_.endpoints.size();
}

std::vector<std::string> EtcdCalls::headers() const {
  if (token_.empty()) return {};
  return {"Authorization: " + token_};
}

void EtcdCalls::attempt(Id id) {
  Call& call = calls_.at(id);
  if (wants_token_ && token_.empty()) {
    waiting_.push_back(id);
    if (!is_authenticating_) authenticate(call.endpoint);
    return;
  }
  // The last attempt may take a little longer: one of some milliseconds would tell nothing.
  const Millis left = std::max(remaining(call.give_up, loop_.now()), call.timeout / 2);
  HttpCall request{.url = std::string(url(call.endpoint)).append(call.path),
                   .body = call.body,
                   .headers = headers(),
                   .timeout = std::min(call.timeout, left)};
  loop_.post(std::move(request),
             [this, id, token = token_](const HttpReply& reply) { on_attempt(id, reply, token); });
}

void EtcdCalls::on_attempt(Id id, const HttpReply& reply, const std::string& token) {
  Call& call = calls_.at(id);
  const Judgement judgement = judge(reply, url(call.endpoint), options_.user);
  if (judgement.verdict == Verdict::lost) call.was_repeated = true;
  const bool is_unreachable = reply.outcome == HttpReply::Outcome::not_sent;
  call.unreachable = is_unreachable ? call.unreachable + 1 : 0;
  if (reply.outcome != HttpReply::Outcome::answered && tell_silence_) tell_silence_(call.endpoint);

  switch (judgement.verdict) {
    case Verdict::answered:
      endpoint_ = call.endpoint;
      if (Status fits = check_register(call, reply.body); !fits) {
        call.was_repeated = true;  // it may have been carried out there
        return finish(id, fits.error());
      }
      return finish(id, reply.body);
    case Verdict::bad_token:
      if (options_.user.empty() || ++call.tokens > kTokensMax) return finish(id, judgement.error);
      wants_token_ = true;
      if (token == token_) token_.clear();
      return attempt(id);
    case Verdict::not_done:
    case Verdict::lost:
      return next(id, judgement.error);
    case Verdict::no_auth:
    case Verdict::refused:
      return finish(id, judgement.error);
  }
}

// The next endpoint. Those that nobody can connect to are asked once; the others until the time is
// over, with a pause after each round.
void EtcdCalls::next(Id id, const Error& error) {
  Call& call = calls_.at(id);
  const std::size_t count = options_.endpoints.size();
  skip(call.endpoint);
  call.endpoint = (call.endpoint + 1) % count;
  const bool is_round = ++call.tried % count == 0;
  const Time again = is_round ? deadline_after(loop_.now(), options_.retry_pause) : loop_.now();
  if (call.unreachable >= count || is_due(call.give_up, again)) return finish(id, error);
  if (!is_round) return attempt(id);
  loop_.after(options_.retry_pause, [this, id] { attempt(id); });
}

void EtcdCalls::finish(Id id, Result<std::string> body) {
  auto node = calls_.extract(id);
  const Call& call = node.mapped();
  if (body) {
    meter_.add_answer(static_cast<double>(monotonic_ns() - call.begun_ns) / 1e6);
  } else {
    meter_.add_failure(body.error().message);
  }
  call.on_reply({std::move(body), call.was_repeated});
}

void EtcdCalls::authenticate(std::size_t endpoint) {
  is_authenticating_ = true;
  HttpCall request{.url = std::string(url(endpoint)).append(kAuthenticatePath),
                   .body = authenticate_request(options_.user, options_.password),
                   .timeout = options_.call_timeout * kAuthenticateTimeouts,
                   .connect_timeout = options_.call_timeout};
  loop_.post(std::move(request), [this, endpoint](const HttpReply& reply) {
    is_authenticating_ = false;
    on_authenticated(endpoint, reply);
  });
}

// What waits for the token has not been sent. So its time begins anew, and no attempt is lost.
void EtcdCalls::on_authenticated(std::size_t endpoint, const HttpReply& reply) {
  Judgement judgement = judge(reply, url(endpoint), options_.user);
  if (judgement.verdict == Verdict::answered) {
    Result<std::string> token = parse_token_reply(reply.body);
    if (token) {
      token_ = *std::move(token);
    } else {
      judgement = {Verdict::not_done, token.error()};
    }
  }
  const Time give_up = deadline_after(loop_.now(), options_.give_up_after);
  for (const Id id : std::exchange(waiting_, {})) {
    Call& call = calls_.at(id);
    switch (judgement.verdict) {
      case Verdict::no_auth:
        wants_token_ = false;
        [[fallthrough]];
      case Verdict::answered:
        call.give_up = give_up;
        attempt(id);
        break;
      case Verdict::not_done:
      case Verdict::lost:
        call.endpoint = endpoint;
        call.unreachable += reply.outcome == HttpReply::Outcome::not_sent ? 1 : 0;
        next(id, judgement.error);
        break;
      case Verdict::bad_token:
      case Verdict::refused:
        finish(id, judgement.error);
        break;
    }
  }
}

}  // namespace mayfly
