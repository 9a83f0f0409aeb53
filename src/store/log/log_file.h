// SPDX-License-Identifier: Apache-2.0
// LogFile: the file of the redo log, `path-wal`: a header and two segments, which are used in turn.
//
//   header          4096 bytes, written once: magic, version, page size, store id, log id, segment
//                   size, position and chain of the first record, checksum
//   segment header  64 bytes at the head of each: log id, position and chain of its first record,
//                   checksum
//   records         (record.h) one after the other. A record does not span segments; what it
//                   leaves over at the end of one stays unused.
//
// The file has its whole length from the beginning (the parts that were never used are holes, and
// read as zeros), and is mapped for reading. Room is filled with zeros ahead of the tail, so that
// a write of a record needs no new room and a sync writes nothing but data.
//
// An open log is held (hold_file()), so that no other process takes it for its own when the other
// files of the store were removed or replaced.
//
// Threads: append(), begin_segment() and fill() are for the one who has the write lock (fill() also
// for a thread that the owner of the lock knows of); the rest may be called by any thread.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "mayfly/result.h"
#include "store/lmdb/store_files.h"
#include "store/log/record.h"

namespace mayfly::internal {

// Of a store, or of one of its logs: 16 random bytes. All zero: none.
struct UniqueId {
  std::array<char, 16> bytes{};
  bool operator==(const UniqueId&) const = default;
  bool is_none() const { return *this == UniqueId(); }
  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  std::uint64_t word() const;  // a part of it, never zero
  static UniqueId random();
};

// A place in the log: the next record has this position, and follows this chain.
struct LogPlace {
  Position position = 0;
  std::uint64_t chain = 0;
  bool operator==(const LogPlace&) const = default;
};

// The chain with which a log begins.
std::uint64_t first_chain(const UniqueId& log);

struct LogFileOptions {
  UniqueId store;
  UniqueId log;
  std::uint64_t segment_bytes = 0;
  Position first = 0;
  int like = -1;  // a new one takes the mode and the owner of this file; -1: of none
};

class LogFile {
 public:
  static constexpr std::size_t kHeaderBytes = 4096;
  static constexpr std::size_t kSegmentHeaderBytes = 64;
  static constexpr std::uint64_t kSegmentBytesMin = 64 << 10;

  // Makes the file under `path`.new, with segment 0 ready for its first record, syncs it and
  // renames it to `path`. The caller syncs the folder. What fails leaves nothing behind.
  static Result<Ref<LogFile>> make(const std::string& path, const LogFileOptions& options);

  // The same in two steps: take_name() replaces any file of that name. A file without its name is
  // removed by the next make_new().
  static Result<Ref<LogFile>> make_new(const std::string& path, const LogFileOptions& options);
  Status take_name();

  // Code::not_found; Code::corrupt if its header is damaged; Code::unsupported for another version.
  static Result<Ref<LogFile>> open(const std::string& path, bool writable);
  ~LogFile();

  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const UniqueId& store() const { return options_.store; }
  const UniqueId& id() const { return options_.log; }
  std::uint64_t segment_bytes() const { return options_.segment_bytes; }
  // Of a segment, for records.
  std::uint64_t room() const { return options_.segment_bytes - kSegmentHeaderBytes; }

  // Where segment 0 or 1 begins; nothing if its header is not one of this log.
  std::optional<LogPlace> segment(int number) const;

  // The segment in which the record at this position stands, or would stand next; nothing if none.
  // If two have the position: that which has a record there, else the one that begins later.
  std::optional<int> segment_of(Position position) const;

  // What is mapped from this position to the end of the segment.
  std::string_view bytes_at(int segment, Position position) const;

  // Writes the header of a segment. What stood there is lost.
  Status begin_segment(int number, const LogPlace& place);

  // Writes a record. If that fails, what was written of it is made invalid; if that fails, too,
  // is_spoiled() is true from then on. REQUIRES: it fits into the segment.
  Status append(int segment, Position position, std::string_view record);
  bool is_spoiled() const { return spoiled_.load(std::memory_order_relaxed); }

  // Makes sure that the segment has room on disk, filled with zeros, up to this position, and some
  // ahead of it. Cheap when it has. Code::full if the disk has none. Writes into holes of the file
  // only, so records are safe, whoever wrote them; but nobody may append or fill meanwhile.
  Status fill(int segment, Position end);

  Status sync();

  // Looks at the limit on the size of files, which may have been lowered: where the file is longer,
  // a write beyond the limit is an error and no signal.
  void look_at_limit();

  std::uint64_t bytes_on_disk() const;

  // In the child of a fork: the file and its map are given up, so that the parent holds it alone.
  void close_in_child();

  // The file takes the mode and the owner of another one, which may have changed.
  void take_access_of(int like) const { take_access(file_, like); }

  // Whether the file of its name is still this one.
  bool is_named() const { return file_id(file_) == file_id(path_); }

  // The largest segments that the limit on the size of files allows this process, and no larger
  // than `wanted`; 0 if it allows none.
  static std::uint64_t allowed_segment_bytes(std::uint64_t wanted);

 private:
  std::uint64_t data_end(int segment, std::uint64_t from) const;
  friend struct RefBox<LogFile>;
  LogFile(int file, std::string path, const LogFileOptions& options);

  Status set_up(const std::string& new_path);
  Status map();
  std::uint64_t offset_of(int segment) const;
  Status fill_holes(std::uint64_t begin, std::uint64_t end);

  int file_;
  const std::string path_;
  LogFileOptions options_;
  std::atomic<bool> is_limited_{};  // the file is longer than this process may write
  const char* map_ = nullptr;
  mutable std::array<std::atomic<std::uint64_t>, 2> data_end_{};  // where holes begin
  std::size_t map_bytes_ = 0;
  std::array<std::atomic<std::uint64_t>, 2> filled_{};  // bytes of each segment that are on disk
  std::atomic<bool> spoiled_{false};
};

// Reads records one after the other, from a place on, into the next segment where that goes on.
//
//   LogReader reader(file, place);
//   while (auto record = reader.next()) use(*record);
//   reader.place();                                     // where the log ends
class LogReader {
 public:
  LogReader(const LogFile& file, const LogPlace& place) : file_(&file), place_(place) {}

  // The record at place(), which then is behind it. Nothing: the log ends here.
  std::optional<RecordView> next();

  const LogPlace& place() const { return place_; }
  // The segment in which the record at place() belongs; nothing if no segment has that place.
  // Between two: the one whose header names the place, then the one that was read last.
  std::optional<int> segment() const;

  // Whether records that fit each other stand behind the end: then the log is damaged, or a power
  // cut took a part of it.
  bool has_records_behind() const;

 private:
  std::optional<RecordView> next_elsewhere();

  const LogFile* file_;
  LogPlace place_;
  int segment_ = -1;       // that was read last; -1: none was
  std::string_view rest_;  // of that segment, from place_ on
};

}  // namespace mayfly::internal
