// SPDX-License-Identifier: Apache-2.0
#include "etcd/gateway/gateway_error.h"

#include <fmt/format.h>

#include "text/json_reader.h"

namespace mayfly {
namespace {

using Kind = JsonValue::Kind;

// Codes of gRPC.
constexpr int kPermissionDenied = 7;
constexpr int kResourceExhausted = 8;
constexpr int kUnauthenticated = 16;

constexpr long kStatusCanceled = 408;  // gRPC's Canceled, as the gateway says it

void take_error(const JsonValue& object, GatewayError& error) {
  for (const std::string_view name : {"code", "grpc_code"}) {
    const JsonValue* const code = object.find(name);
    if (code != nullptr) error.code = static_cast<int>(code->whole_number().value_or(0));
  }
  const JsonValue* const message = object.find("message");
  if (message != nullptr && message->is(Kind::string)) error.message = message->text;
}

bool has(const GatewayError& error, std::string_view words) {
  return error.message.find(words) != std::string::npos;
}

bool is_about_token(const GatewayError& error) {
  return error.code == kUnauthenticated || has(error, "invalid auth token") ||
         has(error, "user name is empty") || has(error, "revision of auth store is old");
}

Error refusal(const GatewayError& error, std::string_view endpoint, std::string_view user) {
  if (has(error, "database space exceeded")) {
    return {Code::full,
            fmt::format("etcd is full: {} says '{}' (compact and defragment it, or raise "
                        "--quota-backend-bytes; then disarm its alarm)",
                        endpoint, error.message)};
  }
  if (has(error, "authentication failed")) {
    return {Code::denied, fmt::format("etcd at {} does not know user '{}' with this password (see "
                                      "cluster-etcd-user and cluster-etcd-password)",
                                      endpoint, user)};
  }
  if (error.code == kPermissionDenied) {
    return {
        Code::denied,
        fmt::format("etcd at {} denies user '{}' the prefix: {} (grant a role that may read and "
                    "write it)",
                    endpoint, user, error.message)};
  }
  return {Code::invalid,
          fmt::format("etcd at {} refuses the request: {}", endpoint, error.message)};
}

Judgement judge_error(const HttpReply& reply, std::string_view endpoint, std::string_view user) {
  const GatewayError error = parse_gateway_error(reply.body);
  const bool is_lost = reply.status >= 500 || reply.status == kStatusCanceled;
  if (error.message.empty()) {
    return {is_lost ? Verdict::lost : Verdict::not_done,
            {Code::io, fmt::format("{} does not answer as etcd does: HTTP status {} (see "
                                   "cluster-etcd)",
                                   endpoint, reply.status)}};
  }
  if (is_about_token(error)) {
    return {Verdict::bad_token,
            {Code::denied, fmt::format("etcd at {} wants a user: {} (see cluster-etcd-user and "
                                       "cluster-etcd-password)",
                                       endpoint, error.message)}};
  }
  if (has(error, "authentication is not enabled")) {
    return {Verdict::no_auth, {Code::invalid, error.message}};
  }
  const Error busy{Code::io, fmt::format("etcd at {} cannot answer: {}", endpoint, error.message)};
  if (is_lost) return {Verdict::lost, busy};
  if (error.code == kResourceExhausted && !has(error, "database space exceeded")) {
    return {Verdict::not_done, busy};  // "too many requests"
  }
  return {Verdict::refused, refusal(error, endpoint, user)};
}

}  // namespace

GatewayError parse_gateway_error(std::string_view body) {
  GatewayError error;
  const Result<JsonValue> document = read_json(body);
  if (!document || !document->is(Kind::object)) return error;
  take_error(*document, error);
  if (const JsonValue* const inner = document->find("error")) {
    if (inner->is(Kind::string) && error.message.empty()) error.message = inner->text;
    if (inner->is(Kind::object)) take_error(*inner, error);
  }
  return error;
}

Judgement judge(const HttpReply& reply, std::string_view endpoint, std::string_view user) {
  switch (reply.outcome) {
    case HttpReply::Outcome::answered:
      if (reply.status == 200) return {Verdict::answered, {Code::io, {}}};
      return judge_error(reply, endpoint, user);
    case HttpReply::Outcome::not_sent:
      return {Verdict::not_done,
              {Code::io, fmt::format("etcd at {} cannot be reached: {} (is it running? see "
                                     "cluster-etcd)",
                                     endpoint, reply.error)}};
    case HttpReply::Outcome::lost:
      break;
  }
  return {Verdict::lost,
          {Code::io, fmt::format("etcd at {} did not answer: {}", endpoint, reply.error)}};
}

}  // namespace mayfly
