// SPDX-License-Identifier: Apache-2.0
// Requests, as etcd 3.4.23 took them.

#include "etcd/gateway/requests.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

constexpr std::string_view kRequestPrefix = "/mayfly/main/";

// None of these requests has a space in a string.
std::string compact(std::string text) {
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\n'; });
  return text;
}

TEST(PrefixEnd, IsTheFirstKeyBehindIt) {
  EXPECT_EQ(prefix_end("/mayfly/main/"), "/mayfly/main0");
  EXPECT_EQ(prefix_end("a\xff\xff"), "b");
  EXPECT_EQ(prefix_end("\xff"), std::string(1, '\0'));
}

TEST(RangeRequest, IsLinearizable) {
  EXPECT_EQ(compact(range_request(kRequestPrefix)),
            R"({"key":"L21heWZseS9tYWluLw==","range_end":"L21heWZseS9tYWluMA=="})");
  EXPECT_EQ(compact(range_request(kRequestPrefix, "config")),
            R"({"key":"L21heWZseS9tYWluL2NvbmZpZw=="})");
}

TEST(TxnRequest, ComparesPutsDeletesAndReadsIfItIsRefused) {
  const RegisterCommit commit{.compares = {{"config", 2}, {"shards/a", 0}},
                              .puts = {{"shards/a", ""}, {"config", std::nullopt}}};

  EXPECT_EQ(compact(txn_request(kRequestPrefix, commit)),
            R"({"compare":[{"key":"L21heWZseS9tYWluL2NvbmZpZw==","result":"EQUAL","target":"MOD",)"
            R"("mod_revision":"2"},{"key":"L21heWZseS9tYWluL3NoYXJkcy9h","result":"EQUAL",)"
            R"("target":"VERSION","version":"0"}],"success":[{"request_put":{)"
            R"("key":"L21heWZseS9tYWluL3NoYXJkcy9h","value":""}},{"request_delete_range":{)"
            R"("key":"L21heWZseS9tYWluL2NvbmZpZw=="}}],"failure":[{"request_range":{)"
            R"("key":"L21heWZseS9tYWluL2NvbmZpZw=="}},{"request_range":{)"
            R"("key":"L21heWZseS9tYWluL3NoYXJkcy9h"}}]})");
}

TEST(TxnRequest, BindsWhatItPutsToTheLease) {
  const RegisterCommit commit{.compares = {}, .puts = {{"live/1", "x"}, {"n", std::nullopt}}};

  EXPECT_EQ(compact(txn_request(kRequestPrefix, commit, 7145701794052744717)),
            R"({"compare":[],"success":[{"request_put":{"key":"L21heWZseS9tYWluL2xpdmUvMQ==",)"
            R"("value":"eA==","lease":"7145701794052744717"}},{"request_delete_range":{)"
            R"("key":"L21heWZseS9tYWluL24="}}],"failure":[]})");
}

TEST(WatchRequest, BeginsAtAVersion) {
  EXPECT_EQ(compact(watch_request(kRequestPrefix, 8)),
            R"({"create_request":{"key":"L21heWZseS9tYWluLw==",)"
            R"("range_end":"L21heWZseS9tYWluMA==","start_revision":"8","progress_notify":true}})");
}

TEST(LeaseRequests, HaveNumbersAsStrings) {
  EXPECT_EQ(compact(grant_request(Millis(15000))), R"({"TTL":"15"})");
  EXPECT_EQ(compact(grant_request(Millis(1))), R"({"TTL":"1"})");
  EXPECT_EQ(compact(lease_request(-7)), R"({"ID":"-7"})");
}

TEST(AuthenticateRequest, QuotesWhatIsTyped) {
  EXPECT_EQ(compact(authenticate_request("root", "p\"\\w")),
            R"({"name":"root","password":"p\"\\w"})");
}

}  // namespace
}  // namespace mayfly
