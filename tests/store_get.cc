// SPDX-License-Identifier: Apache-2.0
// Looks keys up in one transaction, many times: in a Store, in a family without TTLs, or in a table
// of LMDB by the same code with all that is about TTLs taken out. For callgrind; store_get_test.py
// compares the two.
//
//   store_get store|plain ROUNDS DIRECTORY
//
// "The same code" keeps what a store without TTLs would need too: families, keys longer than
// LMDB's, checked arguments, errors that people understand, statistics, and the calls between its
// parts (noipa: the compiler knows no more of a caller than it does of one in another file).

#include <lmdb.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/store.h"
#include "store/lmdb/lmdb.h"
#include "store/rows/stored_key.h"
#include "store/txn/txn.h"

namespace mayfly::internal {
namespace {

constexpr std::uint64_t kKeys = 10'000;
constexpr std::size_t kValueBytes = 60;
constexpr std::size_t kMapBytes = std::size_t{1} << 30;  // valgrind has no room for more

std::string key_of(std::uint64_t number) {
  std::string key = std::to_string(number * 2'654'435'761u % 100'000'000);
  return "key:" + std::string(8 - key.size(), '0') + key;
}

[[noreturn]] void fail(std::string_view why) {
  std::fprintf(stderr, "store_get: %.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(1);
}

void must(const Status& status) {
  if (!status) fail(status.error().message);
}

void must(int code) {
  if (code != 0) fail(mdb_strerror(code));
}

struct PlainView {
  Family family{};
  bool resolved = false;
  MDB_dbi data = 0;
};

// A transaction of a store that has never heard of TTLs; see store/txn.h.
class PlainTxn {
 public:
  PlainTxn(MDB_txn* lmdb, MDB_dbi data) : lmdb_(lmdb) { first_ = {Family(), true, data}; }

  PlainView* view(Family family) {
    if (first_.resolved && first_.family == family && lmdb_ != nullptr) return &first_;
    return find_view(family);
  }

  [[gnu::noipa]] Result<std::optional<std::string_view>> find(PlainView& view,
                                                              const StoredKey& key) {
    const auto row = get_row(lmdb_, view.data, key.bytes());
    if (!row) return row.error();
    if (!*row) return std::optional<std::string_view>();
    std::string_view found = **row;
    if (key.long_form()) {
      const LongValueResult split = split_long_value(found);
      if (!split.ok) return damaged_rows();
      if (split.parts.key != key.key()) return std::optional<std::string_view>();
      found = split.parts.value;
    }
    return std::optional(found);
  }

  std::uint64_t hash_seed() const { return hash_seed_; }
  Tally& tally() { return tally_; }

 private:
  [[gnu::noipa]] PlainView* find_view(Family family) {
    for (const auto& view : others_) {
      if (view->family == family) return view.get();
    }
    return nullptr;
  }

  MDB_txn* lmdb_;
  std::uint64_t hash_seed_ = 1;
  PlainView first_;
  std::vector<std::unique_ptr<PlainView>> others_;
  Tally tally_;
};

// As ReadTxn.
class PlainReadTxn {
 public:
  explicit PlainReadTxn(std::unique_ptr<PlainTxn> txn) : txn_(std::move(txn)) {}

  [[gnu::noipa]] Result<std::optional<std::string_view>> get(std::string_view key,
                                                             Family family = {}) const {
    if (!good_key(key)) return bad_key(key);
    PlainView* const view = txn_->view(family);
    if (view == nullptr) return Error{Code::not_found, "the family is not in the store"};
    const StoredKey stored(key, txn_->hash_seed());
    const auto found = txn_->find(*view, stored);
    if (!found) return found.error();
    if (!*found) return std::optional<std::string_view>();
    txn_->tally().add(Count::gets);
    txn_->tally().add(Count::bytes_read, (*found)->size());
    return std::optional<std::string_view>(**found);
  }

 private:
  std::unique_ptr<PlainTxn> txn_;
};

// Both fill their tables in this order, so that both trees have the same shape: a store would do it
// in any case, as a transaction writes what it gathers in the order of the keys.
std::vector<std::string> in_order(std::vector<std::string> keys) {
  std::ranges::sort(keys);
  return keys;
}

template <class Txn>
std::uint64_t look_up(const Txn& txn, const std::vector<std::string>& keys, int rounds) {
  std::uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& key : keys) {
      const auto value = txn.get(key);
      if (!value || !*value) fail("a key is not there");
      sum += (*value)->size();
    }
  }
  return sum;
}

// The family that is read has no deadline, though another one in the same file has.
std::uint64_t run_store(const std::vector<std::string>& keys, int rounds, const std::string& path) {
  const SystemClock clock;
  Result<Store> store =
      Store::open(path, clock, {.durability = Durability::off, .map_bytes = kMapBytes});
  if (!store) fail(store.error().message);
  const Result<Family> other = store->create_family("other");
  if (!other) fail(other.error().message);
  must(store->put("mortal", "x", std::chrono::hours(1), *other));

  Result<WriteTxn> fill = store->write();
  if (!fill) fail(fill.error().message);
  for (const std::string& key : in_order(keys)) fill->put(key, std::string(kValueBytes, 'v'));
  must(fill->commit());
  must(store->checkpoint());  // from here on it is LMDB that is read

  const Result<ReadTxn> txn = store->read();
  if (!txn) fail(txn.error().message);
  return look_up(*txn, keys, rounds);
}

std::uint64_t run_plain(const std::vector<std::string>& keys, int rounds, const std::string& path) {
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi data = 0;
  must(mdb_env_create(&env));
  must(mdb_env_set_mapsize(env, kMapBytes));
  must(mdb_env_set_maxdbs(env, 3));
  must(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOTLS | MDB_NOSYNC, 0644));
  must(mdb_txn_begin(env, nullptr, 0, &txn));
  must(mdb_dbi_open(txn, "data", MDB_CREATE, &data));
  const std::string text(kValueBytes, 'v');
  for (const std::string& key : in_order(keys)) {
    MDB_val name = to_val(key);
    MDB_val value = to_val(text);
    must(mdb_put(txn, data, &name, &value, 0));
  }
  must(mdb_txn_commit(txn));
  must(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn));
  const std::uint64_t sum =
      look_up(PlainReadTxn(std::make_unique<PlainTxn>(txn, data)), keys, rounds);
  mdb_txn_abort(txn);
  mdb_env_close(env);
  return sum;
}

}  // namespace
}  // namespace mayfly::internal

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: store_get store|plain ROUNDS DIRECTORY\n");
    return 1;
  }
  std::vector<std::string> keys;
  for (std::uint64_t number = 0; number < mayfly::internal::kKeys; ++number) {
    keys.push_back(mayfly::internal::key_of(number));
  }
  const std::string what = words[1];
  const int rounds = std::atoi(words[2]);
  const std::string path = (std::filesystem::path(words[3]) / (what + ".db")).string();
  const std::uint64_t sum = what == "store" ? mayfly::internal::run_store(keys, rounds, path)
                                            : mayfly::internal::run_plain(keys, rounds, path);
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
