// SPDX-License-Identifier: Apache-2.0
// Keys that come with slots, and keys that have gone with them.

#include "server/cluster/moves/slot_staging.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/cluster/moves/foreign_keys.h"
#include "server/core/key_events.h"
#include "server/core/server_call.h"
#include "server/core/server_fixture.h"
#include "server/replication/propagation.h"

namespace mayfly {
namespace slot_staging_test {

using std::chrono_literals::operator""ms;
using Lines = std::vector<std::string>;

Config two_databases() {
  Config config;
  config.databases = 2;
  return config;
}

class SlotStagingTest : public testing::Test {
 protected:
  SlotStagingTest() {
    parts_.keyspace.options().staging = SlotStaging::kDatabase;
    client_.run("SELECT 1");
  }
  ~SlotStagingTest() override {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(parts_.keyspace[i].check_invariants(), "");
  }

  Lines propagated() { return std::exchange(server_.propagated, {}); }
  std::string seen(std::string_view line) { return reader_.run(line); }

  static SlotSet slot_of(std::string_view tag) {
    SlotSet slots;
    slots.add(hash_slot(tag));
    return slots;
  }

  ServerFixture server_{two_databases()};
  const ServerParts& parts_ = server_.server().parts();
  TestClient& client_ = server_.connect();  // puts keys into the staging
  TestClient& reader_ = server_.connect();
  SlotStaging staging_{parts_.keyspace, parts_.propagation};
};

TEST_F(SlotStagingTest, MergesInSlices) {
  for (int i = 0; i < 100; ++i) client_.run("SET {in}" + std::to_string(i) + " v PX 1000000");
  client_.run("HSETEX {in}h PX 1000 FIELDS 1 f v");
  propagated();
  staging_.adopt(slot_of("in"));
  EXPECT_EQ(seen("DBSIZE"), "(integer) 0");
  staging_.merge_some(10);
  EXPECT_EQ(seen("DBSIZE"), "(integer) 10");
  EXPECT_EQ(propagated().front(), "1: MOVE {in}0 0");
  EXPECT_TRUE(staging_.is_merging());
  for (int i = 0; i < 40; ++i) staging_.merge_some(10);
  EXPECT_FALSE(staging_.is_merging());
  EXPECT_EQ(seen("DBSIZE"), "(integer) 101");
  EXPECT_EQ(seen("PTTL {in}7"), "(integer) 1000000");
  EXPECT_EQ(seen("HGET {in}h f"), "\"v\"");
  server_.advance(1000ms);
  EXPECT_EQ(seen("HGET {in}h f"), "(nil)");
  EXPECT_EQ(staging_.size(), 0u);
}

TEST_F(SlotStagingTest, MergesAKeyThatIsAskedFor) {
  client_.run("SET {in}a 1");
  client_.run("SET {in}b 2");
  propagated();
  staging_.adopt(slot_of("in"));
  staging_.merge_key("{in}b");
  staging_.merge_key("{in}c");
  parts_.propagation.flush();
  EXPECT_EQ(propagated(), (Lines{"1: MOVE {in}b 0"}));
  EXPECT_EQ(seen("GET {in}b"), "\"2\"");
  EXPECT_EQ(seen("GET {in}a"), "(nil)");
  seen("SET {in}b 3");
  staging_.merge_all();
  EXPECT_EQ(seen("MGET {in}a {in}b"), "[\"1\", \"3\"]");
  EXPECT_FALSE(staging_.is_merging());
}

TEST_F(SlotStagingTest, KeysOfOtherSlotsAreRemoved) {
  client_.run("SET {in}a 1");
  client_.run("SET {other}a 1");
  propagated();
  staging_.adopt(slot_of("in"));
  staging_.merge_all();
  EXPECT_EQ(propagated(), (Lines{"1: MOVE {in}a 0", "1: UNLINK {other}a"}));
  EXPECT_EQ(seen("DBSIZE"), "(integer) 1");
  EXPECT_EQ(staging_.size(), 0u);
}

TEST_F(SlotStagingTest, AnOldKeyIsReplaced) {
  seen("SET {in}a old");
  client_.run("SET {in}a new");
  propagated();
  staging_.adopt(slot_of("in"));
  staging_.merge_all();
  EXPECT_EQ(propagated(), (Lines{"0: UNLINK {in}a", "1: MOVE {in}a 0"}));
  EXPECT_EQ(seen("GET {in}a"), "\"new\"");
}

TEST_F(SlotStagingTest, IsDroppedAtOnce) {
  staging_.drop();
  EXPECT_EQ(propagated(), Lines{});
  client_.run("SET {in}a 1");
  propagated();
  staging_.drop();
  EXPECT_EQ(staging_.size(), 0u);
  EXPECT_EQ(propagated(), (Lines{"1: FLUSHDB ASYNC"}));
}

class ForeignKeysTest : public testing::Test {
 protected:
  static KeyspaceOptions options() {
    KeyspaceOptions options;
    options.hash_slot_of = hash_slot;
    return options;
  }

  static SlotSet all_but(std::string_view tag) {
    SlotSet slots = SlotSet::all();
    slots.remove(hash_slot(tag));
    return slots;
  }

  void put(const std::string& key) { keyspace_[0].put_string({}, key, "value"); }

  ServerFixture server_;
  const ServerParts& parts_ = server_.server().parts();
  Keyspace keyspace_{options(), parts_.events};
  ForeignKeys foreign_{keyspace_, parts_.events, parts_.propagation};
};

TEST_F(ForeignKeysTest, AreCountedAndRemovedInSlices) {
  for (int i = 0; i < 100; ++i) put("{out}" + std::to_string(i));
  for (int i = 0; i < 50; ++i) put("{own}" + std::to_string(i));
  EXPECT_EQ(foreign_.count(), 0u);
  foreign_.set_own(all_but("out"));
  EXPECT_EQ(foreign_.count(), 100u);
  EXPECT_TRUE(foreign_.contains("{out}1"));
  EXPECT_FALSE(foreign_.contains("{own}1"));
  EXPECT_TRUE(foreign_.remove_some({}, 50));
  EXPECT_EQ(foreign_.count(), 50u);
  while (foreign_.remove_some({}, 10)) {
  }
  EXPECT_EQ(foreign_.count(), 0u);
  EXPECT_EQ(keyspace_[0].stored(), 50u);
  std::size_t removed = 0;
  for (const std::string& line : server_.propagated) {
    EXPECT_TRUE(line.starts_with("0: UNLINK {out}")) << line;
    removed += static_cast<std::size_t>(std::ranges::count(line, '{'));
  }
  EXPECT_EQ(removed, 100u);
  EXPECT_EQ(keyspace_[0].check_invariants(), "");
}

TEST_F(ForeignKeysTest, TheKeptKeyStays) {
  keyspace_.options().kept_key = "{out}log";
  put("{out}log");
  put("{out}a");
  foreign_.set_own(all_but("out"));
  EXPECT_FALSE(foreign_.remove_some({}, 1000));
  EXPECT_EQ(keyspace_[0].stored(), 1u);
  EXPECT_FALSE(foreign_.remove_some({}, 1000)) << "it is not looked for again";
}

TEST_F(ForeignKeysTest, TheKeptKeyIsNotWaitedFor) {
  const SlotSet out({{hash_slot("{out}"), hash_slot("{out}")}});
  put("{out}log");
  put("{out}a");
  EXPECT_EQ(foreign_.count_removable(out), 2u);
  keyspace_.options().kept_key = "{out}log";
  EXPECT_EQ(foreign_.count_removable(out), 1u);
  EXPECT_EQ(foreign_.count_removable(SlotSet::all() - out), 0u);
  keyspace_.options().kept_key = "{out}other";
  EXPECT_EQ(foreign_.count_removable(out), 2u);
}

}  // namespace slot_staging_test
}  // namespace mayfly
