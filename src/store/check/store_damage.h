// SPDX-License-Identifier: Apache-2.0
// For tests that go behind the back of a store: its file through LMDB alone, and as plain bytes.

#pragma once

#include <lmdb.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "store/lmdb/lmdb.h"

namespace mayfly::internal {

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The file of a store that nobody has open. Each call is a transaction. A table of nullptr is the
// main one.
class RawFile {
 public:
  explicit RawFile(const std::filesystem::path& path) {
    check(mdb_env_create(&env_));
    check(mdb_env_set_maxdbs(env_, 100));
    check(mdb_env_set_mapsize(env_, std::size_t{1} << 26));
    check(mdb_env_open(env_, path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0600));
  }
  ~RawFile() { mdb_env_close(env_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  void put(const char* table, std::string_view key, std::string_view value) {
    change(table, [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_val name = to_val(key);
      MDB_val bytes = to_val(value);
      check(mdb_put(txn, dbi, &name, &bytes, 0));
    });
  }
  void erase(const char* table, std::string_view key) {
    change(table, [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_val name = to_val(key);
      check(mdb_del(txn, dbi, &name, nullptr));
    });
  }
  void drop(const char* table) {
    change(table, [&](MDB_txn* txn, MDB_dbi dbi) { check(mdb_drop(txn, dbi, 1)); });
  }
  std::string get(const char* table, std::string_view key) {
    std::string result;
    change(table, [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_val name = to_val(key);
      MDB_val bytes{};
      check(mdb_get(txn, dbi, &name, &bytes));
      result = to_view(bytes);
    });
    return result;
  }

 private:
  static void check(int code) {
    if (code != MDB_SUCCESS) throw std::runtime_error(mdb_strerror(code));
  }
  template <class Change>
  void change(const char* table, Change change) {
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    check(mdb_dbi_open(txn, table, table == nullptr ? 0 : MDB_CREATE, &dbi));
    change(txn, dbi);
    check(mdb_txn_commit(txn));
  }

  MDB_env* env_ = nullptr;
};

}  // namespace mayfly::internal
