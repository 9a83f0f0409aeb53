// SPDX-License-Identifier: Apache-2.0
// An append-only folder that Valkey has written: tests/data/golden/valkey9-aof.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "persist/aof/aof_loader.h"
#include "persist/disk/disk.h"

namespace mayfly {
namespace aof_golden_test {

class Listing final : public AofApply {
 public:
  Status apply(int database, Words words) override {
    std::string line = std::to_string(database) + ":";
    for (const std::string_view word : words) line.append(" ").append(word);
    lines.push_back(line);
    return Done{};
  }

  std::vector<std::string> lines;
};

TEST(AofGolden, ValkeysFolderIsReadToItsLastCommand) {
  SystemDisk disk;
  KeyspaceFixture fixture;
  Listing listing;
  AofLoader loader(disk, {.directory = "tests/data/golden/valkey9-aof"}, fixture.keyspace, listing,
                   {.now = fixture.context.now, .truncates_tail = false});
  for (;;) {
    const Result<bool> done = loader.step(5);
    ASSERT_TRUE(done) << done.error().message;
    if (*done) break;
  }
  EXPECT_EQ(listing.lines,
            (std::vector<std::string>{"0: HDEL h c", "0: HPEXPIREAT h 4102444800011 FIELDS 1 e",
                                      "0: SET m1 x", "0: HSET m2 f v", "2: SET other db2",
                                      "0: HSETEX h PXAT 1794712307449 FIELDS 1 gone 1",
                                      "0: HDEL h gone", "0: DEL k0", "0: RENAME k1 k1b",
                                      "0: UNLINK k2", "0: SET flt 1.25 KEEPTTL"}));
  EXPECT_EQ(loader.report().transactions, 1u);
  ASSERT_TRUE(loader.report().base);
  EXPECT_EQ(loader.report().base->aux.at("aof-base"), "1");

  Database& database = fixture.keyspace[0];
  const Slot slot = database.find(fixture.context, "h");
  ASSERT_NE(slot, kNoSlot);
  const auto field = database.members(fixture.context, slot).find("b");
  ASSERT_TRUE(field);
  EXPECT_EQ(field->deadline, at(4'102'444'800'007));
}

}  // namespace aof_golden_test
}  // namespace mayfly
