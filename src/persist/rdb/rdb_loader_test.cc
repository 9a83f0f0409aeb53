// SPDX-License-Identifier: Apache-2.0
// RdbLoader: what a file puts into a keyspace, what is left out, and what ends a load.

#include "persist/rdb/rdb_loader.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keyspace/eviction.h"
#include "keyspace/keyspace_fixture.h"
#include "mayfly/random.h"
#include "persist/rdb/rdb_save.h"
#include "persist/rdb/rdb_test_file.h"

namespace mayfly {
namespace rdb_loader_test {

using rdb::Opcode;
using rdb::Type;

class RdbLoaderTest : public testing::Test, protected KeyspaceFixture {
 protected:
  // The message of the error, or "".
  std::string load(const std::string& bytes, RdbLoadOptions options = {}) {
    options.now = context.now;
    StringSource source(bytes);
    RdbLoader loader(source, keyspace, options);
    Result<bool> ended = false;
    while (ended && !*ended) ended = loader.step(100);
    report = loader.report();
    for (int i = 0; i < keyspace.count(); ++i) EXPECT_EQ(keyspace[i].check_invariants(), "");
    return ended ? "" : ended.error().message;
  }

  // A hash whose fields have these deadlines, -1 for none.
  static TestFile& add_hash(TestFile& file, std::string_view key,
                            const std::map<std::string, std::int64_t>& fields) {
    file.type(Type::hash2).text(key).length(fields.size());
    for (const auto& [field, deadline] : fields) file.text(field).text("v").number(deadline);
    return file;
  }

  std::int64_t now() const { return context.now.time_since_epoch().count(); }

  RdbReport report;
};

TEST_F(RdbLoaderTest, LeavesOutWhatIsDueAndCountsIt) {
  TestFile file("VALKEY080");
  file.op(Opcode::expire_ms).number(now()).string_key("due", "v");
  file.op(Opcode::expire_ms).number(now() + 1).string_key("alive", "v");
  add_hash(file, "some", {{"due", now()}, {"alive", now() + 1}, {"never", -1}});
  add_hash(file, "all", {{"a", now()}, {"b", 0}});
  add_hash(file.op(Opcode::expire_ms).number(1), "gone", {{"a", -1}, {"b", 0}});

  ASSERT_EQ(load(file.end()), "");
  EXPECT_EQ(report.version, 80);
  EXPECT_EQ(report.keys, 2u);
  EXPECT_EQ(report.members, 2u);
  EXPECT_EQ(report.due_keys, 3u);
  EXPECT_EQ(report.due_members, 3u);
  EXPECT_EQ(report.bytes, file.end().size());
  EXPECT_EQ(database.stored(), 2u);
  EXPECT_EQ(database.members(context, database.find(context, "some")).stored(), 2u);
  EXPECT_EQ(database.deadline(database.find(context, "alive")), in(1));
  EXPECT_TRUE(recorder.events.empty());
}

TEST_F(RdbLoaderTest, AKeyHasItsStaleTime) {
  database.set_deadline(database.put_string(context, "page", "html"), in(50), Millis(20));
  database.set_deadline(database.put_string(context, "plain", "v"), in(50));
  StringSink sink;
  ASSERT_TRUE(save_rdb(keyspace, sink, {}, {}));
  database.clear();
  ASSERT_EQ(load(sink.bytes), "");
  EXPECT_EQ(database.deadline(database.find(context, "page")), in(50));
  EXPECT_EQ(database.stale_time(database.find(context, "page")), Millis(20));
  EXPECT_EQ(database.stale_time(database.find(context, "plain")), Millis(0));
  EXPECT_FALSE(report.aux.contains(std::string(rdb::kStaleField)));
}

TEST_F(RdbLoaderTest, AStrangeStaleTimeIsAnErrorOrNothing) {
  const auto file_with = [&](std::string_view stale, std::int64_t deadline) {
    TestFile file("REDIS0010");
    file.op(Opcode::aux).text(rdb::kStaleField).text(stale);
    file.op(Opcode::expire_ms).number(deadline).string_key("page", "v");
    return file.end();
  };
  EXPECT_NE(load(file_with("-1", now() + 5)).find("a stale time of '-1' ms"), std::string::npos);
  EXPECT_NE(load(file_with("x", now() + 5)).find("a stale time of 'x' ms"), std::string::npos);
  ASSERT_EQ(load(file_with("9223372036854775807", INT64_MIN), {.keeps_due = true}), "");
  EXPECT_EQ(database.stale_time(database.stored_slot("page")), Millis(0));
  database.clear();
  ASSERT_EQ(load(file_with("9223372036854775807", now() + 5)), "");
  EXPECT_TRUE(database.is_stale(database.find(context, "page"), context.now));

  TestFile without("REDIS0010");
  without.op(Opcode::aux).text(rdb::kStaleField).text("5").string_key("key", "v");
  database.clear();
  ASSERT_EQ(load(without.end()), "");
  EXPECT_EQ(database.stale_time(database.find(context, "key")), Millis(0));
}

TEST_F(RdbLoaderTest, KeepsWhatIsDueForAReplica) {
  TestFile file("VALKEY080");
  file.op(Opcode::expire_ms).number(now()).string_key("due", "v");
  add_hash(file, "hash", {{"due", 5}, {"never", -1}});
  ASSERT_EQ(load(file.end(), {.keeps_due = true}), "");
  EXPECT_EQ(report.keys, 2u);
  EXPECT_EQ(report.due_keys + report.due_members, 0u);
  EXPECT_EQ(database.stored(), 2u);
  EXPECT_EQ(database.size(context), 1u);
  EXPECT_EQ(database.members(context, database.peek(context, "hash")).size(), 1u);
  EXPECT_EQ(keyspace.sweep(context, 100), 2u);
}

TEST_F(RdbLoaderTest, RefusesAKeyThatIsThereTwice) {
  TestFile file;
  file.string_key("a", "1").string_key("b", "1").string_key("a", "2").string_key("c", "1");
  EXPECT_EQ(load(file.end()), "duplicate key: key 'a' at offset 19");
  EXPECT_EQ(database.stored(), 2u);
  EXPECT_EQ(database.string(database.find(context, "a")), "1");
}

TEST_F(RdbLoaderTest, RefusesAFieldThatIsThereTwice) {
  TestFile file;
  file.type(Type::hash).text("h").length(2).text("f").text("1").text("f").text("2");
  EXPECT_EQ(load(file.end()), "duplicate field in a hash: key 'h' at offset 9");

  TestFile large;
  large.type(Type::hash).text("large").length(9'001);
  for (int i = 0; i < 9'001; ++i) large.text(std::to_string(i % 9'000)).text("v");
  EXPECT_EQ(load(large.end()), "duplicate field in a hash: key 'large' at offset 9");
}

TEST_F(RdbLoaderTest, RefusesADatabaseThatIsNotThere) {
  TestFile file;
  file.op(Opcode::select_db).length(15).string_key("a", "1");
  file.op(Opcode::select_db).length(16).string_key("b", "1");
  EXPECT_EQ(load(file.end()),
            "the file has a database 16, but `databases` is 16 and must be raised: key 'b' at "
            "offset 18");
  EXPECT_EQ(keyspace[15].stored(), 1u);
}

TEST_F(RdbLoaderTest, SkipsAndCountsFunctions) {
  TestFile file;
  file.op(Opcode::function2).text("code").op(Opcode::function2).text("more");
  file.string_key("k", "v");
  EXPECT_EQ(load(file.end()), "");
  EXPECT_EQ(report.skipped, (std::map<std::string, std::uint64_t>{{"function", 2}}));
  EXPECT_EQ(report.keys, 1u);
}

TEST_F(RdbLoaderTest, LoadsListsAndStreamsAndLeavesOutThoseThatAreDue) {
  Stream stream;
  stream.append({1, 1}, std::vector<std::string_view>{"f", "v"}, {});
  const auto add_stream = [&](TestFile& file) {
    file.blocks(stream).length(1).id({5, 0}).id({1, 1}).id({0, 0}).length(3).length(0);
  };
  TestFile file;
  file.type(Type::list).text("list").length(2).text("a").text("b");
  file.type(Type::list).text("empty").length(0);
  add_stream(file.type(Type::stream2).text("stream"));
  file.op(Opcode::expire_ms).number(now()).type(Type::list).text("due").length(1).text("a");
  add_stream(file.op(Opcode::expire_ms).number(now()).type(Type::stream2).text("gone"));
  file.op(Opcode::expire_ms).number(now() + 1).type(Type::list).text("l").length(1).text("a");
  add_stream(file.op(Opcode::expire_ms).number(now() + 1).type(Type::stream2).text("s"));
  ASSERT_EQ(load(file.end()), "");
  EXPECT_EQ(report.keys, 4u);
  EXPECT_EQ(report.members, 5u);
  EXPECT_EQ(report.due_keys, 2u);
  EXPECT_EQ(database.stored(), 4u);
  EXPECT_EQ(database.deadline(database.find(context, "l")), in(1));
  EXPECT_EQ(database.deadline(database.find(context, "s")), in(1));
  EXPECT_EQ(database.list(database.find(context, "list")).size(), 2u);
  EXPECT_EQ(stream_lines(database.stream(database.find(context, "stream"))),
            (std::vector<std::string>{"1-1 f v", "last 5-0 deleted 0-0 added 3"}));

  EXPECT_EQ(load(TestFile().type(Type::list).text("s").length(1).text("a").end()),
            "duplicate key: key 's' at offset 9");
  TestFile twice;
  add_stream(twice.type(Type::stream2).text("l"));
  EXPECT_EQ(load(twice.end()), "duplicate key: key 'l' at offset 9");
}

TEST_F(RdbLoaderTest, TellsWhatTheFileSaysAboutItself) {
  TestFile file;
  file.op(Opcode::aux).text("redis-ver").text("7.0.15").op(Opcode::aux).text("ctime").text("5");
  EXPECT_EQ(load(file.end()), "");
  EXPECT_EQ(report.aux,
            (std::map<std::string, std::string>{{"ctime", "5"}, {"redis-ver", "7.0.15"}}));
}

TEST_F(RdbLoaderTest, AppliesIdleTimes) {
  TestFile file;
  file.op(Opcode::idle).length(500).string_key("idle", "v").op(Opcode::freq).byte(9);
  file.string_key("often", "v");
  ASSERT_EQ(load(file.end()), "");
  EXPECT_EQ(idle_seconds(database.node(database.find(context, "idle")).access, context.now), 500u);
  EXPECT_EQ(idle_seconds(database.node(database.find(context, "often")).access, context.now), 0u);
}

TEST_F(RdbLoaderTest, AppliesFrequencies) {
  keyspace.options().uses_lfu = true;
  TestFile file;
  file.op(Opcode::freq).byte(99).string_key("often", "v");
  ASSERT_EQ(load(file.end()), "");
  EXPECT_EQ(lfu_frequency(database.node(database.find(context, "often")).access, context.now), 99u);
}

TEST_F(RdbLoaderTest, LoadsInSlicesAndGivesThePolicyBack) {
  TestFile file;
  for (int i = 0; i < 100; ++i) file.string_key("key " + std::to_string(i), "v");
  file.type(Type::hash).text("large").length(20'000);
  for (int i = 0; i < 20'000; ++i) file.text(std::to_string(i)).text("v");
  const std::string bytes = file.end();
  StringSource source(bytes);
  RdbLoader loader(source, keyspace, {.now = context.now});
  std::vector<std::size_t> stored;
  Result<bool> ended = false;
  while (ended && !*ended) {
    ended = loader.step(40);
    EXPECT_EQ(database.check_invariants(), "");
    stored.push_back(database.stored());
  }
  ASSERT_TRUE(ended);
  EXPECT_EQ(stored, (std::vector<std::size_t>{40, 80, 101, 101, 101, 101, 101, 101}));
  EXPECT_EQ(database.members(context, database.find(context, "large")).size(), 20'000u);
  EXPECT_EQ(loader.offset(), bytes.size());
}

TEST_F(RdbLoaderTest, StopsAtTheEndOfTheFile) {
  const std::string file = TestFile().string_key("k", "v").end();
  ASSERT_EQ(load(file + "*1\r\n$4\r\nPING\r\n"), "");
  EXPECT_EQ(report.bytes, file.size());
}

// What a keyspace holds, as text.
std::vector<std::string> contents(Keyspace& keyspace) {
  const ExecContext context{.policy = Policy::show};
  std::vector<std::string> lines;
  const auto moment = [](Time deadline) {
    return " @" + std::to_string(deadline.time_since_epoch().count());
  };
  for (int i = 0; i < keyspace.count(); ++i) {
    Database& database = keyspace[i];
    database.each([&](Slot slot) {
      const std::string line = std::to_string(i) + std::string(database.key(slot));
      if (database.type(slot) == ValueType::string) {
        lines.push_back(line + "=" + std::string(database.string(slot)));
      } else if (database.type(slot) == ValueType::list) {
        std::size_t index = 0;
        database.list(slot).each(0, SIZE_MAX, true, [&](const ListpackValue& value) {
          char scratch[24];
          lines.push_back(line + "[" + std::to_string(index++) +
                          "]=" + std::string(value.as_text(scratch)));
          return true;
        });
      } else if (database.type(slot) == ValueType::stream) {
        for (const std::string& part : stream_lines(database.stream(slot))) {
          lines.push_back(line + ":" + part);
        }
      } else {
        const std::string type(type_name(database.type(slot)));
        database.members(context, slot).each([&](const Member& member) {
          lines.push_back(line + "." + type + "." + std::string(member.name) + "=" +
                          std::string(member.value) + moment(member.deadline));
          return true;
        });
      }
      lines.push_back(line + moment(database.deadline(slot)));
      return true;
    });
  }
  std::ranges::sort(lines);
  return lines;
}

// Entries of which some are deleted, groups, consumers of all states and pending entries.
std::unique_ptr<Stream> random_stream(Random& random) {
  auto stream = std::make_unique<Stream>();
  const StreamLimits limits{.block_bytes = 300 + random.below(4000), .block_entries = 20};
  StreamId id{random.below(3), 0};
  for (std::uint64_t i = random.below(200); i > 0; --i) {
    id = random.below(3) == 0 ? StreamId{id.ms + random.below(5) + 1, 0}
                              : StreamId{id.ms, id.seq + 1};
    const std::string value(random.below(40), 'v');
    const std::string number = std::to_string(random.below(1 << 20));
    const std::vector<std::string_view> words = {"f", value, random.below(3) == 0 ? "h" : "g",
                                                 number};
    stream->append(id, words, limits);
    if (random.below(6) == 0) stream->erase(id);
  }
  if (random.below(4) == 0) stream->set_last_id({id.ms + 100, 7});
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    const bool is_known = random.below(2) == 0;
    StreamGroup* const group = stream->make_group(
        "group " + std::to_string(i), stream->top_id(),
        is_known ? std::optional<std::uint64_t>(random.below(99)) : std::nullopt);
    for (std::uint64_t j = random.below(4); j > 0; --j) {
      const Time seen = at(static_cast<std::int64_t>(random.below(1'000'000)));
      StreamConsumer* const consumer = group->make_consumer(std::to_string(j), seen);
      consumer->active = random.below(3) == 0 ? std::nullopt : std::optional(seen);
      for (std::uint64_t k = random.below(30); k > 0; --k) {
        group->deliver({random.below(9), random.below(9)}, *consumer, seen, random.below(300));
      }
    }
  }
  return stream;
}

void fill(Keyspace& keyspace, std::uint64_t seed) {
  const ExecContext context{.now = at(1'000'000)};
  Random random(seed);
  const auto deadline = [&] {
    return random.below(2) == 0 ? kNever
                                : at(static_cast<std::int64_t>(2'000'000 + random.below(99)));
  };
  const auto text = [&](std::string_view name) {
    std::string value(name);
    value += std::to_string(random.below(1'000'000));
    return random.below(5) == 0 ? value.substr(name.size()) : value.append(random.below(80), 'x');
  };
  for (int i = 0; i < 60; ++i) {
    Database& database = keyspace[static_cast<int>(random.below(3))];
    const std::string key = text("key");
    if (database.find(context, key) != kNoSlot) continue;
    const std::uint64_t kind = random.below(6);
    if (kind < 2) {
      database.set_deadline(database.put_string(context, key, text("value")), deadline());
      continue;
    }
    if (kind == 2) {
      const Slot slot = database.put_stream(context, key, random_stream(random));
      database.set_deadline(slot, deadline());
      continue;
    }
    if (kind == 3) {
      const Slot slot = database.make_list(context, key);
      ListRef list = database.list(slot);
      for (std::uint64_t j = 1 + random.below(random.below(3) == 0 ? 3'000 : 20); j > 0; --j) {
        list.push(ListEnd::tail, random.below(400) == 0 ? std::string(10'000, 'x') : text("e"));
      }
      database.set_deadline(slot, deadline());
      continue;
    }
    constexpr ValueType kTypes[] = {ValueType::hash, ValueType::set, ValueType::zset};
    const ValueType type = kTypes[random.below(3)];
    const Slot slot = database.make_members(context, type, key);
    const bool has_deadlines = random.below(2) == 0;
    const std::uint64_t members = 1 + random.below(random.below(10) == 0 ? 2'000 : 20);
    for (std::uint64_t j = 0; j < members; ++j) {
      const Time until = has_deadlines ? deadline() : kNever;
      std::string payload;
      if (type == ValueType::hash) payload = text("value");
      if (type == ValueType::zset) payload = ScoreBytes(random.fraction() * 1e6).view();
      database.members(context, slot).put(text("member"), payload, until);
    }
  }
}

class RdbRoundTrip : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RdbRoundTrip, LoadsWhatWasSaved) {
  KeyspaceFixture saved;
  fill(saved.keyspace, GetParam());
  StringSink sink;
  ASSERT_TRUE(save_rdb(saved.keyspace, sink, {}, {}));

  KeyspaceFixture loaded;
  PieceSource source(sink.bytes, 100 + 50'000 * GetParam());
  RdbLoader loader(source, loaded.keyspace, {.now = loaded.context.now});
  Result<bool> ended = false;
  while (ended && !*ended) ended = loader.step(10);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_TRUE(contents(loaded.keyspace) == contents(saved.keyspace));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(loaded.keyspace[i].check_invariants(), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, RdbRoundTrip, testing::Range<std::uint64_t>(0, 8));

}  // namespace rdb_loader_test
}  // namespace mayfly
