// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reading of a log whose bytes are damaged, or made up. It is refused, or each record
// that a reader returns has its position and follows the one before it; operations are taken out of
// its body only; and a record that is appended where the reader ended is found by the next one.
//
// An input is a byte of options and the used parts of a log, one after the other: the headers of
// the file and of both segments, the length of the records of segment 0 (2 bytes), these records,
// and those of segment 1. If the options say so, checksums and chains are made right first.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "store/log/log_damage.h"
#include "store/log/log_file.h"

namespace mayfly::internal {
namespace {

constexpr std::uint8_t kSignHeaders = 1;
constexpr std::uint8_t kSignRecords = 2;
constexpr std::uint8_t kShorter = 4;  // the file lacks its last byte

[[noreturn]] void log_finding(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

std::string take(std::string_view& input, std::size_t size) {
  const std::string bytes(input.substr(0, size));
  input.remove_prefix(bytes.size());
  return bytes;
}

std::string to_file(std::string_view input) {
  const auto options = static_cast<std::uint8_t>(input[0]);
  input.remove_prefix(1);
  std::string file = take(input, kUsedHeader);
  file.resize(LogFile::kHeaderBytes + 2 * kSegment);
  const std::size_t first = LogFile::kHeaderBytes;
  const std::size_t second = first + kSegment;
  for (const std::size_t segment : {first, second}) {
    const std::string header = take(input, kSegmentHeader);
    file.replace(segment, header.size(), header);
  }
  std::string length = take(input, 2);
  length.resize(2);
  const std::string records = take(input, value_at<std::uint16_t>(length, 0));
  const std::size_t room = kSegment - kSegmentHeader;
  file.replace(first + kSegmentHeader, std::min(records.size(), room), records, 0, room);
  const std::string others = take(input, room);
  file.replace(second + kSegmentHeader, others.size(), others);
  if ((options & kSignRecords) != 0) {
    const std::uint64_t chain = sign_records(file, first);
    if ((options & kSignHeaders) != 0) set_at(file, second + 24, chain);
    sign_records(file, second);
  }
  if ((options & kSignHeaders) != 0) sign_headers(file);
  if ((options & kShorter) != 0) file.pop_back();
  return file;
}

void check_operations(const RecordView& record) {
  const std::vector<char> copy(record.body.begin(), record.body.end());  // ends where memory ends
  std::string_view rest(copy.data(), copy.size());
  for (Operation operation;;) {
    const std::string_view before = rest;
    if (!take_operation(rest, operation)) break;
    const std::size_t taken = before.size() - rest.size();
    if (operation.deadline != kNever && taken != operation_bytes(operation)) {
      log_finding("an operation has another size");
    }
    if (operation.key.size() + operation.value.size() + kOperationBytes > taken) {
      log_finding("an operation is longer than what was taken");
    }
  }
  if (record.type == RecordType::cut) static_cast<void>(cut_range(record));
}

// Returns the number of records.
std::size_t read_all_records(LogReader& reader) {
  std::size_t count = 0;
  for (LogPlace place = reader.place(); const auto record = reader.next(); ++count) {
    const std::string_view whole(record->body.data() - kRecordHeaderBytes,
                                 record->body.size() + kRecordHeaderBytes);
    if (record->position != place.position) log_finding("a record has another position");
    if (record->chain != right_chain(whole, place.chain)) log_finding("a chain is wrong");
    check_operations(*record);
    place = {record->end(), record->chain};
    if (reader.place() != place) log_finding("the reader is elsewhere");
  }
  return count;
}

void read_and_append(LogFile& log, const LogPlace& from) {
  LogReader reader(log, from);
  const std::size_t count = read_all_records(reader);
  static_cast<void>(reader.has_records_behind());
  static_cast<void>(log.segment_of(reader.place().position));
  const std::optional<int> segment = reader.segment();
  RecordWriter writer;
  writer.begin(RecordType::life, Time());
  writer.add_bytes("0123456789abcdef");
  const Position end = reader.place().position;
  if (!segment || log.bytes_at(*segment, end).size() < writer.bytes()) return;
  if (!log.fill(*segment, end + writer.bytes()) ||
      !log.append(*segment, end, writer.finish(end, reader.place().chain))) {
    log_finding("cannot append");
  }
  LogReader again(log, from);
  if (read_all_records(again) <= count) log_finding("what was appended is not found");
}

void run_log(std::string_view input) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("mayfly-log-fuzz-" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary | std::ios::trunc) << to_file(input);
  if (const auto log = LogFile::open(path, true)) {
    for (const int number : {0, 1}) {
      if (const auto place = (*log)->segment(number)) read_and_append(**log, *place);
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace mayfly::internal

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) mayfly::internal::run_log({reinterpret_cast<const char*>(data), size});
  return 0;
}
