// SPDX-License-Identifier: Apache-2.0
// UndoLog: the file beside a store from which a power cut is undone. See power_guard.h for why.
//
//   0      control            what live processes tell each other; never synced, and worthless
//                             after a reboot
//   4 Ki   header, slot 0     of the even generations: the recovery point, one sector, checksummed
//   8 Ki   header, slot 1     of the odd generations
//   16 Ki  two areas          of batches, in turns of 1 MiB: even, odd, even, odd, ...
//
// A generation is a recovery point with the batches that lead back to it. A batch is
// [head: magic, generation, sequence, count, checksum][page numbers][page images], padded to 4 KiB.
// Batches are numbered without a gap for the life of the file.
//
//   header g durable      batches of generation g go to area g & 1
//   g+1 is captured       its area, the other one, is empty (g-1 is of no use to anyone); batches
//                         go there from now on, and lead back to both points
//   header g+1 durable    header g and its area are of no use any more
//
// So recovery to g reads area g & 1 from the header's start, and then, as long as the numbers go
// on, the batches of generation g+1 in the other area. What a crash leaves half written is never
// more than the last batch or one header slot; the checksum tells, and what it was to replace is
// still there.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mayfly/result.h"
#include "store/lmdb/page_format.h"

namespace mayfly::internal {

// The calls of the operating system that the undo log and the power guard make on a file, with
// errors that say what failed, where and why.
//
// Locks are of the open file description (OFD), so they exclude other UndoFiles of this process as
// well as other processes, and the kernel releases them when the process dies.
class UndoFile {
 public:
  // Nothing if there is no such file.
  static Result<std::optional<UndoFile>> open(const std::string& path);

  // An empty file; one that exists is emptied.
  static Result<UndoFile> create(const std::string& path);

  UndoFile(UndoFile&& other) noexcept;
  UndoFile& operator=(UndoFile&& other) noexcept;
  ~UndoFile();

  // In the child of a fork: so that the parent's locks end with the parent.
  void close_in_child();

  // Reads what there is, which is less than `bytes` at the end of the file only.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  // Returns when all that was written is on the disk (fdatasync).
  Status sync();

  // Waits for the lock on one byte, which need not exist.
  enum class Lock { shared, exclusive };
  Status lock(std::uint64_t byte, Lock kind);
  void unlock(std::uint64_t byte);

  const std::string& path() const { return path_; }

 private:
  UndoFile(std::string path, int descriptor);

  std::string path_;
  int descriptor_;  // -1 once it has been moved from
};

// Holds the lock on a byte of a file until it goes.
class UndoFileLock {
 public:
  static Result<UndoFileLock> take(UndoFile& file, std::uint64_t byte, UndoFile::Lock kind);

  UndoFileLock(UndoFileLock&& other) noexcept;
  UndoFileLock& operator=(UndoFileLock&&) = delete;
  ~UndoFileLock();

 private:
  UndoFileLock(UndoFile& file, std::uint64_t byte) : file_(&file), byte_(byte) {}

  UndoFile* file_;
  std::uint64_t byte_;
};

// Makes the creation, renaming or removal of `path` durable.
Status sync_directory_of(const std::string& path);

// A recovery point.
struct UndoHeader {
  std::uint64_t generation = 0;
  bool is_open = false;              // whether a power cut must be undone; else the store is whole
  std::uint64_t start = 0;           // where in its area its batches begin
  std::uint64_t first_sequence = 0;  // the number of its first batch
  std::uint64_t salt = 0;            // seeds the checksums of batches
  std::string boot_id;               // of the boot that made it; at most 40 bytes
  LmdbMeta meta;                     // the store's meta page at this point

  friend bool operator==(const UndoHeader& a, const UndoHeader& b) {
    return a.generation == b.generation && a.is_open == b.is_open && a.start == b.start &&
           a.first_sequence == b.first_sequence && a.salt == b.salt && a.boot_id == b.boot_id &&
           a.meta.bytes == b.meta.bytes;
  }
};

// What the processes that have the store open agree on.
struct UndoControl {
  std::uint64_t confirmed = 0;           // the generation whose header is known to be on disk
  std::uint64_t captured = 0;            // confirmed, or confirmed + 1 while that is being made
  std::uint64_t captured_start = 0;      // what its header will say
  std::uint64_t captured_last_page = 0;  // likewise
  std::uint64_t saved_upto = 0;          // what transactions up to this one freed is in the log
  std::uint64_t next_sequence = 1;
  std::array<std::uint64_t, 2> ends{};  // of the batches in each area that are known to be on disk
  std::uint64_t has_failed = 0;         // 1: the store's own file could not be synced in this boot
};

class UndoLog {
 public:
  // Nothing if there is no such file.
  static Result<std::optional<UndoLog>> open(const std::string& path);

  // A log of generation 1, not open, and durable. A crash leaves all of it or nothing.
  static Result<UndoLog> create(const std::string& path, const std::string& boot_id);

  // Removes the file, if it is there.
  static Status remove(const std::string& path);

  // The header of `generation`, if its slot holds that one and is whole.
  Result<std::optional<UndoHeader>> header(std::uint64_t generation) const;

  // The header of the greatest generation; Code::corrupt if neither slot is whole.
  Result<UndoHeader> newest() const;

  // Written, but not synced.
  Status write_header(const UndoHeader& header);

  Result<UndoControl> control() const;
  Status write_control(const UndoControl& control);

  // Writes the present images of `pages` of `store` as batches of the captured generation, and
  // moves its end and the next number in `control` (but writes neither that nor syncs).
  Status append(UndoControl& control, std::uint64_t salt, std::span<const std::uint64_t> pages,
                const UndoFile& store, std::uint32_t page_size);

  // Calls `restore` with the pages that lead back to `header`, in the order in which they were
  // saved. Code::corrupt if batches are missing in between.
  using Restore = std::function<Status(std::uint64_t page, std::span<const std::byte> image)>;
  Status replay(const UndoHeader& header, const Restore& restore) const;

  Status sync() { return file_.sync(); }

 private:
  explicit UndoLog(UndoFile file) : file_(std::move(file)) {}

  // The rest of a batch beside its head.
  struct Batch {
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint64_t end = 0;
    std::vector<std::byte> bytes;
  };

  // The batch of `generation` at `start` of its area, if there is a whole one.
  Result<std::optional<Batch>> read_batch(std::uint64_t generation, std::uint64_t start,
                                          std::uint64_t salt, std::uint32_t page_size) const;
  Result<std::size_t> read_area(std::uint64_t area, std::uint64_t offset,
                                std::span<std::byte> bytes) const;
  Status write_area(std::uint64_t area, std::uint64_t offset, std::span<const std::byte> bytes);

  UndoFile file_;
};

}  // namespace mayfly::internal
