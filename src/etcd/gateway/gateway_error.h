// SPDX-License-Identifier: Apache-2.0
// What an error of etcd's JSON gateway means for the one who asked.

#pragma once

#include <string>
#include <string_view>

#include "etcd/http/http_loop.h"
#include "mayfly/result.h"

namespace mayfly {

// The body of a reply that is no success. Versions of etcd write it in four forms.
struct GatewayError {
  int code = 0;         // of gRPC; 0 if it is not known
  std::string message;  // empty if there is none
};
GatewayError parse_gateway_error(std::string_view body);

enum class Verdict {
  answered,   // the body is a reply
  not_done,   // nothing has happened: the next endpoint may do better
  lost,       // it may have happened, or may happen later
  bad_token,  // nothing has happened: authenticate, and try again
  no_auth,    // an answer to authenticate: etcd wants nobody to
  refused,    // nothing has happened, and trying again does not help
};

struct Judgement {
  Verdict verdict = Verdict::lost;
  Error error{Code::io, {}};  // unless answered: the whole message
};

// `endpoint` and `user` are for messages.
Judgement judge(const HttpReply& reply, std::string_view endpoint, std::string_view user);

}  // namespace mayfly
