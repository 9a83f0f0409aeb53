// SPDX-License-Identifier: Apache-2.0
// Replies of etcd 3.4.23, as they came: what is zero or false is missing, and numbers are strings.

#include "etcd/gateway/replies.h"

#include <gtest/gtest.h>

#include <string>

namespace mayfly {
namespace {

constexpr std::string_view kReplyPrefix = "/mayfly/main/";

// A reply with the header that every reply has, in the place of HEADER<revision>.
std::string headed(std::string text) {
  const std::size_t begin = text.find("HEADER<");
  const std::size_t end = text.find('>', begin);
  const std::string revision = text.substr(begin + 7, end - begin - 7);
  return text.replace(begin, end + 1 - begin,
                      R"({"cluster_id":"10555973267567409278",)"
                      R"("member_id":"2336558129947566890","revision":")" +
                          revision + R"(","raft_term":"2"})");
}

const std::string kCreated = headed(R"({"result":{"header":HEADER<6>,"created":true}})");

TEST(RangeReply, OfAnEmptyPrefixHasNoRecords) {
  const auto snapshot = parse_range_reply(headed(R"({"header":HEADER<1>})"), kReplyPrefix);

  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->version, 1u);
  EXPECT_TRUE(snapshot->entries.empty());
}

TEST(RangeReply, HasKeysWithoutThePrefixAndAnEmptyValueForNone) {
  const auto snapshot = parse_range_reply(
      headed(R"({"header":HEADER<5>,"kvs":[{"key":"L21heWZseS9tYWluL2xpdmUvMQ==",)"
             R"("create_revision":"5","mod_revision":"5","version":"1","value":"eA==",)"
             R"("lease":"7145701794052744717"},{"key":"L21heWZseS9tYWluL24vMQ==",)"
             R"("create_revision":"4",)"
             R"("mod_revision":"4","version":"1",)"
             R"("value":"eA=="},{"key":"L21heWZseS9tYWluL3NoYXJkcy9h",)"
             R"("create_revision":"3","mod_revision":"3","version":"1"}],"count":"3"})"),
      kReplyPrefix);

  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->entries.size(), 3u);
  EXPECT_EQ(snapshot->entries[0].key, "live/1");
  EXPECT_EQ(snapshot->entries[0].value, "x");
  EXPECT_EQ(snapshot->entries[0].version, 5u);
  EXPECT_EQ(snapshot->entries[2].key, "shards/a");
  EXPECT_EQ(snapshot->entries[2].value, "");
}

TEST(RangeReply, IsRefusedIfItIsNotOne) {
  for (const std::string_view body :
       {"", "[]", "Not Found\n", "{}", R"({"header":{"revision":"x"}})",
        R"({"header":{"revision":"-1"}})", R"({"header":{"revision":"1"},"kvs":{}})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"!"}]})",
        R"({"header":{"revision":"1"},"kvs":[{"key":"b3RoZXI="}]})",
        R"({"header":{"revision":"1"},"more":true})"}) {
    const auto snapshot = parse_range_reply(body, kReplyPrefix);
    ASSERT_FALSE(snapshot) << body;
    EXPECT_EQ(snapshot.error().code, Code::corrupt);
  }
}

const RegisterCommit kTwo{.compares = {{"config", 7}, {"nope", 3}}, .puts = {{"config", "one"}}};

TEST(TxnReply, IsDoneIfItSaysSo) {
  const auto txn = parse_txn_reply(
      headed(R"({"header":HEADER<3>,"succeeded":true,"responses":[)"
             R"({"response_put":{"header":{"revision":"3"}}},{"response_delete_range":)"
             R"({"header":{"revision":"3"},"deleted":"1"}}]})"),
      kReplyPrefix, kTwo);

  ASSERT_TRUE(txn);
  EXPECT_TRUE(txn->is_done);
  EXPECT_EQ(txn->version, 3u);
  EXPECT_TRUE(txn->current.empty());
}

TEST(TxnReply, WithoutSucceededIsRefusedAndHasTheRecordsCompared) {
  const auto txn = parse_txn_reply(
      headed(
          R"({"header":HEADER<2>,"responses":[{"response_range":{"header":)"
          R"({"revision":"2"},"kvs":[{"key":"L21heWZseS9tYWluL2NvbmZpZw==","create_revision":"2",)"
          R"("mod_revision":"2","version":"1","value":"b25l"}],"count":"1"}},)"
          R"({"response_range":{"header":{"revision":"2"}}}]})"),
      kReplyPrefix, kTwo);

  ASSERT_TRUE(txn);
  EXPECT_FALSE(txn->is_done);
  ASSERT_EQ(txn->current.size(), 2u);
  EXPECT_EQ(txn->current[0].key, "config");
  EXPECT_EQ(txn->current[0].value, "one");
  EXPECT_EQ(txn->current[0].version, 2u);
  EXPECT_EQ(txn->current[1].key, "nope");
  EXPECT_EQ(txn->current[1].value, std::nullopt);
  EXPECT_EQ(txn->current[1].version, 0u);
}

TEST(TxnReply, IsWrongWithAnotherNumberOfRecordsOrAnotherKey) {
  EXPECT_FALSE(parse_txn_reply(R"({"header":{"revision":"2"}})", kReplyPrefix, kTwo));
  EXPECT_FALSE(parse_txn_reply(
      R"({"header":{"revision":"2"},"responses":[{"response_range":{}},{"response_put":{}}]})",
      kReplyPrefix, kTwo));
  EXPECT_FALSE(parse_txn_reply(
      R"({"header":{"revision":"2"},"responses":[{"response_range":{"kvs":[)"
      R"({"key":"L21heWZseS9tYWluL24vMQ==","mod_revision":"2"}]}},{"response_range":{}}]})",
      kReplyPrefix, kTwo));
}

TEST(LeaseReply, IsTheSameForAGrantAndAKeepalive) {
  const auto granted =
      parse_lease_reply(headed(R"({"header":HEADER<4>,"ID":"7145701794052744717","TTL":"15"})"));
  const auto kept = parse_lease_reply(headed(R"({"result":{"header":HEADER<5>,"ID":)"
                                             R"("7145701794052744717","TTL":"15"}})"
                                             "\n"));

  for (const auto* const lease : {&granted, &kept}) {
    ASSERT_TRUE(*lease);
    EXPECT_EQ((*lease)->id, 7145701794052744717);
    EXPECT_EQ((*lease)->ttl.count(), 15);
  }
}

TEST(LeaseReply, OfALeaseThatIsGoneHasNoTtl) {
  const auto lease = parse_lease_reply(headed(R"({"result":{"header":HEADER<5>,"ID":"77"}})"
                                              "\n"));

  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->ttl.count(), 0);
}

TEST(TokenReply, HasTheToken) {
  const auto token =
      parse_token_reply(headed(R"({"header":HEADER<9>,"token":"ZZCpzeKtxonDjmTO.28"})"));

  ASSERT_TRUE(token);
  EXPECT_EQ(*token, "ZZCpzeKtxonDjmTO.28");
  EXPECT_FALSE(parse_token_reply("{}"));
  EXPECT_FALSE(parse_token_reply(R"({"token":"a\r\nX-Other: b"})"));
}

TEST(WatchLine, SaysThatTheWatchIsThere) {
  const auto line = parse_watch_line(kCreated, kReplyPrefix);

  ASSERT_TRUE(line);
  EXPECT_TRUE(line->is_created);
  EXPECT_FALSE(line->is_canceled);
  EXPECT_EQ(line->version, 6u);
  EXPECT_EQ(line->error, "");
}

TEST(WatchLine, HasPutsAndDeletes) {
  const auto line = parse_watch_line(
      headed(
          R"({"result":{"header":HEADER<6>,"events":[{"kv":{"key":)"
          R"("L21heWZseS9tYWluL2NvbmZpZw==","create_revision":"2","mod_revision":"2",)"
          R"("version":"1",)"
          R"("value":"b25l"}},{"kv":{"key":"L21heWZseS9tYWluL3NoYXJkcy9h","create_revision":"3",)"
          R"("mod_revision":"3","version":"1"}},{"type":"DELETE","kv":{"key":)"
          R"("L21heWZseS9tYWluL2NvbmZpZw==","mod_revision":"3"}}]}})"),
      kReplyPrefix);

  ASSERT_TRUE(line);
  ASSERT_EQ(line->entries.size(), 3u);
  EXPECT_EQ(line->entries[0].value, "one");
  EXPECT_EQ(line->entries[1].value, "");
  EXPECT_EQ(line->entries[2].key, "config");
  EXPECT_EQ(line->entries[2].value, std::nullopt);
  EXPECT_EQ(line->entries[2].version, 3u);
}

TEST(WatchLine, SaysThatTheStartIsCompacted) {
  const auto line =
      parse_watch_line(R"({"result":{"header":{"cluster_id":"10555973267567409278",)"
                       R"("member_id":"2336558129947566890","raft_term":"2"},"canceled":true,)"
                       R"("compact_revision":"9"}})",
                       kReplyPrefix);

  ASSERT_TRUE(line);
  EXPECT_TRUE(line->is_canceled);
  EXPECT_EQ(line->compacted, 9u);
}

TEST(WatchLine, SaysWhyItIsRefused) {
  const auto line = parse_watch_line(
      headed(R"({"result":{"header":HEADER<9>,"watch_id":"-1","created":true,)"
             R"("canceled":true,"cancel_reason":"rpc error: code = Unauthenticated desc = )"
             R"(etcdserver: invalid auth token"}})"),
      kReplyPrefix);

  ASSERT_TRUE(line);
  EXPECT_TRUE(line->is_canceled);
  EXPECT_NE(line->error.find("invalid auth token"), std::string::npos);
}

TEST(WatchLine, IsAnErrorWhenThereIsNoLeader) {
  const auto line = parse_watch_line(
      R"({"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader",)"
      R"("http_status":"Service Unavailable"}})",
      kReplyPrefix);

  ASSERT_TRUE(line);
  EXPECT_EQ(line->error, "etcdserver: no leader");
}

TEST(WatchLine, IsRefusedIfItIsNeitherResultNorError) {
  EXPECT_FALSE(parse_watch_line("{}", kReplyPrefix));
  EXPECT_FALSE(parse_watch_line(kCreated.substr(0, 40), kReplyPrefix));
  EXPECT_FALSE(parse_watch_line(R"({"result":{"events":[{"type":"DELETE"}]}})", kReplyPrefix));
}

TEST(StatusReply, HasVersionSizeLeaderAndAlarms) {
  const auto status = parse_status_reply(
      R"({"header":{"cluster_id":"13052995787604926558","member_id":"14066066170741813162",)"
      R"("revision":"17","raft_term":"2"},"version":"3.4.23","dbSize":"1372160",)"
      R"("leader":"14066066170741813162","raftIndex":"24","raftTerm":"2",)"
      R"("raftAppliedIndex":"24","errors":["memberID:14066066170741813162 alarm:NOSPACE "],)"
      R"("dbSizeInUse":"1372160"})");

  ASSERT_TRUE(status);
  EXPECT_EQ(status->version, "3.4.23");
  EXPECT_EQ(status->member, 14066066170741813162u);
  EXPECT_EQ(status->leader, status->member);
  EXPECT_EQ(status->database_bytes, 1372160u);
  ASSERT_EQ(status->errors.size(), 1u);
  EXPECT_EQ(status->errors[0], "memberID:14066066170741813162 alarm:NOSPACE");
}

TEST(StatusReply, WithoutALeaderHasNone) {
  const auto status =
      parse_status_reply(headed(R"({"header":HEADER<1>,"version":"3.4.23","dbSize":"20480",)"
                                R"("raftIndex":"8","raftTerm":"2","raftAppliedIndex":"8",)"
                                R"("errors":["etcdserver: no leader"],"dbSizeInUse":"16384"})"));

  ASSERT_TRUE(status);
  EXPECT_EQ(status->leader, 0u);
}

TEST(MembersReply, HasTheirNames) {
  const auto members = parse_members_reply(
      R"({"header":{"cluster_id":"10416015214702913191","member_id":"3730224185666366128",)"
      R"("raft_term":"2"},"members":[{"ID":"3730224185666366128","name":"m0","peerURLs":)"
      R"(["http://127.0.0.1:34215"],"clientURLs":["http://127.0.0.1:48145"]},)"
      R"({"ID":"6645217317799322159","name":"m2","peerURLs":["http://127.0.0.1:55317"],)"
      R"("clientURLs":["http://127.0.0.1:37015"]}]})");

  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ((*members)[1].id, 6645217317799322159u);
  EXPECT_EQ((*members)[1].name, "m2");
  EXPECT_EQ((*members)[1].urls, std::vector<std::string>{"http://127.0.0.1:37015"});
}

}  // namespace
}  // namespace mayfly
