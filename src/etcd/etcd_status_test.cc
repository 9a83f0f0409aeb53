// SPDX-License-Identifier: Apache-2.0
// Which members of etcd are asked beside the endpoints that the options name.

#include "etcd/etcd_status.h"

#include <gtest/gtest.h>

namespace mayfly {
namespace {

const std::vector<EtcdMember> kMembers = {{1, "a", {"http://a:2379"}},
                                          {2, "b", {"http://b:2379", "http://10.0.0.2:2379"}},
                                          {3, "c", {"http://c:2379"}}};

EtcdEndpointStatus endpoint(const char* url, std::uint64_t member, const char* error = "") {
  EtcdEndpointStatus status;
  status.endpoint = url;
  status.member = member;
  status.error = error;
  return status;
}

TEST(EtcdMembers, ThoseWithoutANameAreAskedToo) {
  const auto others = unnamed_members({endpoint("http://other-name:2379", 1)}, kMembers);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].endpoint, "http://b:2379");
  EXPECT_FALSE(others[0].is_named);
  EXPECT_EQ(others[1].member, 3u);
}

TEST(EtcdMembers, OneThatIsNamedAndDownIsNotAskedTwice) {
  const auto others = unnamed_members(
      {endpoint("http://a:2379", 1), endpoint("http://10.0.0.2:2379", 0, "down")}, kMembers);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].member, 3u);
}

TEST(EtcdMembers, OneThatDoesNotSayWhereItIsIsNotAsked) {
  EXPECT_TRUE(unnamed_members({}, {{4, "not started", {}}}).empty());
}

TEST(EtcdMembers, WithHttpsOnlyHttpsIsUsed) {
  const std::vector<EtcdMember> members = {{1, "a", {"https://a:2379"}},
                                           {2, "b", {"http://b:2379", "https://b:2380"}},
                                           {3, "c", {"http://c:2379"}}};
  const auto others = unnamed_members({endpoint("https://a:2379", 1)}, members);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].endpoint, "https://b:2380");
}

TEST(EtcdMembers, OneThatIsDownUnderTwoAddressesIsOne) {
  std::vector<EtcdEndpointStatus> all = {endpoint("http://x:2379", 0, "down"),
                                         endpoint("http://b:2379", 2),
                                         endpoint("http://c:2379", 3)};
  EtcdEndpointStatus again = endpoint("http://a:2379", 1, "down");
  again.is_named = false;
  all.push_back(again);
  remove_doubles(all, 3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].endpoint, "http://x:2379");
  all.push_back(endpoint("http://named:2379", 0, "down"));
  remove_doubles(all, 3);
  EXPECT_EQ(all.size(), 4u) << "what the options name is always told";
}

}  // namespace
}  // namespace mayfly
