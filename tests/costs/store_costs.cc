// SPDX-License-Identifier: Apache-2.0
// The same as costs.cc for the store: with entries that were overwritten and erased, and that
// expired, before the last checkpoint and since.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "kvstore.h"
#include "mayfly/store.h"
#include "promises.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr int kCalls = 200;
constexpr int kDueNow = 300;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

// A store of `size` entries, each of which is due within some days. Nothing works in the
// background: no sync is due, and the log is short.
class UsedStore {
 public:
  explicit UsedStore(std::size_t its_size) : size(its_size) {
    std::string folder = std::filesystem::temp_directory_path() / "mayfly-costs-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder");
    folder_ = folder;
    store.emplace(must(Store::open(folder_ / "store", clock, {.durability = Durability::off})));
    must(store->put("first", "value"));
    put(0, size + size / 2);
    must(store->checkpoint());
    put(size / 4, size / 8);  // overwritten since
    erase(size, size / 2);    // erased since; of later deadlines than all others
  }
  ~UsedStore() {
    store.reset();
    std::filesystem::remove_all(folder_);
  }
  UsedStore(const UsedStore&) = delete;
  UsedStore& operator=(const UsedStore&) = delete;

  static std::string key(std::size_t i) { return "key" + std::to_string(i * 7'919 % 1'000'003); }

  void put(std::size_t first, std::size_t count) {
    auto txn = must(store->write());
    for (std::size_t i = first; i < first + count; ++i) {
      txn.put(key(i), "value", clock.now() + 24h + std::chrono::seconds(i));
    }
    must(txn.commit());
  }
  void erase(std::size_t first, std::size_t count) {
    auto txn = must(store->write());
    for (std::size_t i = first; i < first + count; ++i) txn.erase(key(i));
    must(txn.commit());
  }
  // Entries that are due now, before all others.
  void make_due(std::size_t count, const std::string& prefix = "due") {
    auto txn = must(store->write());
    for (std::size_t i = 0; i < count; ++i) {
      txn.put(prefix + std::to_string(i), "value", clock.now() + 1s + Millis(i % 10));
    }
    must(txn.commit());
    clock.advance(2s);
  }
  // The same; LMDB has them.
  void make_due_in_tree(std::size_t count, const std::string& prefix) {
    make_due(count, prefix);
    clock.set(clock.now() - 2s);
    must(store->checkpoint());
    clock.advance(2s);
  }
  // As many as the store has, removed by a purge; LMDB still has them.
  void purge_many() {
    make_due_in_tree(size, "many");
    while (store->purge_expired({.entries = 1'000}).removed > 0) continue;
  }

  // As many as the store has, of nearer deadlines than all others, erased by hand; LMDB still has
  // them.
  void erase_nearest() {
    auto txn = must(store->write());
    for (std::size_t i = 0; i < size; ++i) txn.put("near" + std::to_string(i), "value", 1h);
    must(txn.commit());
    must(store->checkpoint());
    for (std::size_t i = 0; i < size; ++i) (void)must(store->erase("near" + std::to_string(i)));
  }

  std::filesystem::path path() const { return folder_ / "store"; }

  const std::size_t size;
  ManualClock clock{Time(Millis(1'800'000'000'000))};
  std::optional<Store> store;

 private:
  std::filesystem::path folder_;
};

// Once as it is, once behind rows that a purge has removed, and no checkpoint since.
void add_both(const std::string& name, const std::string& growth, const std::string& place,
              const std::function<void(UsedStore&)>& prepare,
              const std::function<void(UsedStore&)>& run) {
  for (const bool is_purged : {false, true}) {
    add("store " + name + (is_purged ? ", purged before" : ""), growth, place,
        [=](std::size_t size, const std::string& of) {
          UsedStore used(size);
          if (is_purged) used.purge_many();
          prepare(used);
          Counted counted;
          run(used);
          counted.end(of);
        });
  }
}

// The transaction inside, which the C interface uses.
class InsideTxn : public ReadTxn {
 public:
  static internal::Txn& of(const ReadTxn& txn) { return *(txn.*&InsideTxn::txn_); }
};

// A handle of the C interface on the same store.
class HandleInC {
 public:
  explicit HandleInC(UsedStore& used) {
    KVStoreConfig config{};
    config.syncLevel = KVSTORE_SYNC_NONE;
    KVStoreOptions options{};
    options.size = sizeof options;
    options.nowArgument = &used.clock;
    options.nowMs = [](void* clock) -> std::int64_t {
      return static_cast<const ManualClock*>(clock)->now().time_since_epoch().count();
    };
    if (kvstore_open_ex(used.path().c_str(), &handle, &config, &options) != KVSTORE_OK) {
      throw std::runtime_error("cannot open it in C");
    }
  }
  ~HandleInC() { kvstore_close(handle); }
  HandleInC(const HandleInC&) = delete;
  HandleInC& operator=(const HandleInC&) = delete;

  KVStore* handle = nullptr;
};

void nothing(UsedStore&) {}
void some_due(UsedStore& used) { used.make_due(kDueNow); }

void add_store() {
  add_both("get", "log", "docs/store.md", nothing, [](UsedStore& used) {
    for (int i = 0; i < kCalls; ++i) (void)must(used.store->get(UsedStore::key(i * 31)));
  });
  add_both("put and erase", "log", "docs/store.md", nothing, [](UsedStore& used) {
    for (int i = 0; i < kCalls; ++i) {
      must(used.store->put("new" + std::to_string(i), "value", 48h));
      (void)must(used.store->erase("new" + std::to_string(i)));
    }
  });
  add_both("purge of due entries", "log", "store.h, kvstore.h", some_due, [](UsedStore& used) {
    while (used.store->purge_expired({.entries = 50}).removed > 0) continue;
  });
  add_both("purge of nothing", "log", "store.h, kvstore.h", nothing, [](UsedStore& used) {
    for (int i = 0; i < kCalls; ++i) (void)used.store->purge_expired();
  });
  add_both("next deadline", "log", "store.h", nothing, [](UsedStore& used) {
    for (int i = 0; i < kCalls; ++i) (void)must(used.store->next_deadline());
  });
  add_both("count of entries of which some are due", "log", "kvstore.h, store_stats.h", some_due,
           [](UsedStore& used) {
             for (int i = 0; i < 20; ++i) (void)must(used.store->count());
           });
  add_both(
      "count of entries, expired ones included", "log", "kvstore.h",
      [](UsedStore& used) { used.make_due(used.size); },
      [](UsedStore& used) {
        for (int i = 0; i < kCalls; ++i) {
          const ReadTxn txn = must(used.store->read());
          internal::Txn& inside = InsideTxn::of(txn);
          (void)must(inside.count_stored(*inside.view({})));
        }
      });
  add_both("page of what expires next", "log", "store_txn.h", nothing, [](UsedStore& used) {
    for (int i = 0; i < kCalls; ++i) {
      const Time now = used.clock.now();
      (void)must(used.store->expiring(now, now + 24h * 100, 10));
    }
  });
}

// Everything that is due, a third of all, by each call that removes it: half of it is in LMDB.
void add_purge(const std::string& name, const std::string& place,
               const std::function<std::uint64_t(UsedStore&, KVStore*)>& run) {
  add("store purge of everything due, " + name, "linear", place,
      [run](std::size_t size, const std::string& of) {
        UsedStore used(size);
        used.make_due_in_tree(size / 4, "first");
        used.make_due(size / 4, "second");
        const HandleInC c(used);
        Counted counted;
        const std::uint64_t removed = run(used, c.handle);
        counted.end(of);
        if (removed != size / 4 * 2) throw std::runtime_error("not all was removed");
      });
}

void add_purges() {
  add_purge("at once", "README.md, store.h",
            [](UsedStore& used, KVStore*) { return used.store->purge_expired().removed; });
  add_purge("by limited calls", "store.h", [](UsedStore& used, KVStore*) {
    std::uint64_t all = 0;
    while (const auto removed = used.store->purge_expired({.entries = 100}).removed) all += removed;
    return all;
  });
  add_purge("in a transaction", "store_txn.h", [](UsedStore& used, KVStore*) {
    auto txn = must(used.store->write());
    std::uint64_t all = 0;
    while (const auto removed = txn.purge_expired(100)) all += removed;
    must(txn.commit());
    return all;
  });
  add_purge("in C", "kvstore.h", [](UsedStore&, KVStore* kv) {
    int removed = 0;
    kvstore_purge_expired(kv, &removed);
    return static_cast<std::uint64_t>(removed);
  });
  add_purge("by limited calls in C", "kvstore.h", [](UsedStore&, KVStore* kv) {
    std::uint64_t all = 0;
    for (std::int64_t removed = 1; removed != 0; all += static_cast<std::uint64_t>(removed)) {
      kvstore_purge_expired_limit(kv, 100, &removed);
    }
    return all;
  });
}

void add_counts() {
  add_both(
      "count of entries of which many are due", "linear", "kvstore.h, store_stats.h",
      [](UsedStore& used) { used.make_due(used.size / 2); },
      [](UsedStore& used) {
        for (int i = 0; i < 5; ++i) (void)must(used.store->count());
      });
  add("store count of entries in an older snapshot, but for the first", "constant", "kvstore.h",
      [](std::size_t size, const std::string& of) {
        UsedStore used(size);
        const HandleInC c(used);
        std::int64_t count = 0;
        kvstore_begin(c.handle, 0);
        for (int i = 0; i < 10; ++i) used.put(0, size / 10);
        kvstore_count(c.handle, &count);
        Counted counted;
        for (int i = 0; i < kCalls; ++i) kvstore_count(c.handle, &count);
        counted.end(of);
        kvstore_rollback(c.handle);
      });
}

void add_more() {
  add("store page of what expires next, the nearest erased before", "log", "store_txn.h",
      [](std::size_t size, const std::string& of) {
        UsedStore used(size);
        used.erase_nearest();
        const auto page = [&used] {
          const Time now = used.clock.now();
          (void)must(used.store->expiring(now, now + 24h * 100, 10));
        };
        page();  // which passes them, once
        Counted counted;
        for (int i = 0; i < kCalls; ++i) page();
        counted.end(of);
      });
  add("store clear", "linear", "store_txn.h", [](std::size_t size, const std::string& of) {
    UsedStore used(size);
    Counted counted;
    must(used.store->clear());
    counted.end(of);
  });
  add("store deadline of a large value", "constant", "store_txn.h",
      [](std::size_t size, const std::string& of) {
        UsedStore used(1'000);
        must(used.store->put("large", std::string(100 * size, 'x'), 24h));
        must(used.store->checkpoint());
        Counted counted;
        for (int i = 0; i < kCalls; ++i) (void)must(used.store->deadline("large"));
        counted.end(of);
      });
}

}  // namespace
}  // namespace mayfly

int main(int argc, char** argv) {
  mayfly::add_store();
  mayfly::add_purges();
  mayfly::add_counts();
  mayfly::add_more();
  return mayfly::run_promises(argc, argv);
}
