// SPDX-License-Identifier: Apache-2.0
// How much room a store has left, and which readers keep it from using more.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

// What transactions that put have to leave of a map, so that there is room to remove something:
// LMDB changes no page in place, and what a transaction frees, only the next but one can take.
constexpr std::uint64_t kReservedMost = 64;  // a removal takes some twenty
constexpr std::uint64_t kReservedShare = 8;  // of the map, if that is small

// How much a checkpoint may need: for an entry of so many bytes of log at least, the paths to it in
// three trees; and a multiple of the bytes, since pages are not full.
constexpr std::uint64_t kEntryLeast = 64;
constexpr std::uint64_t kPathPages = 12;
constexpr std::uint64_t kGrowth = 4;

struct ReaderList {
  std::vector<StoreReader> readers;
  bool is_whole = true;
};

// One line of LMDB's table of readers: process, thread, transaction. Idle ones have no transaction.
// LMDB calls this, and no exception may pass through it.
int read_line(const char* line, void* context) {
  auto& list = *static_cast<ReaderList*>(context);
  long process = 0;
  unsigned long long thread = 0;
  unsigned long long txn = 0;
  if (std::sscanf(line, "%ld %llx %llu", &process, &thread, &txn) != 3) return 0;
  try {
    list.readers.push_back({process, txn, 0});
  } catch (const std::bad_alloc&) {
    list.is_whole = false;
  }
  return 0;
}

// How many pages the transactions from `first` to `last` freed that are still free.
std::uint64_t count_freed(MDB_env* env, std::uint64_t first, std::uint64_t last) {
  MDB_txn* begun = nullptr;  // to a writer LMDB does not show its table of free pages
  if (::mdb_txn_begin(env, nullptr, MDB_RDONLY, &begun) != 0) return 0;
  const OwnTxn reader(begun);
  std::uint64_t pages = 0;
  static_cast<void>(for_each_free_list(reader.get(), first, last,
                                       [&](const FreeList& list) { pages += list.count(); }));
  return pages;
}

}  // namespace

std::vector<StoreReader> Environment::readers() const {
  ReaderList list;
  ::mdb_reader_list(env_, read_line, &list);
  if (!list.is_whole) throw std::bad_alloc();
  return std::move(list.readers);
}

MDB_envinfo Environment::info() const {
  MDB_envinfo info{};
  ::mdb_env_info(env_, &info);
  return info;
}

std::uint64_t Environment::page_bytes() const {
  MDB_stat stat{};
  ::mdb_env_stat(env_, &stat);
  return stat.ms_psize;
}

std::uint64_t Environment::map_pages() const { return info().me_mapsize / page_bytes(); }

// The pages of the file that no tree has. Those that a reader still needs count, too.
std::uint64_t Environment::free_pages() const { return count_freed(env_, 0, UINT64_MAX); }

bool Environment::takes_all(std::uint64_t bytes) const {
  const MDB_envinfo now = info();
  const std::uint64_t unused =
      map_pages() - std::min<std::uint64_t>(map_pages(), now.me_last_pgno + 1);
  const std::uint64_t touched =
      std::min<std::uint64_t>(now.me_last_pgno, bytes / kEntryLeast * kPathPages);
  const std::uint64_t needed = touched + kGrowth * bytes / page_bytes() + reserved_pages();
  if (needed <= unused) return true;
  std::uint64_t oldest = now.me_last_txnid;  // LMDB keeps the last state
  for (const StoreReader& reader : readers()) oldest = std::min(oldest, reader.snapshot);
  return oldest > 0 && needed <= unused + count_freed(env_, 0, oldest - 1);
}

bool Environment::leaves_reserve(std::int64_t growth) const {
  if (growth <= 0) return true;
  const std::uint64_t needed =
      info().me_last_pgno + 1 + static_cast<std::uint64_t>(growth) + reserved_pages();
  return needed <= map_pages() || needed <= map_pages() + free_pages();
}

bool Environment::last_freed_much() const {
  const std::uint64_t last = info().me_last_txnid;
  return count_freed(env_, last, last) >= reserved_pages();
}

std::uint64_t Environment::reserved_pages() const {
  return std::min(kReservedMost, map_pages() / kReservedShare);
}

// Free pages are as good as room behind the last page of the file. To ask for room beyond the limit
// on the size of files would be a signal.
bool Environment::leaves_disk(std::int64_t growth) const {
  const std::uint64_t free = growth > 0 ? free_pages() : 0;  // not of a file just opened
  const std::uint64_t needed =
      kReservedMost + static_cast<std::uint64_t>(std::max<std::int64_t>(growth, 0));
  if (needed <= free) return true;
  const std::uint64_t begin = (info().me_last_pgno + 1) * page_bytes();
  const std::uint64_t bytes = (needed - free) * page_bytes();
  if (begin + bytes > file_size_limit()) return true;
  const int failed = ::fallocate(descriptor(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                                 static_cast<off_t>(bytes));
  return failed == 0 || (errno != ENOSPC && errno != EDQUOT);
}

// A page that changes is written anew, and the old one is freed.
std::uint64_t Environment::written_bytes(std::uint64_t id, std::uint64_t last_page) const {
  const std::uint64_t grown = info().me_last_pgno - std::min(info().me_last_pgno, last_page);
  return (count_freed(env_, id, id) + grown) * page_bytes();
}

}  // namespace mayfly::internal
