// SPDX-License-Identifier: Apache-2.0
// UndoFile: the few calls of the operating system that the undo log and the power guard make on a
// file, with errors that say what failed, where and why.
//
// Locks are of the open file description (OFD), so they exclude other UndoFiles of this process as
// well as other processes, and the kernel releases them when the process dies.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mayfly/result.h"

namespace mayfly {

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

}  // namespace mayfly
