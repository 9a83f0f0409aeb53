// SPDX-License-Identifier: Apache-2.0
// The files of a store, as the system knows them: which file a name or a descriptor is, whose it
// is, who uses it, and how large it may get; and how a new store is made.

#pragma once

#include <lmdb.h>
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include "mayfly/result.h"

namespace mayfly::internal {

// All zero: no file.
struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};
FileId file_id(int file);
FileId file_id(const std::string& path);

// A file in use has a shared lock (OFD) on a byte far behind its data. All processes that open the
// file find the lock, under whatever name, and it ends with its process. An open file is held until
// release_file(), or until it is closed in this process and in children that have a copy of it.
// False: it failed, with errno.
bool hold_file(int file);
void release_file(int file);

// Whether there is another holder: another process, or another open file of this one.
bool is_held_elsewhere(int file);
bool is_held(const std::string& path);  // false also if it cannot be opened

// FileHold: that a file is held, for as long as this stands. Where a file system knows no such
// locks, nothing is held.
class FileHold {
 public:
  FileHold() = default;
  static Result<FileHold> on(const std::string& path);
  FileHold(FileHold&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileHold& operator=(FileHold&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~FileHold();

  bool is_shared() const { return file_ >= 0 && is_held_elsewhere(file_); }

  // Whether it is the file with this identity; true also if nothing is held.
  bool is_on(const FileId& id) const { return file_ < 0 || file_id(file_) == id; }

  // In the child of a fork: leaves the lock to the parent.
  void close_in_child();

 private:
  explicit FileHold(int file) : file_(file) {}

  int file_ = -1;
};

// Gives a file the mode and the owner of another one, as far as the process may: the contents of
// -wal, -shm, a backup and so on must not be open to more users than the store. If the group has to
// stay another one, it gets the rights of all users. `adds` are bits that it gets in any case.
void take_access(int file, int like, mode_t adds = 0);
void take_access(int file, const std::string& like, mode_t adds = 0);

// The size to which the process may let a file grow (RLIMIT_FSIZE). To write beyond it is a signal
// that ends the process.
std::uint64_t file_size_limit();

// While one exists, a write of this thread beyond that limit is an error (EFBIG) and no signal.
class NoSizeSignal {
 public:
  explicit NoSizeSignal(bool is_needed);
  ~NoSizeSignal();
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  bool is_on_;
  sigset_t before_;
};

// Makes an empty LMDB file into a store, in one transaction. Returns the handle of its first table.
Result<MDB_dbi> fill_new_store(MDB_env* env);

// Makes a store at `path`. It gets its name when it is whole, and does not replace what has that
// name: of several processes that make the same store one does, and all can open it. Where a file
// system has no links, the file is left empty; opening it makes a store.
Status make_store_file(const std::string& path);

}  // namespace mayfly::internal
