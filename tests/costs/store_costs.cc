// SPDX-License-Identifier: Apache-2.0
// The same as costs.cc for the store: with entries that were overwritten and erased, and that
// expired, before the last checkpoint and since.

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/promised_costs.h"
#include "mayfly/store.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

using namespace std::chrono_literals;

constexpr int kOperations = 200;
constexpr int kDue = 300;

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
  // As many as the store has, removed by a purge; LMDB still has them.
  void purge_many() {
    make_due(size, "many");
    clock.set(clock.now() - 2s);
    must(store->checkpoint());
    clock.advance(2s);
    while (store->purge_expired({.entries = 1'000}).removed > 0) continue;
  }

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

void nothing(UsedStore&) {}
void some_due(UsedStore& used) { used.make_due(kDue); }

void add_store() {
  add_both("get", "log", "docs/store.md", nothing, [](UsedStore& used) {
    for (int i = 0; i < kOperations; ++i) (void)must(used.store->get(UsedStore::key(i * 31)));
  });
  add_both("put and erase", "log", "docs/store.md", nothing, [](UsedStore& used) {
    for (int i = 0; i < kOperations; ++i) {
      must(used.store->put("new" + std::to_string(i), "value", 48h));
      (void)must(used.store->erase("new" + std::to_string(i)));
    }
  });
  add_both("purge of due entries", "log", "store.h, kvstore.h", some_due, [](UsedStore& used) {
    while (used.store->purge_expired({.entries = 50}).removed > 0) continue;
  });
  add_both("purge of nothing", "log", "store.h, kvstore.h", nothing, [](UsedStore& used) {
    for (int i = 0; i < kOperations; ++i) (void)used.store->purge_expired();
  });
  add_both("next deadline", "log", "store.h", nothing, [](UsedStore& used) {
    for (int i = 0; i < kOperations; ++i) (void)must(used.store->next_deadline());
  });
  add_both("count of entries of which some are due", "log", "kvstore.h, store_stats.h", some_due,
           [](UsedStore& used) {
             for (int i = 0; i < 20; ++i) (void)must(used.store->count());
           });
  add_both(
      "count of entries, expired ones included", "log", "kvstore.h",
      [](UsedStore& used) { used.make_due(used.size); },
      [](UsedStore& used) {
        for (int i = 0; i < kOperations; ++i) {
          const ReadTxn txn = must(used.store->read());
          internal::Txn& inside = InsideTxn::of(txn);
          (void)must(inside.count_stored(*inside.view({})));
        }
      });
  add_both("page of what expires next", "log", "store_txn.h", nothing, [](UsedStore& used) {
    for (int i = 0; i < kOperations; ++i) {
      const Time now = used.clock.now();
      (void)must(used.store->expiring(now, now + 24h * 100, 10));
    }
  });
}

}  // namespace
}  // namespace mayfly

int main(int argc, char** argv) {
  mayfly::add_store();
  return mayfly::show_costs(argc, argv);
}
