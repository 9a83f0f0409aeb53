// SPDX-License-Identifier: Apache-2.0
// StreamCopier: a stream becomes members and a payload again, without loss, for servers of all
// versions. export_test.py copies streams of real servers.

#include "cli/import/import_stream.h"

#include <gtest/gtest.h>

#include "cli/scratch_keyspace.h"
#include "persist/rdb/rdb_save.h"

namespace mayfly {
namespace import_stream_test {

using Type = rdb::Type;

// The payload of a stream with a deleted entry and a group.
std::string payload_of_stream(Type newest = Type::stream3) {
  auto stream = std::make_unique<Stream>();
  const std::vector<std::string_view> words = {"f", "v", "", "7"};
  for (std::uint64_t i = 1; i <= 3; ++i) stream->append({i, i}, words, {});
  stream->erase({2, 2});
  stream->set_last_id({9, 0});
  StreamGroup* const group = stream->make_group("g", {1, 1}, 1);
  StreamConsumer* const consumer = group->make_consumer("ann", Time(Millis(1'000)));
  group->deliver({1, 1}, *consumer, Time(Millis(900)), 3);
  ScratchKeyspace scratch;
  const Slot slot = scratch.database.put_stream({}, "s", std::move(stream));
  return dump_value(scratch.database, slot, {.streams = newest});
}

TEST(StreamCopier, KeepsEntriesAndStateApart) {
  StreamCopier copier;
  const Result<std::vector<CopyMember>> members = copier.members(payload_of_stream());
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 3u);
  EXPECT_EQ((*members)[0].name, "");
  EXPECT_EQ(stream_id_text((*members)[1].name), "1-1");
  EXPECT_EQ(stream_id_text((*members)[2].name), "3-3");
  EXPECT_EQ(stream_words((*members)[2].value), (std::vector<std::string_view>{"f", "v", "", "7"}));
}

TEST(StreamCopier, GivesBackWhatItTookInTheTypeThatIsAskedFor) {
  StreamCopier copier;
  for (const Type type : {Type::stream, Type::stream2, Type::stream3}) {
    const std::string before = payload_of_stream(type);
    EXPECT_EQ(before[0], static_cast<char>(type));
    const Result<std::vector<CopyMember>> members = copier.members(payload_of_stream());
    ASSERT_TRUE(members);
    // Deleted entries are gone from the blocks, so the bytes differ, but not what they say.
    const Result<std::string> after = copier.payload(*members, type);
    ASSERT_TRUE(after);
    EXPECT_EQ((*after)[0], static_cast<char>(type));
    const Result<std::vector<CopyMember>> again = copier.members(*after);
    ASSERT_TRUE(again);
    ASSERT_EQ(again->size(), members->size());
    for (std::size_t i = 1; i < members->size(); ++i) {
      EXPECT_EQ((*again)[i].name, (*members)[i].name);
      EXPECT_EQ((*again)[i].value, (*members)[i].value);
    }
    if (type == Type::stream3) EXPECT_EQ((*again)[0].value, (*members)[0].value);
  }
}

TEST(StreamCopier, WithoutAStateTheLastEntryIsTheLast) {
  StreamCopier copier;
  Result<std::vector<CopyMember>> members = copier.members(payload_of_stream());
  ASSERT_TRUE(members);
  members->erase(members->begin());
  EXPECT_TRUE(copier.payload(*members, Type::stream3));
}

TEST(StreamCopier, RefusesOtherTypesAndWhatIsNoStream) {
  StreamCopier copier;
  ScratchKeyspace scratch;
  const Slot slot = scratch.database.put_string({}, "s", "text");
  EXPECT_EQ(copier.members(dump_value(scratch.database, slot, {})).error().code, Code::invalid);
  EXPECT_EQ(copier.members("\x15 damaged").error().code, Code::corrupt);
  const std::string id(16, '\1');
  const std::string words("\0\0\0\1f\0\0\0\1v", 10);
  EXPECT_TRUE(copier.payload({{id, words}}, Type::stream3));
  EXPECT_FALSE(copier.payload({{"short", words}}, Type::stream3));
  EXPECT_FALSE(copier.payload({{id, words}, {id, words}}, Type::stream3));
  EXPECT_FALSE(copier.payload({{id, words.substr(0, 5)}}, Type::stream3));
  EXPECT_FALSE(copier.payload({{id, "\1"}}, Type::stream3));
  EXPECT_FALSE(copier.payload({{"", "no payload"}}, Type::stream3));
  EXPECT_FALSE(copier.payload({{"", dump_value(scratch.database, slot, {})}}, Type::stream3));
  EXPECT_TRUE(copier.members(payload_of_stream())) << "and goes on";
}

}  // namespace import_stream_test
}  // namespace mayfly
