// SPDX-License-Identifier: Apache-2.0
// The file `cluster-node`: who this node is. A folder that is another node's is never used.

#include "server/cluster/node/node_file.h"

#include <gtest/gtest.h>

#include "net/blocking_stream.h"
#include "persist/disk/fake_disk.h"
#include "server/cluster/cluster_nodes_fixture.h"

namespace mayfly {
namespace node_file_test {

using namespace std::chrono_literals;

const std::string kNode(40, 'a');
const std::string kCluster(40, 'b');

class NodeFileTest : public testing::Test {
 protected:
  NodeFileTest() { disk_.put("d/other-file", ""); }  // the folder is durable

  std::string refusal(const std::string& bytes) {
    disk_.put("d/cluster-node", bytes);
    const Result<NodeFile> file = read_node_file(disk_, "d");
    return file ? "" : file.error().message;
  }

  FakeDisk disk_;
};

TEST_F(NodeFileTest, AFolderWithoutOneGetsANewIdThatStays) {
  const Result<NodeFile> first = read_node_file(disk_, "d");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->node.size(), 40u);
  EXPECT_EQ(first->cluster, "");
  disk_.power_cut();
  EXPECT_EQ(read_node_file(disk_, "d")->node, first->node);
  FakeDisk other(2);
  ASSERT_TRUE(other.make_directory("d"));
  EXPECT_NE(read_node_file(other, "d")->node, first->node);
}

TEST_F(NodeFileTest, TheClusterIsRememberedDurably) {
  ASSERT_TRUE(write_node_file(disk_, "d", {kNode, kCluster}));
  disk_.power_cut();
  const Result<NodeFile> file = read_node_file(disk_, "d");
  EXPECT_EQ(file->node, kNode);
  EXPECT_EQ(file->cluster, kCluster);
}

TEST_F(NodeFileTest, TheRegisterIsRememberedDurably) {
  const NodeFile file{.node = kNode,
                      .cluster = kCluster,
                      .reg = {10'555'973'267'567'409'278U, 130},
                      .is_register_refused = true,
                      .accepted = Time(1'794'784'355'599ms),
                      .shard = "b",
                      .epoch = 7};
  ASSERT_TRUE(write_node_file(disk_, "d", file));
  disk_.power_cut();
  EXPECT_EQ(*read_node_file(disk_, "d"), file);
}

TEST_F(NodeFileTest, WordsOfLaterVersionsAreSkipped) {
  EXPECT_EQ(refusal("format 1\nnode " + kNode + "\ncolour red\n"), "");
}

TEST_F(NodeFileTest, AnyOtherFileIsRefused) {
  const std::string format = "format 1\n";
  const std::string node = "node " + kNode + "\n";
  for (const std::string& wrong :
       {std::string(), std::string("\0\0\0", 3), format, node, "format 2\n" + node,
        format + "node " + kNode + "a\n", format + "node " + std::string(40, 'A') + "\n",
        format + node + "cluster main\n", format + node + "register 5\n",
        format + node + "register x 5\n", format + node + "accepted soon\n",
        format + node + std::string(5000, '\n')}) {
    EXPECT_NE(refusal(wrong).find("'d/cluster-node' is no file of a node"), std::string::npos)
        << wrong;
  }
}

TEST_F(NodeFileTest, AFileThatCannotBeWrittenIsAnErrorAndLeavesTheOldOne) {
  disk_.put("d/cluster-node", "format 1\nnode " + kNode + "\n");
  for (const FakeDisk::Op op : {FakeDisk::Op::create, FakeDisk::Op::write, FakeDisk::Op::sync,
                                FakeDisk::Op::rename, FakeDisk::Op::sync_directory}) {
    disk_.fail_next(op);
    EXPECT_FALSE(write_node_file(disk_, "d", {kNode, kCluster})) << static_cast<int>(op);
    disk_.heal();
    if (op == FakeDisk::Op::sync_directory) continue;  // it has its new name
    EXPECT_EQ(read_node_file(disk_, "d")->cluster, "") << static_cast<int>(op);
  }
}

// ---- A node that starts with it ----

class NodeFolderTest : public ClusterNodesFixture {
 protected:
  std::string path() { return config().dir + "/cluster-node"; }
  std::string fatal(int node) {
    const auto& error = parts(node).persistence.fatal();
    return error ? error->message : "";
  }
  bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
};

TEST_F(NodeFolderTest, AWrongFileIsAnErrorAtTheStart) {
  start(1, config(), 0);
  (*servers_)[0].fake_disk().put(path(), "format 9\n");
  const Status status = parts(0).cluster.start();
  ASSERT_FALSE(status);
  EXPECT_TRUE(has(status.error().message, "is no file of a node"));
}

TEST_F(NodeFolderTest, AFolderThatAnotherProcessHasIsRefused) {
  start(1, config(), 0);
  (*servers_)[0].fake_disk().lock_elsewhere(config().dir, "process 17, port 7000");
  const Status status = parts(0).persistence.directory().take();
  ASSERT_FALSE(status);
  EXPECT_TRUE(has(status.error().message, "process 17")) << status.error().message;
}

// Both run: the one that starts second asks the first who it is.
TEST_F(NodeFolderTest, ACopyOfAFolderDoesNotStartBesideTheOriginal) {
  class Answering final : public BlockingStream {
   public:
    explicit Answering(std::string line) : line_(std::move(line)) {}
    Status write(std::string_view, Millis) override { return Done{}; }
    Result<std::string> read_line(Millis) override { return line_; }

   private:
    std::string line_;
  };
  start(2, config(), 1);
  (*servers_)[1].fake_disk().put(path(), (*servers_)[0].fake_disk().bytes(path()));
  (*servers_)[1].dial = [this](int port) -> Result<std::unique_ptr<BlockingStream>> {
    EXPECT_EQ(port, servers_->port(0));
    return std::unique_ptr<BlockingStream>(std::make_unique<Answering>(id(0)));
  };
  begin(1);
  run(300ms);
  EXPECT_TRUE(has(fatal(1), "the folder was copied")) << fatal(1);
  EXPECT_EQ(fatal(0), "");
}

// The original cannot be asked: the one that registers last goes on, and the other one ends.
TEST_F(NodeFolderTest, TheOriginalEndsWhenACopyHasReplacedIt) {
  start(2, config(), 1);
  (*servers_)[1].fake_disk().put(path(), (*servers_)[0].fake_disk().bytes(path()));
  begin(1);
  run(300ms);
  EXPECT_TRUE(has(fatal(0), "another process uses the same node id")) << fatal(0);
  EXPECT_EQ(fatal(1), "");
}

TEST_F(NodeFolderTest, AFolderOfAnotherClusterIsRefusedAtTheStart) {
  ClusterRecord other;
  other.id = std::string(40, 'f');
  records_.apply({{}, {{std::string(kConfigKey), to_text(other)}}});
  start(1, config(), 0);
  (*servers_)[0].fake_disk().put(path(),
                                 "format 1\nnode " + kNode + "\ncluster " + kCluster + "\n");
  begin(0);
  run(100ms);
  EXPECT_TRUE(has(fatal(0), "belongs to cluster " + kCluster)) << fatal(0);
  EXPECT_FALSE(records_.find(node_key(kNode))) << "it is not registered there";
}

}  // namespace node_file_test
}  // namespace mayfly
