// SPDX-License-Identifier: Apache-2.0
// Errors of etcd 3.4.23, as they came, and what they mean.

#include "etcd/gateway/gateway_error.h"

#include <gtest/gtest.h>

#include <string>

namespace mayfly {
namespace {

constexpr std::string_view kUrl = "http://a:2379";

Judgement judge_status(long status, std::string body) {
  return judge({HttpReply::Outcome::answered, status, std::move(body), {}}, kUrl, "joe");
}

// The form of etcd 3.4 and 3.5.
std::string error_body(const std::string& message, int code) {
  return R"({"error":")" + message + R"(","message":")" + message + R"(","code":)" +
         std::to_string(code) + "}";
}

TEST(GatewayError, IsReadInAllItsForms) {
  for (const std::string_view body :
       {R"({"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14})",
        R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}})",
        R"({"code":14,"message":"etcdserver: no leader","details":[]})",
        R"({"error":{"code":14,"message":"etcdserver: no leader","details":[]}})"}) {
    const GatewayError error = parse_gateway_error(body);
    EXPECT_EQ(error.code, 14) << body;
    EXPECT_EQ(error.message, "etcdserver: no leader") << body;
  }
  EXPECT_EQ(parse_gateway_error("Not Found\n").message, "");
  EXPECT_EQ(parse_gateway_error("[]").message, "");
}

TEST(Judge, CallsAnOutcomeLostWhereEtcdCannotTell) {
  for (const auto& [status, message, code] : {std::tuple(503, "etcdserver: request timed out", 14),
                                              std::tuple(500, "context deadline exceeded", 2),
                                              std::tuple(503, "etcdserver: no leader", 14),
                                              std::tuple(503, "etcdserver: leader changed", 14),
                                              std::tuple(408, "context canceled", 1)}) {
    EXPECT_EQ(judge_status(status, error_body(message, code)).verdict, Verdict::lost) << message;
  }
  EXPECT_EQ(judge_status(502, "<html>Bad Gateway</html>").verdict, Verdict::lost);
}

TEST(Judge, KnowsWhatHasCertainlyNotHappened) {
  EXPECT_EQ(
      judge_status(400, error_body("etcdserver: duplicate key given in txn request", 3)).verdict,
      Verdict::refused);
  EXPECT_EQ(judge_status(429, error_body("etcdserver: too many requests", 8)).verdict,
            Verdict::not_done);
  EXPECT_EQ(judge_status(404, "Not Found\n").verdict, Verdict::not_done);
}

TEST(Judge, SaysThatEtcdIsFull) {
  const Judgement full =
      judge_status(429, error_body("etcdserver: mvcc: database space exceeded", 8));

  EXPECT_EQ(full.verdict, Verdict::refused);
  EXPECT_EQ(full.error.code, Code::full);
  EXPECT_NE(full.error.message.find("etcd is full"), std::string::npos);
  EXPECT_NE(full.error.message.find("--quota-backend-bytes"), std::string::npos);
}

TEST(Judge, AsksForAnotherToken) {
  for (const auto& [status, message, code] :
       {std::tuple(401, "etcdserver: invalid auth token", 16),
        std::tuple(400, "etcdserver: user name is empty", 3),
        std::tuple(400, "etcdserver: revision of auth store is old", 3)}) {
    EXPECT_EQ(judge_status(status, error_body(message, code)).verdict, Verdict::bad_token);
  }
}

TEST(Judge, NamesTheUserWhoMayNot) {
  const Judgement wrong = judge_status(
      400, error_body("etcdserver: authentication failed, invalid user ID or password", 3));
  const Judgement denied = judge_status(403, error_body("etcdserver: permission denied", 7));

  for (const Judgement& judgement : {wrong, denied}) {
    EXPECT_EQ(judgement.verdict, Verdict::refused);
    EXPECT_EQ(judgement.error.code, Code::denied);
    EXPECT_NE(judgement.error.message.find("'joe'"), std::string::npos);
  }
}

TEST(Judge, DoesWithoutAUserWhereEtcdHasNone) {
  EXPECT_EQ(judge_status(412, error_body("etcdserver: authentication is not enabled", 9)).verdict,
            Verdict::no_auth);
}

TEST(Judge, SaysHowNothingCame) {
  const Judgement down =
      judge({HttpReply::Outcome::not_sent, 0, {}, "connection refused"}, kUrl, {});
  const Judgement lost = judge({HttpReply::Outcome::lost, 0, {}, "no answer in 500 ms"}, kUrl, {});

  EXPECT_EQ(down.verdict, Verdict::not_done);
  EXPECT_EQ(down.error.message,
            "etcd at http://a:2379 cannot be reached: connection refused (is it running? see "
            "cluster-etcd)");
  EXPECT_EQ(lost.verdict, Verdict::lost);
  EXPECT_EQ(lost.error.message, "etcd at http://a:2379 did not answer: no answer in 500 ms");
}

}  // namespace
}  // namespace mayfly
