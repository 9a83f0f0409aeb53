// SPDX-License-Identifier: Apache-2.0
// The bytes of each part. What they mean together is tested with the loader (rdb_loader_test.cc).

#include "persist/rdb/rdb_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hex.h"
#include "keyspace/keyspace_fixture.h"
#include "persist/crc64.h"
#include "persist/lzf.h"

namespace mayfly {
namespace rdb_writer_test {

// Takes so many bytes and no more.
class FullSink final : public ByteSink {
 public:
  explicit FullSink(std::size_t room) : room_(room) {}

  Status write(std::string_view bytes) override {
    if (has_failed) ++writes_after_failure;
    has_failed = bytes.size() > room_;
    if (has_failed) return Error{Code::full, "no room"};
    room_ -= bytes.size();
    return Done{};
  }

  bool has_failed = false;
  int writes_after_failure = 0;

 private:
  std::size_t room_;
};

class RdbWriterTest : public testing::Test, public KeyspaceFixture {
 protected:
  template <class Write>
  std::string written(Write write, const RdbOptions& options = {}) {
    StringSink sink;
    RdbWriter writer(sink, options);
    write(writer);
    EXPECT_TRUE(writer.flush().ok());
    EXPECT_EQ(writer.bytes(), sink.bytes.size());
    return sink.bytes;
  }
  std::string value(Slot slot, const RdbOptions& options = {}) {
    return written([&](RdbWriter& writer) { writer.value(database, slot); }, options);
  }
  std::string string(std::string_view text, const RdbOptions& options = {}) {
    return value(database.put_string(context, "key", text), options);
  }
  Slot hash_of(std::size_t fields, std::size_t value_size) {
    const Slot slot = database.make_members(context, ValueType::hash, "hash");
    for (std::size_t i = 0; i < fields; ++i) {
      database.members(context, slot).put("f" + std::to_string(i), std::string(value_size, 'v'));
    }
    return slot;
  }
};

std::string uncompressed(std::string_view lzf, std::size_t size) {
  std::string text(size, '\0');
  return lzf_decompress(lzf, text) ? text : "";
}

TEST_F(RdbWriterTest, BeginsWithTheNameOfWhoUnderstandsIt) {
  EXPECT_EQ(written([](RdbWriter& writer) { writer.header(10); }), "REDIS0010");
  EXPECT_EQ(written([](RdbWriter& writer) { writer.header(80); }), "VALKEY080");
}

TEST_F(RdbWriterTest, WritesAuxAndSelectAsOpcodes) {
  EXPECT_EQ(hex(written([](RdbWriter& writer) { writer.aux("redis-bits", "64"); })),
            "fa0a72656469732d62697473c040");
  EXPECT_EQ(hex(written([](RdbWriter& writer) { writer.select(3, 300, 5); })), "fe03fb412c05");
}

TEST_F(RdbWriterTest, WritesLengthsInOneTwoFiveOrNineBytes) {
  const auto length = [&](std::size_t keys) {
    return hex(written([&](RdbWriter& writer) { writer.select(0, keys, 0); })).substr(6);
  };
  EXPECT_EQ(length(63), "3f00");
  EXPECT_EQ(length(64), "404000");
  EXPECT_EQ(length(16'383), "7fff00");
  EXPECT_EQ(length(16'384), "800000400000");
  EXPECT_EQ(length(0xFFFFFFFF), "80ffffffff00");
  EXPECT_EQ(length(std::size_t{1} << 32), "81000000010000000000");
}

// As DUMP of Redis 7.0.15 has them.
TEST_F(RdbWriterTest, WritesIntegersOfUpTo32BitsAsIntegers) {
  EXPECT_EQ(hex(string("10")), "c00a");
  EXPECT_EQ(hex(string("-1")), "c0ff");
  EXPECT_EQ(hex(string("127")), "c07f");
  EXPECT_EQ(hex(string("128")), "c18000");
  EXPECT_EQ(hex(string("-128")), "c080");
  EXPECT_EQ(hex(string("-129")), "c17fff");
  EXPECT_EQ(hex(string("32767")), "c1ff7f");
  EXPECT_EQ(hex(string("32768")), "c200800000");
  EXPECT_EQ(hex(string("2147483647")), "c2ffffff7f");
  EXPECT_EQ(hex(string("-2147483648")), "c200000080");
  EXPECT_EQ(hex(string("2147483648")), "0a32313437343833363438");
  EXPECT_EQ(hex(string("-2147483649")), "0b2d32313437343833363439");
}

TEST_F(RdbWriterTest, KeepsOtherSpellingsOfNumbersAsTexts) {
  EXPECT_EQ(hex(string("042")), "03303432");
  EXPECT_EQ(hex(string("-0")), "022d30");
  EXPECT_EQ(hex(string("")), "00");
  EXPECT_EQ(hex(string("hello")), "0568656c6c6f");
}

TEST_F(RdbWriterTest, CompressesStringsOfMoreThan20Bytes) {
  EXPECT_EQ(string(std::string(20, 'a')), "\x14" + std::string(20, 'a'));
  EXPECT_EQ(hex(string(std::string(21, 'a'))), "c30615016161e00a00");
  EXPECT_EQ(hex(string(std::string(100, 'a'))), "c3094064016161e05700016161");
  EXPECT_EQ(string(std::string(21, 'a'), {.compresses = false}), "\x15" + std::string(21, 'a'));
}

TEST_F(RdbWriterTest, DoesNotCompressWhatThatMakesHardlyShorter) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  EXPECT_EQ(string(letters), "\x1a" + letters);
  EXPECT_EQ(string(letters + "abcdefghij"), "\x24" + letters + "abcdefghij");  // by 3 bytes
  EXPECT_EQ(hex(string(letters + letters)).substr(0, 2), "c3");
}

TEST_F(RdbWriterTest, WritesStringsThatJustFillItsBuffer) {
  for (const std::size_t size : {65'530, 65'531, 65'532, 65'535, 65'536, 65'537, 131'072}) {
    const std::string text(size, 't');
    const std::string bytes = string(text, {.compresses = false});
    ASSERT_EQ(bytes.size(), 5 + size);
    EXPECT_EQ(bytes.compare(5, size, text), 0);
  }
}

TEST_F(RdbWriterTest, WritesStringsLongerThanItsBuffer) {
  Random random(1);
  std::string text;
  while (text.size() < 1'000'003) text += static_cast<char>(random.next() >> 24);
  EXPECT_EQ(string(text), std::string("\x80\x00\x0f\x42\x43", 5) + text);

  const std::string repeated(300'000, 'r');
  const std::string bytes = string(repeated);
  ASSERT_EQ(hex(bytes.substr(0, 1)), "c3");
  const std::size_t size = static_cast<unsigned char>(bytes[1] & 0x3F) * std::size_t{256} +
                           static_cast<unsigned char>(bytes[2]);
  EXPECT_EQ(hex(bytes.substr(3, 5)), "80000493e0");
  EXPECT_EQ(bytes.size(), 8 + size);
  EXPECT_EQ(uncompressed(std::string_view(bytes).substr(8), repeated.size()), repeated);
}

TEST_F(RdbWriterTest, PutsDeadlineTypeAndNameBeforeTheValue) {
  const Slot slot = database.put_string(context, "k", "v");
  const auto entry = [&] { return written([&](RdbWriter& w) { w.entry(database, slot); }); };
  EXPECT_EQ(hex(entry()), "00016b0176");
  database.set_deadline(slot, at(0x0102030405));
  EXPECT_EQ(hex(entry()),
            "fc0504030201000000"
            "00016b0176");
}

TEST_F(RdbWriterTest, WritesDeadlinesBefore1970AsLongOver) {
  const Slot slot = database.put_string(context, "k", "v");
  database.set_deadline(slot, at(-1));
  EXPECT_EQ(hex(written([&](RdbWriter& w) { w.entry(database, slot); })),
            "fc0000000000000000"
            "00016b0176");
  const Slot hash = make_hash("h", {"f"}, at(-1));
  EXPECT_EQ(hex(value(hash)),
            "010166016600000000"
            "00000000");
}

TEST_F(RdbWriterTest, WritesTheUseOfAKeyIfAsked) {
  const Slot slot = database.put_string(context, "k", "v");
  const auto entry = [&] {
    return written([&](RdbWriter& w) { w.entry(database, slot, true); }, {.now = context.now});
  };
  advance(300'000);
  EXPECT_EQ(hex(entry()),
            "f8412c"
            "00016b0176");  // idle for 300 seconds

  KeyspaceFixture lfu({.uses_lfu = true});
  const Slot used = lfu.database.put_string(lfu.context, "k", "v");
  EXPECT_EQ(hex(written([&](RdbWriter& w) { w.entry(lfu.database, used, true); },
                        {.now = lfu.context.now})),
            "f905"
            "00016b0176");
}

TEST_F(RdbWriterTest, WritesASmallHashAsAListpack) {
  const Slot slot = database.make_members(context, ValueType::hash, "h");
  database.members(context, slot).put("a", "1");
  EXPECT_EQ(RdbWriter::type_of(database, slot, {}), rdb::Type::hash_listpack);
  EXPECT_EQ(hex(value(slot)), "0c0c00000002008161020101ff");
  database.members(context, slot).put("a", std::string(64, 'x'));
  EXPECT_EQ(hex(value(slot)), "c313404d0b4d0000000200816102e04078e036000142ff");
}

TEST_F(RdbWriterTest, WritesALargeHashFieldByField) {
  const Slot slot = database.make_members(context, ValueType::hash, "h");
  database.members(context, slot).put("f", std::string(65, 'x'));
  EXPECT_EQ(RdbWriter::type_of(database, slot, {}), rdb::Type::hash);
  EXPECT_EQ(hex(value(slot)), "010166c3094041017878e03400017878");

  EXPECT_EQ(RdbWriter::type_of(database, hash_of(512, 3), {}), rdb::Type::hash_listpack);
  EXPECT_EQ(RdbWriter::type_of(database, hash_of(513, 3), {}), rdb::Type::hash);
}

TEST_F(RdbWriterTest, WritesNoListpackBeyondWhatOthersExpectWhateverTheLimits) {
  keyspace.options().packed_hash.members = 10'000;
  keyspace.options().packed_hash.text_bytes = 1 << 26;
  EXPECT_EQ(RdbWriter::type_of(database, hash_of(512, 3), {}), rdb::Type::hash_listpack);
  EXPECT_EQ(RdbWriter::type_of(database, hash_of(513, 3), {}), rdb::Type::hash);
  EXPECT_EQ(RdbWriter::type_of(database, hash_of(1, 5000), {}), rdb::Type::hash_listpack);
  EXPECT_EQ(RdbWriter::type_of(database, hash_of(1, 1 << 25), {}), rdb::Type::hash);
}

// The example of a DUMP of Valkey's: 04 live c0 01 <8 bytes> 04 perm c0 02 ff..ff.
TEST_F(RdbWriterTest, WritesFieldsWithDeadlinesAsValkeyDoes) {
  const Slot slot = database.make_members(context, ValueType::hash, "h");
  database.members(context, slot).put("live", "1", at(0x0102030405));
  database.members(context, slot).put("perm", "2");
  EXPECT_EQ(RdbWriter::type_of(database, slot, {}), rdb::Type::hash2);
  EXPECT_EQ(hex(value(slot)),
            "02"
            "046c697665"
            "c001"
            "0504030201000000"
            "047065726d"
            "c002"
            "ffffffffffffffff");
}

TEST_F(RdbWriterTest, WritesFieldsThatAreDue) {
  const Slot slot = make_hash("h", {"a", "b"}, in(10));
  advance(20);
  EXPECT_EQ(value(slot).size(), 1u + 2 * (2 + 2 + 8));
}

TEST_F(RdbWriterTest, WritesALargeHashWithDeadlines) {
  const Slot slot = hash_of(2000, 13);
  EXPECT_EQ(RdbWriter::type_of(database, slot, {}), rdb::Type::hash);
  EXPECT_TRUE(database.members(context, slot).set_deadline("f7", in(10)));
  EXPECT_EQ(RdbWriter::type_of(database, slot, {}), rdb::Type::hash2);
  std::size_t names = 0;
  for (int i = 0; i < 2000; ++i) names += 1 + std::to_string(i).size();
  EXPECT_EQ(value(slot).size(), 2 + names + 2000u * (1 + 14 + 8));

  EXPECT_TRUE(database.members(context, slot).set_deadline("f7", kNever));
  EXPECT_EQ(RdbWriter::type_of(database, slot, {}), rdb::Type::hash);
}

TEST_F(RdbWriterTest, EndsWithTheChecksumOfAllBefore) {
  StringSink sink;
  RdbWriter writer(sink, {});
  writer.header(10);
  const Slot slot = database.put_string(context, "k", std::string(200'000, 'x') + "y");
  writer.entry(database, slot);
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(writer.bytes(), sink.bytes.size());
  const std::string before = sink.bytes.substr(0, sink.bytes.size() - 8);
  EXPECT_EQ(hex(before.substr(before.size() - 1)), "ff");
  std::uint64_t crc = 0;
  std::memcpy(&crc, sink.bytes.data() + before.size(), sizeof crc);
  EXPECT_EQ(crc, crc64(0, before));
}

TEST_F(RdbWriterTest, EndsWithZeroIfThereIsNoChecksum) {
  StringSink sink;
  RdbWriter writer(sink, {.checksums = false});
  writer.header(10);
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(hex(sink.bytes), hex("REDIS0010") +
                                 "ff"
                                 "0000000000000000");
}

TEST_F(RdbWriterTest, KeepsTheFirstErrorAndWritesNothingAfterIt) {
  const Slot small = database.put_string(context, "small", "value");
  const Slot big = database.put_string(context, "big", std::string(500'000, 'b'));
  const Slot hash = hash_of(5000, 15);
  database.members(context, hash).set_deadline("f1", in(10));
  const RdbOptions plain{.compresses = false};
  for (const std::size_t room : {0, 1, 70'000, 300'000, 500'100, 620'000}) {
    FullSink sink(room);
    RdbWriter writer(sink, plain);
    writer.header(80);
    for (const Slot slot : {small, big, hash, small}) writer.entry(database, slot);
    const Status status = writer.finish();
    ASSERT_FALSE(status.ok()) << room;
    EXPECT_EQ(status.error().message, "no room");
    EXPECT_TRUE(writer.has_failed());
    EXPECT_EQ(sink.writes_after_failure, 0) << room;
  }
}

}  // namespace rdb_writer_test
}  // namespace mayfly
