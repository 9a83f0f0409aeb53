// SPDX-License-Identifier: Apache-2.0
#include "store/lmdb/lmdb.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>

namespace mayfly::internal {
namespace {

Code code_of_errno(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::denied;
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::full;
    case EAGAIN:
    case EBUSY:
      return Code::busy;
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return Code::invalid;
    default:
      return Code::io;
  }
}

std::string sentence(std::string_view doing, std::string_view path, std::string_view why) {
  std::string text = "cannot ";
  text += doing;
  if (!path.empty()) text.append(" ").append(path);
  text += ": ";
  text += why;
  return text;
}

struct Meaning {
  int lmdb;
  Code code;
  std::string_view why;
};

constexpr Meaning kMeanings[] = {
    {MDB_MAP_FULL, Code::full,
     "the file has reached its maximum size (open the store with larger map_bytes)"},
    {MDB_KEYEXIST, Code::unsupported, "the key has the same hash as another long key"},
    {MDB_TXN_FULL, Code::full, "the transaction changes too many pages (commit earlier)"},
    {MDB_READERS_FULL, Code::busy, "too many read transactions and cursors are open (close some)"},
    {MDB_INVALID, Code::corrupt, "the file is not a store"},
    {MDB_CORRUPTED, Code::corrupt, "the file is damaged (restore a backup)"},
    {MDB_PAGE_NOTFOUND, Code::corrupt, "the file is damaged (restore a backup)"},
    {MDB_VERSION_MISMATCH, Code::unsupported, "the file was written by another version of LMDB"},
    {MDB_PANIC, Code::io,
     "an earlier write of the file failed (close the store and open it again)"},
    {EAGAIN, Code::busy,
     "a process with the same id has it open, so it is in another container (let the containers "
     "share a PID namespace)"},
    {MDB_MAP_RESIZED, Code::busy,
     "another process made the file larger than this one has mapped (end all transactions and try "
     "again)"},
};

}  // namespace

Error system_error(int number, std::string_view doing, std::string_view path) {
  if (number == ENOMEM) throw std::bad_alloc();
  return {code_of_errno(number), sentence(doing, path, std::generic_category().message(number))};
}

Error lmdb_error(int code, std::string_view doing, std::string_view path) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.lmdb == code) return {meaning.code, sentence(doing, path, meaning.why)};
  }
  if (code > 0) return system_error(code, doing, path);
  return {Code::io, sentence(doing, path, mdb_strerror(code))};
}

Error damaged_rows() { return lmdb_error(MDB_CORRUPTED, "read the store"); }

Status for_each_free_list(MDB_txn* reader, std::uint64_t first, std::uint64_t last,
                          const std::function<void(const FreeList&)>& visit) {
  TableCursor cursor;
  if (Status opened = cursor.open(reader, kFreeTable); !opened) return opened;
  const std::string_view start(reinterpret_cast<const char*>(&first), sizeof first);
  for (bool there = cursor.move(MDB_SET_RANGE, start); there; there = cursor.move(MDB_NEXT)) {
    std::uint64_t transaction = 0;
    std::memcpy(&transaction, cursor.key().data(), sizeof transaction);
    if (transaction > last) return Done{};
    const FreeList list(std::as_bytes(std::span(cursor.value())));
    if (!list.is_sound()) return Error{Code::corrupt, "the table of free pages is damaged"};
    visit(list);
  }
  return cursor.status();
}

Status sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string directory = ".";
  if (slash != std::string::npos) directory = path.substr(0, slash + 1);
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_error(errno, "open", directory);
  const int failed = ::fsync(descriptor);
  const int error_number = errno;
  ::close(descriptor);
  if (failed != 0) return system_error(error_number, "sync", directory);
  return Done{};
}

}  // namespace mayfly::internal
