// SPDX-License-Identifier: Apache-2.0
// Damaged files: cut short, with flipped bits and with lengths that lie. Loading one ends in an
// error or in success, leaves the keyspace sound, and takes no more memory than its bytes justify.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "keyspace/keyspace_fixture.h"
#include "keyspace/listpack/listpack_writer.h"
#include "mayfly/random.h"
#include "persist/golden/golden_json.h"
#include "persist/rdb/rdb_loader.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_test_file.h"

// Of ASan, whose header is not everywhere. Weak: without ASan memory is not counted.
extern "C" {
[[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*,
                                                                              std::size_t),
                                                            void (*released)(const volatile void*));
[[gnu::weak]] std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
}

namespace mayfly {
namespace rdb_damage_test {

using rdb::Opcode;
using rdb::Type;

// What is allocated, and the most that ever was, as ASan's hooks tell.
std::atomic<std::size_t> live_bytes = 0;
std::atomic<std::size_t> peak_bytes = 0;

void note_allocation(const volatile void*, std::size_t size) {
  live_bytes += size;
  if (live_bytes > peak_bytes) peak_bytes = live_bytes.load();
}

void note_release(const volatile void* memory) {
  if (memory != nullptr) live_bytes -= __sanitizer_get_allocated_size(memory);
}

// Two blocks, a deleted entry, and a group with two consumers.
void add_stream(TestFile& file, Type type) {
  Stream stream;
  const std::vector<std::string_view> words = {"field", "value", "n", "12345"};
  const std::vector<std::string_view> others = {"other", ""};
  for (std::uint64_t i = 1; i <= 5; ++i) {
    stream.append({i, i}, i == 3 ? others : words, {.block_bytes = 0, .block_entries = 4});
  }
  stream.erase({2, 2});
  file.type(type).text("stream" + std::to_string(static_cast<int>(type))).blocks(stream);
  file.length(4).id({5, 5});
  if (type != Type::stream) file.id({1, 1}).id({2, 2}).length(9);
  file.length(1).text("group").id({4, 4});
  if (type != Type::stream) file.length(5);
  file.length(3);
  for (std::uint64_t i = 1; i <= 3; ++i) file.id_key({i, i}).number(5).length(i);
  file.length(2);
  for (const bool is_first : {true, false}) {
    file.text(is_first ? "a" : "b").number(5);
    if (type == Type::stream3) file.number(is_first ? 6 : -1);
    if (is_first) file.length(2).id_key({1, 1}).id_key({3, 3});
    if (!is_first) file.length(1).id_key({2, 2});
  }
}

// A file with every type and opcode that can be read.
TestFile everything(std::string_view magic) {
  const std::string ziplist = {"\x11\0\0\0\x0D\0\0\0\2\0\0\1f\3\1v\xFF", 17};
  const std::string scored = {
      "\x11\0\0\0\x0D\0\0\0\2\0\0\1m\3\1"
      "7\xFF",
      17};
  const std::string compressed = {"\xC3\6\x0C\1ab\xE0\1\1", 9};
  ListpackWriter triples;
  for (const char* text : {"a", "1", "5000000", "b", "text", "0"}) triples.add(text);
  ListpackWriter names;
  for (const char* text : {"a", "17", "text"}) names.add(text);
  ListpackWriter scores;
  for (const char* text : {"a", "1", "b", "1.5", "c", "inf"}) scores.add(text);

  TestFile file(magic);
  file.op(Opcode::aux).text("redis-ver").text("7.0.15").op(Opcode::select_db).length(1);
  file.op(Opcode::resize_db).length(9).length(2).op(Opcode::function2).text("code");
  file.op(Opcode::expire_ms).number(5'000'000).string_key("string", "value");
  file.op(Opcode::idle).length(9).type(Type::string).text("lzf").raw(compressed);
  file.op(Opcode::freq).byte(9).type(Type::string).raw(compressed).byte(0xC1).raw("ab");
  file.type(Type::hash).text("hash").length(2).text("a").text("1").text("b").raw(compressed);
  file.type(Type::hash_zipmap).text("zipmap").text({"\1\1f\1\0v\xFF", 7});
  file.type(Type::hash_ziplist).text("ziplist").text(ziplist);
  file.type(Type::hash_listpack).text("listpack").text(triples.finish());
  if (magic == "VALKEY080") {
    file.type(Type::hash2).text("hash2").length(2).text("a").text("1").number(5'000'000);
    file.text("b").text("2").number(-1);
    file.type(Type::set_deadlines).text("sd").length(2).text("a").number(5'000'000);
    file.text("b").number(-1);
    file.type(Type::zset_deadlines).text("zd").length(1).text("a").number(0).number(5'000'000);
  } else {
    file.type(Type::hash_metadata).text("meta").number(5'000'000).length(2);
    file.length(0).text("a").text("1").length(9).text("b").text("2");
    file.type(Type::hash_listpackex).text("ex").number(5'000'000).text(triples.finish());
  }
  file.type(Type::list_quicklist2).text("list").length(2).length(1).text("plain");
  file.length(2)
      .text(triples.finish())
      .type(Type::list_quicklist)
      .text("l")
      .length(1)
      .text(ziplist);
  file.type(Type::set_intset).text("ints").text({"\2\0\0\0\2\0\0\0\1\0\2\0", 12});
  file.type(Type::set).text("set").length(2).text("a").raw(compressed);
  file.type(Type::set_listpack).text("pack").text(names.finish());
  file.type(Type::zset_listpack).text("zpack").text(scores.finish());
  file.type(Type::zset).text("zset").length(2).text("a").byte(3).raw("1.5").text("b").byte(254);
  file.type(Type::zset2).text("zset2").length(1).text("a").number(0);
  file.type(Type::zset_ziplist).text("zzip").text(scored);
  file.type(Type::list).text("old list").length(2).text("a").raw(compressed);
  file.type(Type::list_ziplist).text("lzip").text(ziplist);
  for (const Type type : {Type::stream, Type::stream2, Type::stream3}) add_stream(file, type);
  return file;
}

std::vector<std::string> small_files() {
  return {everything("REDIS0012").end(), everything("VALKEY080").end(),
          read_golden("valkey9-aof/appendonly.aof.2.base.rdb")};
}

// With a checksum of 0, so that damage has to be met where it is.
std::string unchecked(std::string file) { return file.replace(file.size() - 8, 8, 8, '\0'); }

class RdbDamage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (__sanitizer_install_malloc_and_free_hooks == nullptr) return;
    ASSERT_GT(__sanitizer_install_malloc_and_free_hooks(note_allocation, note_release), 0);
  }

  // Returns whether the load went well.
  static bool load(const std::string& bytes, std::size_t piece = 0) {
    KeyspaceFixture fixture;
    const std::size_t before = live_bytes;
    peak_bytes = before;
    StringSource whole(bytes);
    PieceSource pieces(bytes, piece);
    Result<bool> ended = false;
    {
      RdbLoader loader(piece == 0 ? static_cast<ByteSource&>(whole) : pieces, fixture.keyspace,
                       {.now = fixture.context.now});
      while (ended && !*ended) ended = loader.step(100);
    }
    // A block of the reader, two of arenas; and what LZF can make of so many bytes.
    EXPECT_LE(peak_bytes - before, 2'000'000 + 100 * bytes.size());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(fixture.keyspace[i].check_invariants(), "");
    return ended.ok();
  }
};

TEST_F(RdbDamage, AFileCutShortIsFound) {
  for (const std::string& file : small_files()) {
    ASSERT_TRUE(load(file));
    for (std::size_t size = 0; size < file.size(); ++size) {
      EXPECT_FALSE(load(file.substr(0, size))) << size;
    }
  }
}

TEST_F(RdbDamage, AFlippedBitIsFound) {
  for (const std::string& file : small_files()) {
    for (std::size_t at = 0; at < file.size(); ++at) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
      EXPECT_FALSE(load(damaged)) << at;
    }
  }
}

TEST_F(RdbDamage, WithoutAChecksumAnyByteMayBeAnother) {
  constexpr unsigned char kBytes[] = {0, 1, 0x40, 0x7F, 0x80, 0x81, 0xBF, 0xC0, 0xC3, 0xF0, 0xFF};
  for (const std::string& sound : small_files()) {
    const std::string file = unchecked(sound);
    ASSERT_TRUE(load(file));
    for (std::size_t at = 9; at < file.size() - 8; ++at) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(kBytes[at % std::size(kBytes)]);
      load(damaged, at % 2 == 0 ? 0 : 50);
      damaged[at] = static_cast<char>(kBytes[at * 7 % std::size(kBytes)]);
      load(damaged);
    }
  }
}

TEST_F(RdbDamage, ManyThingsMayBeWrongAtOnce) {
  Random random(7);
  for (const char* name :
       {"redis70.rdb", "redis70_types.rdb", "redis74.rdb", "valkey9.rdb", "valkey9_types.rdb"}) {
    const std::string file = unchecked(read_golden(name));
    for (int i = 0; i < 60; ++i) {
      std::string damaged = file;
      for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
        damaged[9 + random.below(file.size() - 9)] = static_cast<char>(random.below(256));
      }
      load(damaged);
      EXPECT_FALSE(load(file.substr(0, random.below(file.size()))));
    }
  }
}

TEST_F(RdbDamage, LengthsThatLieTakeNoMemory) {
  const std::uint64_t lies[] = {1u << 20, 1u << 31, 0xFFFFFFFF, 1ull << 40, ~0ull, ~0ull - 8};
  for (const Type type :
       {Type::string, Type::list, Type::hash, Type::set, Type::set_intset, Type::zset, Type::zset2,
        Type::hash_listpack, Type::list_quicklist2, Type::list_quicklist, Type::stream,
        Type::stream3, Type::hash2, Type::set_deadlines, Type::zset_deadlines}) {
    for (const std::uint64_t lie : lies) {
      const bool is_ours = type == Type::hash2 || type >= Type::set_deadlines;
      const std::string head(is_ours ? "VALKEY080" : "REDIS0010");
      const std::string file = TestFile(head).type(type).text("k").length(lie).text("x").end();
      EXPECT_FALSE(load(file));
      EXPECT_FALSE(load(file, 100));
    }
  }
  for (const std::uint64_t lie : lies) {
    TestFile lzf;
    lzf.type(Type::string).text("k").byte(0xC3).length(5).length(lie).raw("\4abcd");
    EXPECT_FALSE(load(lzf.end()));
    TestFile packed;
    packed.type(Type::string).text("k").byte(0xC3).length(lie).length(lie).raw("\4abcd");
    EXPECT_FALSE(load(packed.end(), 100));
  }
}

TEST_F(RdbDamage, PayloadsOfAnyBytesDoNoHarm) {
  Random random(11);
  KeyspaceFixture fixture;
  const std::string file(everything("VALKEY080").so_far());
  for (int i = 0; i < 3'000; ++i) {
    std::string bytes = file.substr(random.below(file.size()), random.below(60));
    const std::uint64_t type = random.below(28);
    if (!bytes.empty()) bytes[0] = static_cast<char>(type < 26 ? type : type - 26 + 200);
    const std::uint16_t version = random.below(2) == 0 ? 80 : 12;
    const std::string payload = TestFile(bytes).payload(version);
    const Result<Slot> slot = restore_value(fixture.context, fixture.database, "k", payload);
    ASSERT_EQ(fixture.database.stored(), slot ? 1u : 0u);
    ASSERT_EQ(fixture.database.check_invariants(), "");
    if (slot) fixture.database.erase(*slot);
  }
}

}  // namespace rdb_damage_test
}  // namespace mayfly
