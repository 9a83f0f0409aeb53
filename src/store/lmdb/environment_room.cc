// SPDX-License-Identifier: Apache-2.0
// How much room a store has left, and which readers keep it from using more.

#include <algorithm>
#include <cstdio>
#include <string>

#include "store/lmdb/environment.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

// One line of LMDB's table of readers: process, thread, transaction. Idle ones have no transaction.
int read_line(const char* line, void* context) {
  long process = 0;
  unsigned long long thread = 0;
  unsigned long long txn = 0;
  if (std::sscanf(line, "%ld %llx %llu", &process, &thread, &txn) == 3) {
    static_cast<std::vector<StoreReader>*>(context)->push_back({process, txn, 0});
  }
  return 0;
}

// How many pages the transactions from `first` to `last` freed that are still free.
std::uint64_t count_freed(MDB_env* env, std::uint64_t first, std::uint64_t last) {
  MDB_txn* reader = nullptr;  // to a writer LMDB does not show its table of free pages
  if (::mdb_txn_begin(env, nullptr, MDB_RDONLY, &reader) != 0) return 0;
  std::uint64_t pages = 0;
  static_cast<void>(for_each_free_list(reader, first, last,
                                       [&](const FreeList& list) { pages += list.count(); }));
  ::mdb_txn_abort(reader);
  return pages;
}

}  // namespace

std::vector<StoreReader> Environment::readers() const {
  std::vector<StoreReader> readers;
  ::mdb_reader_list(env_, read_line, &readers);
  return readers;
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

std::uint64_t Environment::room() const {
  const MDB_envinfo now = info();
  std::uint64_t pages = now.me_mapsize / page_bytes();
  pages -= std::min<std::uint64_t>(pages, now.me_last_pgno + 1);
  std::uint64_t oldest = now.me_last_txnid;  // LMDB keeps the last state
  for (const StoreReader& reader : readers()) oldest = std::min(oldest, reader.snapshot);
  return oldest == 0 ? pages : pages + count_freed(env_, 0, oldest - 1);
}

// A page that changes is written anew, and the old one is freed.
std::uint64_t Environment::written_bytes(std::uint64_t id, std::uint64_t last_page) const {
  const std::uint64_t grown = info().me_last_pgno - std::min(info().me_last_pgno, last_page);
  return (count_freed(env_, id, id) + grown) * page_bytes();
}

}  // namespace mayfly::internal
