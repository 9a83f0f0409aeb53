// SPDX-License-Identifier: Apache-2.0
// The log as a file: its bytes, what a reader takes for the log and where it ends, room on disk,
// and writes that fail.

#include "store/log/log_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "store/api/store_fixture.h"

namespace mayfly::internal {
namespace log_file_test {

constexpr Time kMoment = Time(Millis(1'800'000'000'123));
constexpr std::uint64_t kSegment = LogFile::kSegmentBytesMin;
constexpr Position kFirst = 8000;

UniqueId id_of(char first) {
  UniqueId id;
  for (char& byte : id.bytes) byte = first++;
  return id;
}

class LogFileTest : public testing::Test {
 protected:
  Ref<LogFile> make(std::uint64_t segment_bytes = kSegment) const {
    return must(LogFile::make(
        path_,
        {.store = id_of('A'), .log = id_of('a'), .segment_bytes = segment_bytes, .first = kFirst}));
  }
  // Writes into the file behind the back of the log.
  void patch(std::uint64_t offset, std::string_view bytes) const {
    const int file = ::open(path_.c_str(), O_WRONLY);
    EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
    ::close(file);
  }
  std::string bytes_of(std::uint64_t offset, std::size_t size) const {
    std::string bytes(size, '?');
    const int file = ::open(path_.c_str(), O_RDONLY);
    EXPECT_EQ(::pread(file, bytes.data(), size, static_cast<off_t>(offset)),
              static_cast<ssize_t>(size));
    ::close(file);
    return bytes;
  }
  static std::uint64_t offset_of(int segment, std::uint64_t segment_bytes = kSegment) {
    return LogFile::kHeaderBytes + static_cast<std::uint64_t>(segment) * segment_bytes;
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_ / "store-wal").string();
};

// Appends to a log as the store does, and remembers what it has written.
class Appender {
 public:
  explicit Appender(LogFile& log) : log_(&log), place_(*log.segment(0)) {}

  // A transaction with one put. It moves to the other segment when there is no room.
  Status put(std::string_view value) {
    writer_.begin(RecordType::transaction, kMoment);
    writer_.add({.family = 1, .key = "key", .value = value});
    return append();
  }
  void fill_record(RecordType type, std::string_view body) {
    writer_.begin(type, kMoment);
    writer_.add_bytes(body);
    must(append());
  }
  Status append() {
    const Position used = place_.position - log_->segment(segment_)->position;
    if (used + writer_.bytes() > log_->room()) next_segment();
    const std::string_view bytes = writer_.finish(place_.position, place_.chain);
    Status done = log_->append(segment_, place_.position, bytes);
    if (!done) return done;
    records_.emplace_back(bytes);
    places_.push_back(place_);
    place_ = {place_.position + bytes.size(), writer_.chain()};
    return Done{};
  }
  void next_segment() {
    segment_ = 1 - segment_;
    must(log_->begin_segment(segment_, place_));
  }
  // Goes on from an earlier place, as after a power cut.
  void go_back(const LogPlace& place, int segment) {
    place_ = place;
    segment_ = segment;
  }

  RecordWriter& writer() { return writer_; }
  const LogPlace& place() const { return place_; }
  int segment() const { return segment_; }
  const std::vector<std::string>& records() const { return records_; }
  const LogPlace& place_of(std::size_t record) const { return places_[record]; }

 private:
  LogFile* log_;
  RecordWriter writer_;
  LogPlace place_;
  int segment_ = 0;
  std::vector<std::string> records_;
  std::vector<LogPlace> places_;
};

// Without the padding.
std::size_t length_of(const std::string& record) {
  std::uint32_t length = 0;
  std::memcpy(&length, record.data(), sizeof length);
  return length;
}

std::vector<std::string> records_from(LogReader& reader) {
  std::vector<std::string> records;
  while (const auto record = reader.next()) {
    records.emplace_back(record->body.data() - kRecordHeaderBytes, record->bytes);
    EXPECT_EQ(reader.place(), (LogPlace{record->end(), record->chain}));
  }
  EXPECT_FALSE(reader.next());
  return records;
}

std::vector<std::string> records_from(const LogFile& log, const LogPlace& place) {
  LogReader reader(log, place);
  return records_from(reader);
}

// Files cannot be written beyond this offset while it lives.
class SizeLimit {
 public:
  explicit SizeLimit(std::uint64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// ---- the file

// If this changes, the version must, too.
// clang-format off
constexpr std::string_view kGoldenHeader =
    "6d61796677616c31" "01000000" "00100000"  // magic, version, page size
    "4142434445464748494a4b4c4d4e4f50"        // store
    "6162636465666768696a6b6c6d6e6f70"        // log
    "0000010000000000"                        // segment size
    "401f000000000000" "a8d814afc9ca3c3d"     // first position and chain
    "a06e71c99c0d483d" "0000000000000000";    // checksum; the rest is zero
constexpr std::string_view kGoldenSegment =
    "6162636465666768696a6b6c6d6e6f70"      // log
    "401f000000000000" "a8d814afc9ca3c3d"   // first position and chain
    "000000000000000000000000000000000000000000000000"
    "4898b0b3e5ee6dc4";  // checksum
constexpr std::string_view kGoldenRecords =
    "7d000000" "01" "000000" "401f000000000000"  // a transaction: length, type, flags, position
    "7b505c18a3010000" "dbeec90e29b0928c"        // moment, chain
    "03000000" "00000000"                        // operations
    "01000000" "01" "030000" "05000000" "07000000" "03645c18a3010000" "707574" "76616c7565"
    "02000000" "02" "050000" "00000000" "01000000" "6572617365"
    "03000000" "03" "080000" "00000000" "05000000" "7c505c18a3010000" "646561646c696e65"
    "000000"  // padding
    "30000000" "02" "000000" "c01f000000000000" "7c505c18a3010000" "666b5c8b80f70e91"
    "00000000" "00000000" "401f000000000000"  // a cut
    "38000000" "03" "000000" "f01f000000000000" "7b505c18a3010000" "73f0cec677c092cd"
    "00000000" "00000000" "30313233343536373839616263646566"  // a life
    "28000000" "04" "000000" "2820000000000000" "7b505c18a3010000" "b488c76ffafc6a16"
    "00000000" "00000000";  // a barrier
// clang-format on

// One transaction with all kinds of operations, a cut, a life and a barrier.
void write_golden(Appender& appender) {
  RecordWriter& writer = appender.writer();
  writer.begin(RecordType::transaction, kMoment);
  writer.add({.family = 1,
              .was_there = true,
              .had_deadline = true,
              .deadline = kMoment + Millis(5000),
              .key = "put",
              .value = "value"});
  writer.add({.family = 2, .kind = OperationKind::erase, .was_there = true, .key = "erase"});
  writer.add({.family = 3,
              .kind = OperationKind::deadline,
              .was_there = true,
              .deadline = kMoment + Millis(1),
              .key = "deadline"});
  must(appender.append());
  writer.begin(RecordType::cut, kMoment + Millis(1));
  writer.add_position(kFirst);
  must(appender.append());
  appender.fill_record(RecordType::life, "0123456789abcdef");
  appender.fill_record(RecordType::barrier, "");
}

TEST_F(LogFileTest, TheFormatHasNotChanged) {
  const auto log = make();
  Appender appender(*log);
  write_golden(appender);

  EXPECT_EQ(hex(bytes_of(0, 88)), kGoldenHeader);
  EXPECT_EQ(hex(bytes_of(offset_of(0), LogFile::kSegmentHeaderBytes)), kGoldenSegment);
  std::string records;
  for (const std::string& record : appender.records()) records += hex(record);
  EXPECT_EQ(records, kGoldenRecords);
  EXPECT_EQ(records_from(*log, *log->segment(0)), appender.records());
}

TEST_F(LogFileTest, HasItsWholeLengthAndItsFirstStepOnDisk) {
  { std::ofstream(path_ + ".new") << "stale"; }
  const auto log = make(32 << 20);

  EXPECT_EQ(std::filesystem::file_size(path_), LogFile::kHeaderBytes + (64u << 20));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
  EXPECT_GE(log->bytes_on_disk(), 1u << 20);
  EXPECT_LT(log->bytes_on_disk(), 2u << 20);
  EXPECT_EQ(log->segment(0), (LogPlace{kFirst, first_chain(id_of('a'))}));
  EXPECT_FALSE(log->segment(1));
  EXPECT_FALSE(LogReader(*log, *log->segment(0)).next());
}

TEST_F(LogFileTest, WhatCannotBeMadeLeavesNothingBehind) {
  const LogFileOptions options{.store = {}, .log = id_of('a'), .segment_bytes = kSegment};
  {
    const SizeLimit limit(kSegment);
    EXPECT_EQ(code_of(LogFile::make(path_, options)), Code::full);
  }
  std::filesystem::create_directories(path_ + "/folder");  // so it cannot be renamed
  EXPECT_FALSE(LogFile::make(path_, options).ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(LogFileTest, RefusesSegmentsThatAreTooSmallOrNotWholePages) {
  for (const std::uint64_t bytes : {kSegment - 4096, kSegment + 8, std::uint64_t{1} << 41}) {
    const LogFileOptions options{.store = {}, .log = id_of('a'), .segment_bytes = bytes};
    EXPECT_EQ(code_of(LogFile::make(path_, options)), Code::invalid);
  }
}

TEST_F(LogFileTest, OpenedAgainItIsTheSame) {
  std::vector<std::string> written;
  {
    const auto log = make();
    Appender appender(*log);
    for (int i = 0; i < 10; ++i) must(appender.put("value"));
    written = appender.records();
  }
  for (const bool writable : {false, true}) {
    const auto log = must(LogFile::open(path_, writable));
    EXPECT_EQ(log->store(), id_of('A'));
    EXPECT_EQ(log->id(), id_of('a'));
    EXPECT_EQ(log->segment_bytes(), kSegment);
    EXPECT_EQ(records_from(*log, *log->segment(0)), written);
  }
}

TEST_F(LogFileTest, AFileThatIsNotALogIsRefused) {
  EXPECT_EQ(code_of(LogFile::open(path_, true)), Code::not_found);
  { std::ofstream file(path_); }
  EXPECT_EQ(code_of(LogFile::open(path_, true)), Code::corrupt);
  { std::ofstream(path_) << std::string(100000, 'x'); }
  EXPECT_EQ(code_of(LogFile::open(path_, true)), Code::corrupt);
}

TEST_F(LogFileTest, AFileOfAnotherLengthIsRefused) {
  make();
  const std::uint64_t size = std::filesystem::file_size(path_);
  for (const std::uint64_t other : {size - 1, size + 1, size / 2, std::uint64_t{4096}}) {
    std::filesystem::resize_file(path_, other);
    EXPECT_EQ(code_of(LogFile::open(path_, true)), Code::corrupt) << other;
  }
  std::filesystem::resize_file(path_, size);
  EXPECT_TRUE(LogFile::open(path_, true).ok());
}

TEST_F(LogFileTest, EachBitOfTheHeadersCounts) {
  const auto log = make();
  constexpr std::size_t kUsed = 80;
  const std::string header = bytes_of(0, kUsed);
  for (std::size_t bit = 0; bit < 8 * kUsed; ++bit) {
    const char wrong = static_cast<char>(header[bit / 8] ^ 1 << bit % 8);
    patch(bit / 8, {&wrong, 1});
    EXPECT_EQ(code_of(LogFile::open(path_, true)), Code::corrupt) << bit;
    patch(bit / 8, {&header[bit / 8], 1});
  }
  const std::string segment = bytes_of(offset_of(0), LogFile::kSegmentHeaderBytes);
  for (std::size_t bit = 0; bit < 8 * segment.size(); ++bit) {
    const char wrong = static_cast<char>(segment[bit / 8] ^ 1 << bit % 8);
    patch(offset_of(0) + bit / 8, {&wrong, 1});
    EXPECT_FALSE(log->segment(0)) << bit;
    patch(offset_of(0) + bit / 8, {&segment[bit / 8], 1});
  }
  EXPECT_TRUE(log->segment(0));
}

TEST_F(LogFileTest, AnotherVersionIsUnsupported) {
  make();
  std::string header = bytes_of(0, 80);
  header[8] = 2;
  const std::uint64_t sum = XXH3_64bits(header.data(), 72);
  std::memcpy(&header[72], &sum, sizeof sum);
  patch(0, header);

  EXPECT_EQ(code_of(LogFile::open(path_, true)), Code::unsupported);
}

TEST_F(LogFileTest, ASegmentOfAnotherLogIsNone) {
  std::string header;
  {
    const auto other = must(LogFile::make(
        path_,
        {.store = id_of('A'), .log = id_of('b'), .segment_bytes = kSegment, .first = kFirst}));
    header = bytes_of(offset_of(0), LogFile::kSegmentHeaderBytes);
  }
  const auto log = make();
  patch(offset_of(1), header);

  EXPECT_FALSE(log->segment(1));
}

// ---- what a reader takes for the log

TEST_F(LogFileTest, EndsAtEveryByteAtWhichItIsCut) {
  const auto log = make();
  Appender appender(*log);
  write_golden(appender);
  for (int i = 0; i < 3; ++i) must(appender.put("value"));
  std::string all;
  for (const std::string& record : appender.records()) all += record;
  const std::uint64_t begin = offset_of(0) + LogFile::kSegmentHeaderBytes;
  for (const char junk : {'\0', '\xff'}) {
    for (std::size_t size = 0; size < all.size(); ++size) {
      const std::string left = all.substr(0, size) + std::string(all.size() - size, junk);
      patch(begin, left);
      std::size_t whole = 0;
      std::size_t end = 0;
      for (const std::string& record : appender.records()) {
        const std::size_t length = length_of(record);
        if (left.compare(end, length, record, 0, length) != 0) break;
        end += record.size();
        ++whole;
      }
      LogReader reader(*log, *log->segment(0));
      ASSERT_EQ(records_from(reader).size(), whole) << size;
      ASSERT_EQ(reader.place().position, kFirst + end);
    }
  }
}

TEST_F(LogFileTest, AFlippedBitLeavesTheRecordsBeforeIt) {
  const auto log = make();
  Appender appender(*log);
  write_golden(appender);
  must(appender.put("value"));
  std::uint64_t offset = offset_of(0) + LogFile::kSegmentHeaderBytes;
  for (std::size_t number = 0; number < appender.records().size(); ++number) {
    const std::string& record = appender.records()[number];
    for (std::size_t bit = 0; bit < 8 * length_of(record); ++bit) {
      const char wrong = static_cast<char>(record[bit / 8] ^ 1 << bit % 8);
      patch(offset + bit / 8, {&wrong, 1});
      const auto found = records_from(*log, *log->segment(0));
      ASSERT_EQ(found.size(), number) << bit;
      ASSERT_TRUE(std::equal(found.begin(), found.end(), appender.records().begin()));
      patch(offset + bit / 8, {&record[bit / 8], 1});
    }
    offset += record.size();
  }
  EXPECT_EQ(records_from(*log, *log->segment(0)), appender.records());
}

TEST_F(LogFileTest, ARecordOfAnEarlierLifeNeverFollowsANewerOne) {
  const auto log = make();
  Appender appender(*log);
  for (const char* value : {"1", "2", "3", "4"}) must(appender.put(value));
  appender.go_back(appender.place_of(1), 0);
  must(appender.put("x"));  // as long as "2": the old "3" stands right behind it, at its position

  const auto found = records_from(*log, *log->segment(0));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1], appender.records()[4]);
}

TEST_F(LogFileTest, GoesOnInTheOtherSegment) {
  const auto log = make();
  Appender appender(*log);
  const std::string value(9000, 'v');
  for (int i = 0; i < 12; ++i) must(appender.put(value));
  ASSERT_EQ(appender.segment(), 1);

  LogReader reader(*log, *log->segment(0));
  EXPECT_EQ(records_from(reader), appender.records());
  EXPECT_EQ(reader.place(), appender.place());
  EXPECT_EQ(reader.segment(), 1);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(records_from(*log, appender.place_of(i)).size(), 12 - i);
    EXPECT_EQ(log->segment_of(appender.place_of(i).position), i < 7 ? 0 : 1);
  }
}

TEST_F(LogFileTest, DoesNotGoOnInASegmentThatNamesAnotherPlace) {
  const auto log = make();
  Appender appender(*log);
  must(appender.put("1"));
  const LogPlace end = appender.place();
  appender.next_segment();
  must(appender.put("2"));
  ASSERT_EQ(records_from(*log, *log->segment(0)).size(), 2u);

  must(log->begin_segment(1, {end.position, end.chain + 1}));
  EXPECT_EQ(records_from(*log, *log->segment(0)).size(), 1u);
  must(log->begin_segment(1, {end.position - 8, end.chain}));
  EXPECT_EQ(records_from(*log, *log->segment(0)).size(), 1u);
  must(log->begin_segment(1, {end.position + 8, end.chain}));
  EXPECT_EQ(records_from(*log, *log->segment(0)).size(), 1u);
}

TEST_F(LogFileTest, NothingBehindATornRecordIsLookedAtEvenInTheOtherSegment) {
  const auto log = make();
  Appender appender(*log);
  for (const char* value : {"1", "2", "3"}) must(appender.put(value));
  appender.next_segment();
  must(appender.put("4"));
  const LogPlace torn = appender.place_of(1);
  patch(offset_of(0) + LogFile::kSegmentHeaderBytes + (torn.position - kFirst) + 41, "x");

  LogReader reader(*log, *log->segment(0));
  EXPECT_EQ(records_from(reader).size(), 1u);
  EXPECT_EQ(reader.place(), torn);
  EXPECT_EQ(reader.segment(), 0);
}

TEST_F(LogFileTest, ASegmentThatWasBegunButNotUsedIsWhereTheLogGoesOn) {
  const auto log = make();
  Appender appender(*log);
  must(appender.put("1"));
  const LogPlace end = appender.place();
  appender.next_segment();

  LogReader reader(*log, *log->segment(0));
  EXPECT_EQ(records_from(reader).size(), 1u);
  EXPECT_EQ(reader.place(), end);
  EXPECT_EQ(reader.segment(), 1);

  // Its writer died; a smaller record still fits into the first.
  appender.go_back(end, 0);
  must(appender.put("2"));
  EXPECT_EQ(records_from(reader).size(), 1u);
  EXPECT_EQ(reader.segment(), 0);
  EXPECT_EQ(records_from(*log, end).size(), 1u);
}

// A power cut took the end of segment 0, but not the header of segment 1.
TEST_F(LogFileTest, ASegmentOfAnEarlierLifeDoesNotHideRecordsOfTheOther) {
  const auto log = make();
  Appender appender(*log);
  for (int i = 0; i < 4; ++i) must(appender.put("value"));
  appender.next_segment();
  must(appender.put("value"));
  appender.go_back(appender.place_of(2), 0);
  for (int i = 0; i < 9; ++i) must(appender.put("other"));

  LogReader reader(*log, *log->segment(0));
  EXPECT_EQ(records_from(reader).size(), 11u);
  EXPECT_EQ(reader.place(), appender.place());
  EXPECT_EQ(reader.segment(), 0);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(records_from(*log, appender.place_of(5 + i)).size(), 9 - i);
    EXPECT_EQ(log->segment_of(appender.place_of(5 + i).position), 0);
  }
}

TEST_F(LogFileTest, AReaderThatStoppedGoesOnWhenRecordsCome) {
  const auto log = make();
  Appender appender(*log);
  LogReader reader(*log, *log->segment(0));
  const std::string value(5000, 'v');
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(reader.next());
    must(appender.put(value));
    ASSERT_TRUE(reader.next()) << i;
    EXPECT_EQ(reader.place(), appender.place());
    EXPECT_EQ(reader.segment(), appender.segment());
  }
}

TEST_F(LogFileTest, AReusedSegmentEndsAReaderThatWasLeftBehind) {
  const auto log = make();
  Appender appender(*log);
  LogReader slow(*log, *log->segment(0));
  const std::string value(9000, 'v');
  must(appender.put(value));
  ASSERT_TRUE(slow.next());
  for (int i = 0; i < 20; ++i) must(appender.put(value));
  ASSERT_EQ(appender.segment(), 0);

  EXPECT_FALSE(slow.next());
  EXPECT_EQ(slow.segment(), 0);
  EXPECT_FALSE(log->segment_of(kFirst));
  EXPECT_TRUE(log->bytes_at(0, kFirst).empty());
}

TEST_F(LogFileTest, BeginningASegmentWritesItsHeaderOnly) {
  const auto log = make();
  Appender appender(*log);
  must(appender.put("value"));
  const std::uint64_t begin = offset_of(0) + LogFile::kSegmentHeaderBytes;
  const std::string before = bytes_of(begin, 4096);
  must(log->begin_segment(0, appender.place()));

  EXPECT_EQ(bytes_of(begin, 4096), before);
  EXPECT_TRUE(records_from(*log, appender.place()).empty());
}

TEST_F(LogFileTest, BytesEndWithTheSegment) {
  const auto log = make();

  EXPECT_EQ(log->bytes_at(0, kFirst).size(), log->room());
  EXPECT_EQ(log->bytes_at(0, kFirst + 8).size(), log->room() - 8);
  EXPECT_TRUE(log->bytes_at(0, kFirst + log->room()).empty());
  EXPECT_TRUE(log->bytes_at(0, kFirst + log->room() + 8).empty());
  EXPECT_TRUE(log->bytes_at(0, kFirst - 8).empty());
  EXPECT_TRUE(log->bytes_at(1, kFirst).empty());
  EXPECT_EQ(log->segment_of(kFirst + log->room()), 0);
  EXPECT_FALSE(log->segment_of(kFirst + log->room() + 8));
}

// Against a list of records: random sizes, power cuts that take the end, files opened again.
TEST_F(LogFileTest, RandomLogsAreReadAsTheyWereWritten) {
  std::mt19937 random(16);
  auto log = make();
  Appender appender(*log);
  std::vector<std::pair<LogPlace, std::string>> model;  // what the last segments hold
  for (int step = 0; step < 3000; ++step) {
    const int before = appender.segment();
    must(appender.put(std::string(random() % (random() % 9 == 0 ? 15000 : 300), 'v')));
    if (appender.segment() != before) {  // what stood in the new one is lost
      const Position oldest = log->segment(before)->position;
      std::erase_if(model, [&](const auto& row) { return row.first.position < oldest; });
    }
    model.emplace_back(appender.place_of(appender.records().size() - 1), appender.records().back());
    if (random() % 100 == 0) {  // goes back within the segment
      const Position begin = log->segment(appender.segment())->position;
      while (random() % 4 != 0 && model.back().first.position > begin) model.pop_back();
      const LogPlace place = model.back().first;
      model.pop_back();
      appender.go_back(place, appender.segment());
      appender.fill_record(RecordType::life, std::to_string(1'000'000'000'000'000 + step));
      model.emplace_back(place, appender.records().back());
    }
    if (step % 20 != 0) continue;
    const std::size_t from = random() % model.size();
    LogReader reader(*log, model[from].first);
    const auto found = records_from(reader);
    ASSERT_EQ(found.size(), model.size() - from) << step;
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], model[from + i].second);
    ASSERT_EQ(reader.place(), appender.place());
    ASSERT_EQ(reader.segment(), appender.segment());
  }
}

// ---- records behind the end

TEST_F(LogFileTest, RecordsBehindDamageAreNoticed) {
  const auto log = make();
  Appender appender(*log);
  for (int i = 0; i < 5; ++i) must(appender.put("some value"));  // 72 bytes
  const auto notices = [&](std::size_t record, std::size_t at) {
    const std::uint64_t offset = offset_of(0) + LogFile::kSegmentHeaderBytes +
                                 (appender.place_of(record).position - kFirst) + at;
    const std::string before = bytes_of(offset, 1);
    const char wrong = static_cast<char>(before[0] ^ 0x40);
    patch(offset, {&wrong, 1});
    LogReader reader(*log, *log->segment(0));
    EXPECT_EQ(records_from(reader).size(), record);
    const bool noticed = reader.has_records_behind();
    patch(offset, before);
    return noticed;
  };
  for (std::size_t at = 0; at < appender.records()[2].size() - 8; ++at) {
    EXPECT_TRUE(notices(2, at)) << at;  // whatever is damaged of it
  }
  EXPECT_TRUE(notices(3, 50));
  EXPECT_FALSE(notices(4, 50));  // the last: it may be torn
}

TEST_F(LogFileTest, RecordsOfTheOtherSegmentBehindDamageAreNoticed) {
  const auto log = make();
  Appender appender(*log);
  must(appender.put("1"));
  appender.next_segment();
  must(appender.put("2"));
  EXPECT_FALSE(LogReader(*log, appender.place()).has_records_behind());

  patch(offset_of(0) + LogFile::kSegmentHeaderBytes + 41, "x");
  LogReader reader(*log, *log->segment(0));
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.has_records_behind());
}

TEST_F(LogFileTest, RecordsOfAnEarlierUseOfTheSegmentAreNotBehind) {
  const auto log = make();
  Appender appender(*log);
  for (int i = 0; i < 2000; ++i) {
    must(appender.put("value"));
    if (i % 100 != 0) continue;
    LogReader reader(*log, appender.place());
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.has_records_behind()) << i;
  }
}

// ---- room, and writes that fail

TEST_F(LogFileTest, FillsAheadInSteps) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const auto log = make(16 * kMiB);
  const auto on_disk = [&] { return log->bytes_on_disk() / kMiB; };
  EXPECT_EQ(on_disk(), 1u);

  must(log->fill(0, kFirst + kMiB - 64));
  EXPECT_EQ(on_disk(), 1u);
  must(log->fill(0, kFirst + kMiB - 56));
  EXPECT_EQ(on_disk(), 5u);
  must(log->fill(0, kFirst + 6 * kMiB));
  EXPECT_EQ(on_disk(), 9u);
  must(log->fill(0, kFirst + log->room()));
  EXPECT_EQ(on_disk(), 16u);
  must(log->begin_segment(1, {kFirst + 100, 1}));
  must(log->fill(1, kFirst + 100));
  EXPECT_EQ(on_disk(), 17u);
  EXPECT_EQ(std::filesystem::file_size(path_), LogFile::kHeaderBytes + 32 * kMiB);
}

TEST_F(LogFileTest, FillingNeverTouchesRecords) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const auto log = make(8 * kMiB);
  const auto other = must(LogFile::open(path_, true));  // as another process has it
  const auto late = must(LogFile::open(path_, true));
  Appender appender(*other);
  const std::string value(100'000, 'v');
  for (int i = 0; i < 60; ++i) {
    if (i % 2 == 0) must(other->fill(appender.segment(), appender.place().position + 200'000));
    must(appender.put(value));
    if (i % 7 == 0) must(log->fill(appender.segment(), appender.place().position));
  }
  must(log->fill(0, kFirst + log->room()));
  must(late->fill(0, kFirst));
  must(late->fill(0, kFirst + log->room()));

  EXPECT_EQ(records_from(*log, *log->segment(0)), appender.records());
}

TEST_F(LogFileTest, FillsTheHoleBeforeARecord) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const auto log = make(8 * kMiB);
  RecordWriter writer;
  writer.begin(RecordType::barrier, kMoment);
  const std::string record(writer.finish(kFirst + 3 * kMiB, 0));
  must(log->append(0, kFirst + 3 * kMiB, record));
  must(log->fill(0, kFirst + 4 * kMiB));

  EXPECT_EQ(log->bytes_on_disk() / kMiB, 5u);
  EXPECT_EQ(log->bytes_at(0, kFirst + 3 * kMiB).substr(0, record.size()), record);
}

TEST_F(LogFileTest, AFullDiskIsToldBeforeTheRecordIsWritten) {
  const auto log = make(8 << 20);
  Appender appender(*log);
  must(appender.put("value"));
  {
    const SizeLimit limit(2 << 20);
    EXPECT_EQ(code_of(log->fill(0, kFirst + (3 << 20))), Code::full);
  }
  EXPECT_EQ(records_from(*log, *log->segment(0)).size(), 1u);
  must(log->fill(0, kFirst + (3 << 20)));
}

TEST_F(LogFileTest, ARecordThatWasWrittenInPartIsMadeInvalid) {
  const auto log = make();
  Appender appender(*log);
  must(appender.put("1"));
  const std::uint64_t offset =
      offset_of(0) + LogFile::kSegmentHeaderBytes + (appender.place().position - kFirst);
  for (const std::uint64_t written : {0, 8, 39, 40, 60}) {
    const SizeLimit limit(offset + written);
    EXPECT_EQ(code_of(appender.put("a longer value")), Code::full);
    EXPECT_EQ(bytes_of(offset, kRecordHeaderBytes), std::string(kRecordHeaderBytes, '\0'));
    EXPECT_FALSE(log->is_spoiled());
  }
  must(appender.put("2"));
  EXPECT_EQ(records_from(*log, *log->segment(0)), appender.records());
}

TEST_F(LogFileTest, ARecordThatCannotBeMadeInvalidSpoilsTheLog) {
  make();
  const auto log = must(LogFile::open(path_, false));  // so that no write succeeds
  Appender appender(*log);

  EXPECT_FALSE(log->is_spoiled());
  EXPECT_FALSE(appender.put("value").ok());
  EXPECT_TRUE(log->is_spoiled());
}

TEST_F(LogFileTest, WithoutASegmentNothingIsWritten) {
  const auto log = make();
  RecordWriter writer;
  writer.begin(RecordType::barrier, kMoment);

  EXPECT_EQ(code_of(log->append(1, kFirst, writer.finish(kFirst, 0))), Code::corrupt);
  EXPECT_EQ(code_of(log->fill(1, kFirst)), Code::corrupt);
  EXPECT_FALSE(log->is_spoiled());
}

TEST_F(LogFileTest, IdsAreRandom) {
  EXPECT_FALSE(UniqueId::random() == UniqueId::random());
  EXPECT_TRUE(UniqueId().is_none());
  EXPECT_FALSE(UniqueId::random().is_none());
  EXPECT_NE(first_chain(id_of('a')), first_chain(id_of('b')));
}

}  // namespace log_file_test
}  // namespace mayfly::internal
