// SPDX-License-Identifier: Apache-2.0
// Random messages of nodes, whole and damaged, against a node: nothing may break it.

#include "server/cluster/node/node_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "mayfly/random.h"

namespace mayfly {
namespace node_stream_test {

class NodeStreamTest : public testing::TestWithParam<int> {
 protected:
  std::string choose(const std::vector<std::string>& from) {
    return from[random_.below(from.size())];
  }

  std::string message() {
    static const std::vector<std::string> kMessages = {
        "CLUSTER PULSE a EPOCH PEER HISTORY END NOW 5 WALL 0",
        "CLUSTER CANVASS a VERSION EPOCH PEER END NOW",
        "CLUSTER IMPORT BEGIN job b 2 3 WALL 0 10000-16383",
        "CLUSTER IMPORT LAST job WALL",
        "CLUSTER IMPORT YOURS job",
        "CLUSTER HANDOVER d",
        "SET k v",
        "MULTI",
        "EXEC",
        "GET k",
        "FLUSHALL"};
    static const std::vector<std::string> kWords = {"a",
                                                    "b",
                                                    "0",
                                                    "1",
                                                    "-1",
                                                    "EPOCH",
                                                    "PEER",
                                                    "SELF",
                                                    "HISTORY",
                                                    "END",
                                                    "NOW",
                                                    "WALL",
                                                    "9223372036854775807",
                                                    "0-16383",
                                                    "job",
                                                    "PULSE",
                                                    "IMPORT",
                                                    "LAST",
                                                    "\"\""};
    std::string text = choose(kMessages);
    for (std::uint64_t times = random_.below(3); times > 0; --times) {
      const std::size_t space = text.find(' ', random_.below(text.size()));
      if (space == text.npos) continue;
      const std::size_t end = std::min(text.find(' ', space + 1), text.size());
      text.replace(space + 1, end - space - 1, choose(kWords));
    }
    return text + "\r\n";
  }

  Random random_{static_cast<std::uint64_t>(GetParam())};
};

TEST_P(NodeStreamTest, LeavesASoundNode) {
  for (int round = 0; round < 12; ++round) {
    std::string bytes = round % 3 == 0 ? "R" : "P";
    for (int i = 0; i < 25; ++i) bytes += message();
    if (round % 2 == 1) {  // damaged
      for (int i = 0; i < 4; ++i) {
        bytes[1 + random_.below(bytes.size() - 1)] = static_cast<char>(random_.next() & 0xFF);
      }
    }
    ASSERT_EQ(run_node_stream(bytes), "") << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodeStreamTest, testing::Range(1, 5));

// The words are replaced by values that the node accepts: else nothing would be tested.
TEST(NodeStreamSeedsTest, ReachTheMessages) {
  NodeStream primary(true);
  EXPECT_EQ(primary.run("CLUSTER PULSE a EPOCH PEER HISTORY END NOW 5 WALL 0\r\n"), "");
  EXPECT_TRUE(primary.is_known_peer());
  NodeStream replica(false);
  EXPECT_EQ(replica.run("CLUSTER CANVASS a VERSION EPOCH PEER END NOW\r\n"), "");
  EXPECT_FALSE(replica.is_known_peer());
  NodeStream target(true);
  EXPECT_EQ(target.run("CLUSTER IMPORT BEGIN job b 2 3 WALL 0 10000-16383\r\nSET k v\r\n"), "");
  EXPECT_TRUE(target.has_imported());
}

}  // namespace node_stream_test
}  // namespace mayfly
