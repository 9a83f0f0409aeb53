// SPDX-License-Identifier: Apache-2.0
// The files of a store, as the system knows them: which file a name or a descriptor is, whose it
// is, and how large it may get; and how a new store is made.

#pragma once

#include <lmdb.h>
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>

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
