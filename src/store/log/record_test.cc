// SPDX-License-Identifier: Apache-2.0
// Records as bytes: what was written is read back, and nothing else is taken for a record.

#include "store/log/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace mayfly::internal {
namespace record_test {

constexpr Time kMoment = Time(Millis(1'800'000'000'123));
constexpr Position kPlace = 4711 * 8;
constexpr std::uint64_t kBefore = 0x0123456789abcdef;

// Bytes that end where their memory ends, so that a sanitizer sees who reads beyond.
class ExactBytes {
 public:
  explicit ExactBytes(std::string_view bytes)
      : bytes_(std::make_unique<char[]>(bytes.size())), size_(bytes.size()) {
    std::memcpy(bytes_.get(), bytes.data(), bytes.size());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

bool same(const Operation& a, const Operation& b) {
  return a.family == b.family && a.kind == b.kind && a.was_there == b.was_there &&
         a.had_deadline == b.had_deadline && a.deadline == b.deadline && a.key == b.key &&
         a.value == b.value;
}

std::vector<Operation> operations_of(const RecordView& record) {
  std::vector<Operation> operations;
  std::string_view rest = record.body;
  for (Operation operation; take_operation(rest, operation);) operations.push_back(operation);
  EXPECT_TRUE(rest.empty());
  return operations;
}

std::string small_record() {
  RecordWriter writer;
  writer.begin(RecordType::transaction, kMoment);
  writer.add({.family = 7, .deadline = kMoment, .key = "key", .value = "value"});
  writer.add({.family = 7, .kind = OperationKind::erase, .was_there = true, .key = "other"});
  return std::string(writer.finish(kPlace, kBefore));
}

// The bytes of one operation.
std::string encoded(const Operation& operation) {
  RecordWriter writer;
  writer.begin(RecordType::transaction, kMoment);
  writer.add(operation);
  const std::string record(writer.finish(0, 0));
  return record.substr(kRecordHeaderBytes, operation_bytes(operation));
}

TEST(RecordTest, GivesBackWhatWasWritten) {
  const std::string bytes = small_record();
  const auto record = read_record(bytes, kPlace, kBefore);

  ASSERT_TRUE(record);
  EXPECT_EQ(record->type, RecordType::transaction);
  EXPECT_EQ(record->position, kPlace);
  EXPECT_EQ(record->moment, kMoment);
  EXPECT_EQ(record->operations, 2u);
  EXPECT_EQ(record->bytes, bytes.size());
  EXPECT_EQ(record->end(), kPlace + bytes.size());
  const auto operations = operations_of(*record);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].key, "key");
  EXPECT_EQ(operations[0].value, "value");
  EXPECT_EQ(operations[0].deadline, kMoment);
  EXPECT_EQ(operations[1].kind, OperationKind::erase);
  EXPECT_TRUE(operations[1].was_there);
}

// What an operation says, with memory of its own.
struct RandomOperation {
  explicit RandomOperation(std::mt19937& random)
      : key(random() % 40, static_cast<char>(random())),
        value(random() % (random() % 50 == 0 ? 5000 : 100), 'v') {
    operation.family = static_cast<std::uint32_t>(random());
    operation.kind = static_cast<OperationKind>(1 + random() % 3);
    operation.was_there = random() % 2 == 0;
    operation.had_deadline = random() % 2 == 0;
    if (operation.kind != OperationKind::erase && random() % 2 == 0) {
      operation.deadline = Time(Millis(static_cast<std::int64_t>(random()) - (1 << 20)));
    }
    operation.key = key;
    if (operation.kind == OperationKind::put) operation.value = value;
  }
  std::string key;
  std::string value;
  Operation operation;
};

TEST(RecordTest, RandomRecordsFollowEachOther) {
  std::mt19937 random(16);
  RecordWriter writer;
  Position position = 4096;
  std::uint64_t chain = kBefore;
  for (int round = 0; round < 500; ++round) {
    writer.begin(RecordType::transaction, kMoment);
    std::list<RandomOperation> written;
    std::size_t size = kRecordHeaderBytes;
    for (std::size_t i = random() % 20; i > 0; --i) {
      const Operation& operation = written.emplace_back(random).operation;
      writer.add(operation);
      size += operation_bytes(operation);
    }
    EXPECT_EQ(writer.bytes(), (size + 7) / 8 * 8);
    const ExactBytes bytes(writer.finish(position, chain));
    const auto record = read_record(bytes.view(), position, chain);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->bytes, writer.bytes());
    EXPECT_EQ(record->chain, writer.chain());
    EXPECT_EQ(record->operations, written.size());
    const auto read = operations_of(*record);
    EXPECT_TRUE(std::equal(read.begin(), read.end(), written.begin(), written.end(),
                           [](const auto& a, const auto& b) { return same(a, b.operation); }));
    position = record->end();
    chain = record->chain;
  }
}

TEST(RecordTest, IsNotReadAtAnotherPositionOrBehindAnotherRecord) {
  const std::string bytes = small_record();

  EXPECT_FALSE(read_record(bytes, kPlace + 8, kBefore));
  EXPECT_FALSE(read_record(bytes, kPlace, kBefore + 1));
  EXPECT_TRUE(read_unchained(bytes, kPlace));
  EXPECT_FALSE(read_unchained(bytes, kPlace + 8));
}

TEST(RecordTest, APartOfARecordIsNone) {
  const std::string bytes = small_record();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const ExactBytes part(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(read_record(part.view(), kPlace, kBefore)) << size;
  }
}

TEST(RecordTest, EachBitCounts) {
  const std::string good = small_record();
  std::uint32_t length = 0;
  std::memcpy(&length, good.data(), sizeof length);
  for (std::size_t bit = 0; bit < 8 * std::size_t{length}; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(read_record(ExactBytes(bytes).view(), kPlace, kBefore)) << bit;
  }
}

TEST(RecordTest, ACutTellsItsRange) {
  RecordWriter writer;
  writer.begin(RecordType::cut, kMoment);
  writer.add_position(123456);
  const auto cut = read_record(writer.finish(kPlace, kBefore), kPlace, kBefore);

  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->type, RecordType::cut);
  EXPECT_EQ(cut_range(*cut), 123456u);
  EXPECT_EQ(cut->bytes, 48u);
}

TEST(RecordTest, ACutWithoutARangeAndAnUnknownTypeAreNoRecords) {
  RecordWriter writer;
  writer.begin(RecordType::cut, kMoment);
  EXPECT_FALSE(read_record(writer.finish(kPlace, kBefore), kPlace, kBefore));

  for (const int type : {0, 5, 255}) {
    writer.begin(static_cast<RecordType>(type), kMoment);
    EXPECT_FALSE(read_record(writer.finish(kPlace, kBefore), kPlace, kBefore)) << type;
  }
}

TEST(RecordTest, ABarrierHasNoBody) {
  RecordWriter writer;
  writer.begin(RecordType::barrier, kMoment);
  const auto barrier = read_record(writer.finish(kPlace, kBefore), kPlace, kBefore);

  ASSERT_TRUE(barrier);
  EXPECT_EQ(barrier->bytes, kRecordHeaderBytes);
  EXPECT_TRUE(barrier->body.empty());
}

TEST(RecordTest, AnErasureWritesNeitherDeadlineNorValueAndADeadlineNoValue) {
  const std::string erase =
      encoded({.kind = OperationKind::erase, .deadline = kMoment, .key = "key", .value = "value"});
  EXPECT_EQ(erase.size(), kOperationBytes + 3);
  const std::string deadline = encoded(
      {.kind = OperationKind::deadline, .deadline = kMoment, .key = "key", .value = "value"});
  EXPECT_EQ(deadline.size(), kOperationBytes + 8 + 3);
  EXPECT_EQ(encoded({.kind = OperationKind::deadline, .key = "key"}).size(), kOperationBytes + 3);
}

TEST(RecordTest, APartOfAnOperationIsNone) {
  const std::string bytes = encoded({.deadline = kMoment, .key = "key", .value = "value"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const ExactBytes part(std::string_view(bytes).substr(0, size));
    std::string_view rest = part.view();
    Operation operation;
    EXPECT_FALSE(take_operation(rest, operation)) << size;
    EXPECT_EQ(rest.size(), size);
  }
}

TEST(RecordTest, AnOperationThatMakesNoSenseIsNone) {
  const auto is_taken = [](std::string bytes, std::size_t at, int value) {
    bytes[at] = static_cast<char>(value);
    bytes += std::string(300, 'x');
    std::string_view rest = bytes;
    Operation operation;
    return take_operation(rest, operation);
  };
  constexpr std::size_t kKind = 4;
  constexpr std::size_t kValue = 8;
  constexpr std::size_t kFlags = 12;
  const std::string put = encoded({.key = "key", .value = "value"});
  const std::string erase = encoded({.kind = OperationKind::erase, .key = "key"});
  const std::string deadline = encoded({.kind = OperationKind::deadline, .key = "key"});

  EXPECT_TRUE(is_taken(put, kKind, 1));
  EXPECT_FALSE(is_taken(put, kKind, 0));
  EXPECT_FALSE(is_taken(put, kKind, 4));
  EXPECT_FALSE(is_taken(put, kFlags, 8));
  EXPECT_FALSE(is_taken(erase, kFlags, 4));
  EXPECT_FALSE(is_taken(erase, kValue, 1));
  EXPECT_FALSE(is_taken(deadline, kValue, 1));
  EXPECT_TRUE(is_taken(deadline, kFlags, 4));
}

TEST(RecordTest, TheWriterUsesItsMemoryAgain) {
  RecordWriter writer;
  const auto write = [&](std::size_t value_bytes) {
    const std::string value(value_bytes, 'v');
    writer.begin(RecordType::transaction, kMoment);
    writer.add({.key = "key", .value = value});
    return writer.finish(kPlace, kBefore).data();
  };
  const char* const memory = write(1000);

  EXPECT_EQ(write(1000), memory);
  EXPECT_EQ(write(10), memory);
}

}  // namespace record_test
}  // namespace mayfly::internal
