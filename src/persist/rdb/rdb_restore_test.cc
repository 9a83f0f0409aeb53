// SPDX-License-Identifier: Apache-2.0
// RESTORE: gives back what DUMP wrote, and leaves nothing behind when a payload is wrong.

#include "persist/rdb/rdb_restore.h"

#include <gtest/gtest.h>

#include <string>

#include "keyspace/keyspace_fixture.h"
#include "persist/rdb/rdb_save.h"
#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_restore_test {

using rdb::Type;

class RdbRestoreTest : public testing::Test, protected KeyspaceFixture {
 protected:
  // What goes wrong, or "".
  std::string restore(std::string_view payload) {
    const Result<Slot> slot = restore_value(context, database, "restored", payload);
    EXPECT_EQ(database.peek(context, "restored"), slot ? *slot : kNoSlot);
    EXPECT_EQ(database.check_invariants(), "");
    return slot ? "" : slot.error().message;
  }
};

constexpr const char* kWrongChecksum = "DUMP payload version or checksum are wrong";
constexpr const char* kBadFormat = "Bad data format";

TEST_F(RdbRestoreTest, RestoresWhatDumpWrote) {
  const Slot string = database.put_string(context, "s", "some text");
  const Slot hash = make_hash("h", {"a", "b"});
  database.members(context, hash).put("late", "v", in(50));
  database.members(context, hash).put("due", "v", in(0));
  EXPECT_EQ(restore(dump_value(database, string, {})), "");
  EXPECT_EQ(database.string(database.find(context, "restored")), "some text");
  database.erase(database.find(context, "restored"));

  EXPECT_EQ(restore(dump_value(database, hash, {})), "");
  MembersRef restored = database.members(context, database.find(context, "restored"));
  EXPECT_EQ(restored.stored(), 4u);
  EXPECT_EQ(restored.size(), 3u);
  EXPECT_EQ(restored.find("late")->deadline, in(50));
}

TEST_F(RdbRestoreTest, RestoresALargeHash) {
  TestFile file("");
  file.type(Type::hash).length(10'000);
  for (int i = 0; i < 10'000; ++i) file.text(std::to_string(i)).text("v");
  EXPECT_EQ(restore(file.payload()), "");
  EXPECT_EQ(database.members(context, database.find(context, "restored")).size(), 10'000u);
}

TEST_F(RdbRestoreTest, TellsTypeTwentyTwoApartByTheVersion) {
  TestFile file("");
  file.type(Type::hash2).length(1).text("f").text("v").number(5'000'000);
  EXPECT_EQ(restore(file.payload(80)), "");
  database.erase(database.find(context, "restored"));
  EXPECT_NE(restore(file.payload(12)), "");
}

TEST_F(RdbRestoreTest, RefusesAWrongVersionOrChecksum) {
  TestFile file("");
  file.type(Type::string).text("value");
  std::string payload = file.payload();
  ASSERT_TRUE(check_payload(payload));
  payload[2] ^= 1;
  EXPECT_EQ(restore(payload), kWrongChecksum);
  for (const int version : {0, 13, 79, 81, 65535}) {
    EXPECT_EQ(restore(file.payload(static_cast<std::uint16_t>(version))), kWrongChecksum)
        << version;
  }
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_EQ(restore(payload.substr(0, size)), kWrongChecksum);
  }
}

TEST_F(RdbRestoreTest, RefusesDamageAndLeavesNothing) {
  EXPECT_EQ(restore(TestFile("").type(Type::string).length(9).raw("short").payload()), kBadFormat);
  EXPECT_EQ(restore(TestFile("").type(Type::string).text("v").byte(0).payload()), kBadFormat);
  EXPECT_EQ(restore(TestFile("").type(Type::hash).length(0).payload()), kBadFormat);
  TestFile twice("");
  twice.type(Type::hash).length(2).text("f").text("v").text("f").text("v");
  EXPECT_EQ(restore(twice.payload()), kBadFormat);
  TestFile large("");  // damaged after a batch was stored
  large.type(Type::hash).length(5'000);
  for (int i = 0; i < 4'999; ++i) large.text(std::to_string(i)).text("v");
  EXPECT_EQ(restore(large.text("last").payload()), kBadFormat);
}

TEST_F(RdbRestoreTest, RefusesDamagedListsAndStreamsAndLeavesNothing) {
  EXPECT_EQ(restore(TestFile("").type(Type::list).length(0).payload()), kBadFormat);
  EXPECT_EQ(restore(TestFile("").type(Type::list_quicklist2).length(1).length(3).payload()),
            kBadFormat);
  TestFile large("");  // damaged after a batch was stored
  large.type(Type::list).length(5'000);
  for (int i = 0; i < 4'999; ++i) large.text(std::to_string(i));
  EXPECT_EQ(restore(large.payload()), kBadFormat);
  EXPECT_EQ(restore(large.text("last").payload()), "");
  database.erase(database.find(context, "restored"));
  EXPECT_EQ(restore(large.byte(0).payload()), kBadFormat);

  TestFile stream("");
  stream.type(Type::stream2).length(0).length(0).id({1, 0}).id({0, 0}).id({0, 0}).length(0);
  EXPECT_EQ(restore(stream.payload()), kBadFormat);
  EXPECT_EQ(restore(stream.length(0).payload()), "") << "a stream may be empty";
  database.erase(database.find(context, "restored"));
  EXPECT_EQ(restore(stream.byte(0).payload()), kBadFormat);
}

TEST_F(RdbRestoreTest, RefusesModules) {
  const std::string payload = TestFile("").type(Type::module2).length(1).text("a").payload();
  const Result<Slot> slot = restore_value(context, database, "k", payload);
  ASSERT_FALSE(slot);
  EXPECT_EQ(slot.error().code, Code::unsupported);
  EXPECT_EQ(slot.error().message, "modules cannot be loaded");
}

}  // namespace rdb_restore_test
}  // namespace mayfly
