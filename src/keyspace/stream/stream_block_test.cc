// SPDX-License-Identifier: Apache-2.0
// Blocks of streams: their bytes are those that Redis and Valkey have, they are walked in both
// directions, changed in place, and damaged bytes are refused.

#include "keyspace/stream/stream_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "keyspace/listpack/listpack_entry.h"
#include "keyspace/stream/stream.h"
#include "keyspace/stream/stream_cursor.h"
#include "mayfly/random.h"

namespace mayfly {
namespace stream_block_test {

using Words = std::vector<std::string_view>;

StreamBlock make_block(StreamId id, const Words& words) { return StreamBlock(id, words, 0); }

// The entries as "id field=value ..." each, deleted ones with an `x` before.
std::vector<std::string> entries_of(const StreamBlock& block, bool is_forward = true) {
  std::vector<std::string> entries;
  StreamBlockCursor cursor(block);
  StreamWords reader;
  if (!is_forward) cursor.to_end();
  while (is_forward ? cursor.next() : cursor.previous()) {
    std::string text = cursor.is_deleted() ? "x" : "";
    text += cursor.id().text();
    const StreamBlock::Words words = reader.read(cursor);
    for (std::size_t i = 0; i < words.size(); i += 2) {
      text += " ";
      text += words[i];
      text += "=";
      text += words[i + 1];
    }
    entries.push_back(text);
  }
  return entries;
}

std::string check(const StreamBlock& block) {
  return check_stream_block(block.first(), block.listpack());
}

// What a listpack of these pieces has: numbers and texts, in their shortest form.
std::string pack(const std::vector<std::string>& pieces) {
  std::string bytes(kListpackHeader, '\0');
  for (const std::string& piece : pieces) {
    const ListpackText text(piece);
    const std::size_t begin = bytes.size();
    bytes.resize(begin + text.bytes());
    text.write(bytes.data() + begin);
  }
  bytes += kListpackEnd;
  write_little(bytes.data(), bytes.size(), 4);
  write_little(bytes.data() + 4, pieces.size(), 2);
  return bytes;
}

// ---- Layout ----

TEST(StreamBlockTest, HasTheBytesOfRedis) {
  StreamBlock block = make_block({1000, 5}, {"a", "1", "b", "hello"});
  block.append({1001, 0}, Words{"a", "-2", "b", ""});
  block.append({1001, 1}, Words{"c", "300"});
  const auto expected = pack({"3", "0", "2",  "a",  "b",     "0",  // the fields of the block
                              "2", "0", "0",  "1",  "hello", "5",  // the same fields
                              "2", "1", "-5", "-2", "",      "5",  // again
                              "0", "1", "-4", "1",  "c",     "300", "6"});  // others
  EXPECT_EQ(block.listpack(), expected);
  EXPECT_EQ(check(block), "");
}

TEST(StreamBlockTest, ReadsEntriesInBothDirections) {
  StreamBlock block = make_block({1000, 5}, {"a", "1", "7", "hello"});
  block.append({1001, 0}, Words{"a", "-2", "7", ""});
  block.append({1001, 1}, Words{"c", "300"});
  block.append({1001, 9}, Words{"a", "x", "7", "9223372036854775807"});
  block.append({UINT64_MAX, 0}, Words{"c", "y", "d", "z", "e", "007"});
  std::vector<std::string> entries = {"1000-5 a=1 7=hello", "1001-0 a=-2 7=", "1001-1 c=300",
                                      "1001-9 a=x 7=9223372036854775807",
                                      "18446744073709551615-0 c=y d=z e=007"};
  EXPECT_EQ(entries_of(block), entries);
  std::reverse(entries.begin(), entries.end());
  EXPECT_EQ(entries_of(block, false), entries);
  EXPECT_EQ(block.last(), (StreamId{UINT64_MAX, 0}));
}

TEST(StreamBlockTest, FieldsAreTheSameOnlyInTheSameOrder) {
  StreamBlock block = make_block({1, 0}, {"a", "1", "b", "2"});
  const std::size_t one = block.listpack().size();
  block.append({2, 0}, Words{"a", "3", "b", "4"});
  const std::size_t same = block.listpack().size() - one;
  block.append({3, 0}, Words{"b", "4", "a", "3"});
  const std::size_t other = block.listpack().size() - one - same;
  EXPECT_EQ(same, 2 * 6u);
  EXPECT_EQ(other, same + 2 * 3u + 2u) << "two fields and their number";
}

TEST(StreamBlockTest, ACursorTurnsAtBothEnds) {
  StreamBlock block = make_block({1, 0}, {"a", "1"});
  block.append({2, 0}, Words{"a", "2"});
  StreamBlockCursor cursor(block);
  EXPECT_FALSE(cursor.previous());
  EXPECT_TRUE(cursor.next());
  EXPECT_TRUE(cursor.next());
  EXPECT_EQ(cursor.id(), (StreamId{2, 0}));
  EXPECT_TRUE(cursor.previous());
  EXPECT_EQ(cursor.id(), (StreamId{1, 0}));
  EXPECT_TRUE(cursor.next());
  EXPECT_FALSE(cursor.next());
  EXPECT_TRUE(cursor.previous());
  EXPECT_EQ(cursor.id(), (StreamId{2, 0}));
}

TEST(StreamBlockTest, SeekFindsTheFirstEntryFromAnId) {
  StreamBlock block = make_block({10, 10}, {"a", "1"});
  std::vector<StreamId> ids = {{10, 10}};
  for (std::uint64_t i = 1; i < 60; ++i) {
    ids.push_back({10 + i / 4, i < 4 ? 10 + i * 2 : i % 4 * 1000});
    block.append(ids.back(), Words{"a", "1"});
  }
  for (std::uint64_t ms = 9; ms < 27; ++ms) {
    for (const std::uint64_t seq : {0, 10, 11, 12, 16, 17, 999, 1000, 1001, 3000, 9999}) {
      const StreamId id = {ms, seq};
      const auto expected = std::lower_bound(ids.begin(), ids.end(), id);
      StreamBlockCursor cursor(block);
      ASSERT_EQ(cursor.seek(id), expected != ids.end()) << id.text();
      if (expected != ids.end()) {
        ASSERT_EQ(cursor.id(), *expected) << id.text();
      }
    }
  }
}

// ---- Encoded entries ----

// The words as an encoded entry, which refers to the strings.
struct Encoded {
  std::string fields;
  std::string values;
  std::size_t text_bytes = 0;
  std::size_t count = 0;

  explicit Encoded(const Words& words) : count(words.size() / 2) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const ListpackText text(words[i]);
      std::string piece(text.bytes(), ' ');
      text.write(piece.data());
      (i % 2 == 0 ? fields : values) += piece;
      text_bytes += words[i].size();
    }
  }
  EncodedStreamEntry view() const { return {fields, values, count, text_bytes}; }
};

TEST(StreamBlockTest, AnEncodedEntryHasTheSameBytes) {
  const std::string longer(200, 'l');
  const std::vector<Words> entries = {{"a", "1", "b", "hello"}, {"a", "-2", "b", ""},
                                      {"a", "x", "c", "y"},     {"b", "5000000000", "a", "z"},
                                      {"a", longer, "b", "x"},  {"abc", "1"}};
  for (std::size_t first = 0; first < entries.size(); ++first) {
    const StreamId begin = {1000, 5};
    StreamBlock block = make_block(begin, entries[first]);
    StreamBlock encoded(begin, Encoded(entries[first]).view(), 0);
    ASSERT_EQ(encoded.listpack(), block.listpack());
    for (std::uint64_t i = 1; i < 300; ++i) {
      const Words& words = entries[(first + i * i) % entries.size()];
      const StreamId id = i % 3 == 0 ? StreamId{1000 + i * 100, 0} : StreamId{1000 + i * 100, i};
      block.append(id, words);
      const std::size_t before = encoded.listpack().size();
      const std::size_t at = encoded.append(id, Encoded(words).view());
      ASSERT_EQ(encoded.listpack(), block.listpack()) << i;
      ASSERT_GE(at + 2, before) << "the entry is the last one";
    }
    EXPECT_EQ(check(encoded), "");
  }
}

TEST(StreamBlockTest, AStreamOfEncodedEntriesIsTheSame) {
  Random random(7);
  const StreamLimits limits = {.block_bytes = 300, .block_entries = 7};
  Stream one;
  Stream two;
  for (std::uint64_t i = 1; i < 2'000; ++i) {
    const std::string value(random.below(60), 'v');
    const Words words = random.below(5) == 0 ? Words{"other", value} : Words{"a", value, "b", "7"};
    one.append({i, 0}, words, limits);
    const Stream::Place place = two.append({i, 0}, Encoded(words).view(), limits);
    ASSERT_EQ(place.block.last(), (StreamId{i, 0}));
    StreamBlockCursor cursor(place.block);
    cursor.to_end();
    ASSERT_TRUE(cursor.previous());
    ASSERT_EQ(place.begin, cursor.offset());
  }
  EXPECT_EQ(two.check_invariants(), "");
  std::vector<std::string> blocks;
  one.each_block([&](StreamId, std::string_view bytes) { blocks.emplace_back(bytes); });
  std::size_t at = 0;
  two.each_block([&](StreamId, std::string_view bytes) { ASSERT_EQ(bytes, blocks.at(at++)); });
  EXPECT_EQ(at, blocks.size());
}

// ---- Changes ----

TEST(StreamBlockTest, DeletedEntriesAreMarked) {
  StreamBlock block = make_block({1, 0}, {"a", "1"});
  block.append({2, 0}, Words{"a", "2"});
  block.append({3, 0}, Words{"b", "3"});
  EXPECT_FALSE(block.erase({2, 1}));
  EXPECT_TRUE(block.erase({2, 0}));
  EXPECT_FALSE(block.erase({2, 0}));
  EXPECT_TRUE(block.erase({3, 0}));
  EXPECT_EQ(block.listpack(), pack({"1", "2", "1", "a", "0",  //
                                    "2", "0", "0", "1", "4",  //
                                    "3", "1", "0", "2", "4",  //
                                    "1", "2", "0", "1", "b", "3", "6"}));
  EXPECT_EQ(block.live(), 1u);
  EXPECT_EQ(block.deleted(), 2u);
  EXPECT_EQ(check(block), "");
}

TEST(StreamBlockTest, ErasesFromTheFrontUpToACountOrAnId) {
  StreamBlock block = make_block({1, 0}, {"a", "1"});
  for (std::uint64_t i = 2; i <= 9; ++i) block.append({i, 0}, Words{"a", "1"});
  block.erase({2, 0});
  EXPECT_EQ(block.erase_front(2, kStreamIdMax, 0), 2u);  // 1 and 3
  EXPECT_EQ(block.live(), 6u);
  EXPECT_EQ(block.erase_front(SIZE_MAX, {6, 0}, 0), 2u);  // 4 and 5
  EXPECT_EQ(block.erase_front(SIZE_MAX, {6, 0}, 0), 0u);
  EXPECT_EQ(block.live(), 4u);
  EXPECT_EQ(entries_of(block).at(4), "x5-0 a=1");
  EXPECT_EQ(entries_of(block).at(5), "6-0 a=1");
  EXPECT_EQ(check(block), "");
}

TEST(StreamBlockTest, DropsDeletedEntriesAtTheEnd) {
  StreamBlock block = make_block({1, 0}, {"a", "1"});
  for (std::uint64_t i = 2; i <= 9; ++i) block.append({i, 0}, Words{"a", "1"});
  for (const std::uint64_t i : {3, 7, 8, 9}) block.erase({i, 0});
  block.drop_deleted_after({7, 0});
  EXPECT_EQ(block.last(), (StreamId{7, 0}));
  block.drop_deleted_after({1, 0});
  EXPECT_EQ(block.last(), (StreamId{6, 0})) << "it is not deleted";
  EXPECT_EQ(block.live(), 5u);
  EXPECT_EQ(block.deleted(), 1u);
  EXPECT_EQ(check(block), "");
}

TEST(StreamBlockTest, CountsMayTakeMoreBytes) {
  StreamBlock block = make_block({1, 0}, {"a", "1"});
  for (std::uint64_t i = 2; i <= 5000; ++i) {
    block.append({i, 0}, Words{"a", "1"});
    const bool is_checked = i % 100 == 27 || i % 100 == 28;
    ASSERT_EQ(is_checked ? check(block) : "", "");
  }
  for (std::uint64_t i = 1; i < 5000; ++i) {
    ASSERT_TRUE(block.erase({i, 0}));
    const bool is_checked = i % 100 == 27 || i % 100 == 28 || i > 4995;
    ASSERT_EQ(is_checked ? check(block) : "", "");
  }
  EXPECT_EQ(block.live(), 1u);
  EXPECT_EQ(block.deleted(), 4999u);
}

TEST(StreamBlockTest, TheHeaderCountsUpTo65534) {
  StreamBlock block = make_block({1, 0}, {"a", "1"});
  for (std::uint64_t i = 2; i <= 20'000; ++i) block.append({i, 0}, Words{"a", "1"});
  EXPECT_EQ(block.listpack().substr(4, 2), "\xFF\xFF");
  EXPECT_EQ(check(block), "");
  EXPECT_EQ(block.live(), 20'000u);
}

TEST(StreamBlockTest, TakesEntriesUpToItsLimits) {
  StreamBlock block = make_block({1, 0}, {"a", "1"});
  block.append({2, 0}, Words{"a", "1"});
  const std::size_t bytes = block.listpack().size();
  EXPECT_TRUE(block.takes(10, {.block_bytes = bytes + 11, .block_entries = 3}));
  EXPECT_FALSE(block.takes(11, {.block_bytes = bytes + 11, .block_entries = 3}));
  EXPECT_FALSE(block.takes(10, {.block_bytes = bytes + 11, .block_entries = 2}));
  block.erase({1, 0});
  EXPECT_FALSE(block.takes(10, {.block_bytes = bytes + 11, .block_entries = 2}));
  EXPECT_TRUE(block.takes(10, {.block_bytes = 0, .block_entries = 0}));
  EXPECT_FALSE(block.takes(kStreamBlockBytesMax, {.block_bytes = 0, .block_entries = 0}));
  EXPECT_FALSE(block.takes(kStreamBlockBytesMax, {.block_bytes = SIZE_MAX, .block_entries = 0}));
}

TEST(StreamBlockTest, ShrinksToItsBytes) {
  StreamBlock block(StreamId{1, 0}, Words{"a", "1"}, 4096);
  EXPECT_GE(block.allocated(), 4096u);
  const char* const before = block.listpack().data();
  for (std::uint64_t i = 2; i < 100; ++i) block.append({i, 0}, Words{"a", "1"});
  EXPECT_EQ(block.listpack().data(), before) << "there was room";
  block.shrink_to_fit();
  EXPECT_LE(block.allocated(), block.listpack().size() + 32);
}

// ---- Damage ----

struct Damage {
  const char* what;
  std::vector<std::string> pieces;
};

TEST(StreamBlockTest, RefusesWhatIsNoBlock) {
  const Damage cases[] = {
      {"no pieces", {}},
      {"no fields", {"1", "0", "1"}},
      {"no entries", {"0", "0", "1", "a", "0"}},
      {"no zero", {"1", "0", "1", "a", "1", "2", "0", "0", "v", "4"}},
      {"a text as a count", {"x", "0", "1", "a", "0", "2", "0", "0", "v", "4"}},
      {"too few live", {"0", "1", "1", "a", "0", "2", "0", "0", "v", "4"}},
      {"too many live", {"2", "0", "1", "a", "0", "2", "0", "0", "v", "4"}},
      {"too many deleted", {"1", "1", "1", "a", "0", "2", "0", "0", "v", "4"}},
      {"a negative count", {"-1", "2", "1", "a", "0", "2", "0", "0", "v", "4"}},
      {"too many fields", {"1", "0", "9", "a", "0", "2", "0", "0", "v", "4"}},
      {"a huge number of fields", {"1", "0", "4611686018427387904", "a", "0"}},
      {"unknown flags", {"1", "0", "1", "a", "0", "6", "0", "0", "v", "4"}},
      {"a text as flags", {"1", "0", "1", "a", "0", "f", "0", "0", "v", "4"}},
      {"a text as a time", {"1", "0", "1", "a", "0", "2", "x", "0", "v", "4"}},
      {"another number of pieces", {"1", "0", "1", "a", "0", "2", "0", "0", "v", "5"}},
      {"no number of pieces", {"1", "0", "1", "a", "0", "2", "0", "0", "v"}},
      {"an id before the block", {"1", "0", "1", "a", "0", "2", "-1", "0", "v", "4"}},
      {"the same id twice",
       {"2", "0", "1", "a", "0", "2", "0", "0", "v", "4", "2", "0", "0", "v", "4"}},
      {"descending ids",
       {"2", "0", "1", "a", "0", "2", "1", "0", "v", "4", "2", "0", "5", "v", "4"}},
      {"own fields, too few", {"1", "0", "1", "a", "0", "0", "0", "0", "2", "b", "v", "6"}},
      {"own fields, a huge number",
       {"1", "0", "1", "a", "0", "0", "0", "0", "9223372036854775807", "b", "v", "6"}},
  };
  EXPECT_EQ(check_stream_block({5, 0}, pack({"1", "0", "1", "a", "0", "2", "0", "0", "v", "4"})),
            "");
  EXPECT_NE(check_stream_block({0, 0}, pack({"1", "0", "1", "a", "0", "2", "0", "0", "v", "4"})),
            "")
      << "no entry has the id 0-0";
  for (const Damage& damage : cases) {
    EXPECT_NE(check_stream_block({5, 0}, pack(damage.pieces)), "") << damage.what;
  }
}

TEST(StreamBlockTest, RefusesAWrongHeaderAndUnknownEncodings) {
  const std::string good = pack({"1", "0", "1", "a", "0", "2", "0", "0", "value", "4"});
  for (const std::size_t count : {9, 11, 0, 65'535}) {
    std::string bytes = good;
    write_little(bytes.data() + 4, count, 2);
    EXPECT_EQ(check_stream_block({5, 0}, bytes).empty(), count == kListpackCountUnknown) << count;
  }
  std::string bytes = good;
  write_little(bytes.data(), bytes.size() + 1, 4);
  EXPECT_NE(check_stream_block({5, 0}, bytes), "");
  const std::size_t value = good.find("\x85value");
  ASSERT_NE(value, std::string::npos);
  for (const unsigned first : {0xF5u, 0xF8u, 0xFEu, 0xFFu}) {
    for (std::size_t size = 1; size < 12; ++size) {  // whatever it may be taken for
      bytes = good.substr(0, value) + std::string(size, 'v') + static_cast<char>(size) +
              good.substr(value + 7);
      bytes[value] = static_cast<char>(first);
      write_little(bytes.data(), bytes.size(), 4);
      EXPECT_NE(check_stream_block({5, 0}, bytes), "") << first;
    }
  }
}

// A block with entries of all kinds.
StreamBlock make_mixed_block(Random& random) {
  const std::string texts[] = {
      "", "5", "-4000", "70000", "name", std::string(70, 'l'), std::string(5000, 'h')};
  const auto text = [&]() -> std::string_view {
    return texts[random.below(random.below(20) == 0 ? 7 : 6)];
  };
  const Words fields = {text(), text()};
  StreamId id = {random.below(3) == 0 ? UINT64_MAX - 500 : 1'700'000'000'000, random.below(300)};
  StreamBlock block = make_block(id, {fields[0], text(), fields[1], text()});
  const std::uint64_t count = random.below(30);
  for (std::uint64_t i = 0; i < count; ++i) {
    id = random.below(2) == 0 ? StreamId{id.ms + 1, random.below(200)} : *id.next();
    Words words = {fields[0], text(), fields[1], text()};
    if (random.below(4) == 0) words = {text(), text()};
    block.append(id, words);
    if (random.below(5) == 0) block.erase(id);
  }
  return block;
}

// Uses a stream with a block of unknown bytes in all ways.
void use_whole(Stream& stream) {
  ASSERT_EQ(stream.check_invariants(), "");
  for (const bool is_forward : {true, false}) {
    std::size_t seen = 0;
    stream.each(kStreamIdMin, kStreamIdMax, is_forward, [&](const StreamEntry& entry) {
      for (const std::string_view word : entry.words) EXPECT_LE(word.size(), 6'000u);
      EXPECT_TRUE(stream.contains(entry.id));
      ++seen;
      return true;
    });
    ASSERT_EQ(seen, stream.size());
  }
  if (const std::optional<StreamId> next = stream.last_id().next()) {
    stream.append(*next, Words{"field", "value"}, {});
    ASSERT_EQ(stream.check_invariants(), "");
  }
  stream.trim({.keep = stream.size() / 2}, {});
  ASSERT_EQ(stream.check_invariants(), "");
  while (stream.size() > 0) ASSERT_TRUE(stream.erase(stream.top_id()));
  ASSERT_EQ(stream.check_invariants(), "");
}

// A copy of exactly the size, so that a sanitizer sees a read behind it.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view bytes)
      : bytes_(new char[bytes.size()]), size_(bytes.copy(bytes_.get(), bytes.size())) {}
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

TEST(StreamBlockTest, DamagedBytesAreRefusedOrHarmless) {
  Random random(2);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 6'000; ++round) {
    const StreamBlock block = make_mixed_block(random);
    std::string bytes(block.listpack());
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
      // Half of them in the counts and the first entry.
      const std::size_t most =
          random.below(2) == 0 ? std::min<std::size_t>(bytes.size(), 60) : bytes.size();
      char& byte = bytes[random.below(most)];
      byte = static_cast<char>(random.below(2) == 0 ? random.next() : byte ^ 1 << random.below(8));
    }
    const ExactCopy copy(bytes);
    Stream stream;
    const std::string wrong = stream.adopt_block(block.first(), copy.view());
    if (!wrong.empty()) {
      ++refused;
      ASSERT_EQ(stream.size() + stream.blocks(), 0u);
      continue;
    }
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(use_whole(stream));
  }
  EXPECT_GT(accepted, 500u);  // texts may be anything
  EXPECT_GT(refused, 500u);
}

TEST(StreamBlockTest, APartOfABlockIsRefused) {
  Random random(3);
  for (int round = 0; round < 10; ++round) {
    const StreamBlock block = make_mixed_block(random);
    for (std::size_t size = 0; size < block.listpack().size(); ++size) {
      const ExactCopy copy(block.listpack().substr(0, size));
      ASSERT_NE(check_stream_block(block.first(), copy.view()), "");
      if (size < kListpackEmpty) continue;
      std::string ended(copy.view());  // one that says so itself
      ended.back() = kListpackEnd;
      write_little(ended.data(), size, 4);
      write_little(ended.data() + 4, kListpackCountUnknown, 2);
      ASSERT_NE(check_stream_block(block.first(), ExactCopy(ended).view()), "");
    }
  }
}

}  // namespace stream_block_test
}  // namespace mayfly
