// SPDX-License-Identifier: Apache-2.0
// As store_memory_test.cc: each call of the C++ interface on the default family and on another one,
// by the store, in a transaction that reads, and in one that has written before.

#include <string>

#include "capi/tests/memory/memory_trials.h"

namespace mayfly::internal {
namespace {

constexpr Time kLater = kStart + Millis(9'000);

class TxnMemoryTest : public StoreMemoryTest {
 protected:
  // The family is looked up before.
  void try_each(const std::string& name, const std::function<Outcome(Store&, Family)>& run,
                const std::optional<std::string>& success = {}) {
    for (const char* const of : {"default", "family"}) {
      const bool is_default = std::string_view(of) == "default";
      Family family;
      try_all({name + " of " + of,
               [&family, is_default](World& world) {
                 world.open();
                 if (!is_default) family = must(world.store->family("family"));
               },
               [&family, run](World& world) { return run(*world.store, family); },
               is_default ? success : std::nullopt});
    }
  }

  void try_read(const std::string& name,
                const std::function<Outcome(const ReadTxn&, Family)>& run) {
    try_each("in a snapshot, " + name, [run](Store& store, Family family) {
      const auto txn = store.read();
      return txn ? run(*txn, family) : Outcome::failed;
    });
  }

  // Between two other writes.
  void try_write(const std::string& name, const std::function<void(WriteTxn&, Family)>& run,
                 const std::optional<std::string>& success = "new") {
    const auto in_txn = [run](Store& store, Family family) {
      auto txn = store.write(Millis(200));
      if (!txn) return Outcome::failed;
      txn->put("key", "new");
      run(*txn, family);
      txn->put("after", "it");
      return outcome_of(txn->commit());
    };
    for (const bool is_default : {true, false}) {
      try_all({"in a transaction, " + name, with_store,
               [in_txn, is_default](World& world) {
                 const auto family = world.store->family("family");
                 if (!family) return Outcome::failed;
                 return in_txn(*world.store, is_default ? Family() : *family);
               },
               is_default ? success : "new"});
    }
  }
};

TEST_F(TxnMemoryTest, WritesOfTheStore) {
  try_each(
      "put",
      [](Store& store, Family family) { return outcome_of(store.put("key", "new", {}, family)); },
      "new");
  try_each("put if absent", [](Store& store, Family family) {
    return outcome_of(store.put_if_absent("due1", "new", kLater, family));
  });
  try_each(
      "compare and set",
      [](Store& store, Family family) {
        return outcome_of(store.compare_and_set("key", "old", "new", Expiry::unchanged(), family));
      },
      "new");
  try_each("increment", [](Store& store, Family family) {
    return outcome_of(store.increment("number", 1, {}, family));
  });
  try_each(
      "erase", [](Store& store, Family family) { return outcome_of(store.erase("key", family)); },
      "");
  try_each(
      "erase many",
      [](Store& store, Family family) {
        const std::string_view keys[] = {"key", "later", "due1"};
        return outcome_of(store.erase_many(keys, family));
      },
      "");
  try_each("expire", [](Store& store, Family family) {
    return outcome_of(store.expire("number", kLater, When::always, family));
  });
  try_each("persist",
           [](Store& store, Family family) { return outcome_of(store.persist("later", family)); });
  try_each("touch", [](Store& store, Family family) {
    return outcome_of(store.touch("later", Millis(99'000), family));
  });
  try_each(
      "clear", [](Store& store, Family family) { return outcome_of(store.clear(family)); }, "");
  try_each("set the default TTL", [](Store& store, Family family) {
    return outcome_of(store.set_default_ttl(std::nullopt, family));
  });
  try_each("purge for a time", [](Store& store, Family family) {
    return outcome_of(store.purge_expired({.time = Millis(50)}, family).status);
  });
  try_each("reset the statistics", [](Store& store, Family) {
    store.reset_stats();
    return Outcome::done;
  });
}

TEST_F(TxnMemoryTest, ReadsOfTheStore) {
  try_each("get",
           [](Store& store, Family family) { return outcome_of(store.get("later", family)); });
  try_each("get entry", [](Store& store, Family family) {
    return outcome_of(store.get_entry("later", family));
  });
  try_each("get into", [](Store& store, Family family) {
    std::string value;
    return outcome_of(store.get_into(value, "key", family));
  });
  try_each("deadline",
           [](Store& store, Family family) { return outcome_of(store.deadline("later", family)); });
  try_each("contains",
           [](Store& store, Family family) { return outcome_of(store.contains("due1", family)); });
  try_each("get many", [](Store& store, Family family) {
    const std::string_view keys[] = {"key", "later", "due1", "none"};
    return outcome_of(store.get_many(keys, family));
  });
  try_each("cursor", [](Store& store, Family family) {
    auto cursor = store.cursor({}, family);
    if (!cursor) return Outcome::failed;
    for (bool on = cursor->first(); on; on = cursor->next()) static_cast<void>(cursor->deadline());
    return outcome_of(cursor->status());
  });
  try_each("expiring", [](Store& store, Family family) {
    return outcome_of(store.expiring(kStart, kNever, 10, family));
  });
  try_each("next deadline",
           [](Store& store, Family family) { return outcome_of(store.next_deadline(family)); });
  try_each("count", [](Store& store, Family family) { return outcome_of(store.count(family)); });
  try_each("histogram", [](Store& store, Family family) {
    return outcome_of(store.ttl_histogram({.bytes = true}, family));
  });
  try_each("default TTL",
           [](Store& store, Family family) { return outcome_of(store.default_ttl(family)); });
}

TEST_F(TxnMemoryTest, ReadsInATransaction) {
  try_read("get",
           [](const ReadTxn& txn, Family family) { return outcome_of(txn.get("later", family)); });
  try_read("get entry", [](const ReadTxn& txn, Family family) {
    return outcome_of(txn.get_entry("later", family));
  });
  try_read("deadline", [](const ReadTxn& txn, Family family) {
    return outcome_of(txn.deadline("later", family));
  });
  try_read("contains", [](const ReadTxn& txn, Family family) {
    return outcome_of(txn.contains("due1", family));
  });
  try_read("get many", [](const ReadTxn& txn, Family family) {
    const std::string_view keys[] = {"key", "later", "due1", "none"};
    return outcome_of(txn.get_many(keys, family));
  });
  try_read("expiring", [](const ReadTxn& txn, Family family) {
    return outcome_of(txn.expiring(kStart, kNever, 10, family));
  });
  try_read("next deadline",
           [](const ReadTxn& txn, Family family) { return outcome_of(txn.next_deadline(family)); });
  try_read("count",
           [](const ReadTxn& txn, Family family) { return outcome_of(txn.count(family)); });
  try_read("histogram", [](const ReadTxn& txn, Family family) {
    return outcome_of(txn.ttl_histogram({.bytes = true}, family));
  });
  try_read("histogram of all",
           [](const ReadTxn& txn, Family) { return outcome_of(txn.ttl_histogram_all()); });
  try_read("default TTL",
           [](const ReadTxn& txn, Family family) { return outcome_of(txn.default_ttl(family)); });
  try_read("names", [](const ReadTxn& txn, Family) {
    const bool is_right = txn.families().size() == 1 && txn.all_families().size() == 2;
    return is_right ? outcome_of(txn.family("family")) : Outcome::failed;
  });
}

TEST_F(TxnMemoryTest, WritesInATransaction) {
  try_write("put if absent",
            [](WriteTxn& txn, Family family) { txn.put_if_absent("due1", "new", kLater, family); });
  try_write("compare and set", [](WriteTxn& txn, Family family) {
    txn.compare_and_set("later", "there", "other", Expiry::unchanged(), family);
  });
  try_write("increment",
            [](WriteTxn& txn, Family family) { txn.increment("number", 1, {}, family); });
  try_write(
      "erase", [](WriteTxn& txn, Family family) { txn.erase("key", family); }, "");
  try_write(
      "erase many",
      [](WriteTxn& txn, Family family) {
        const std::string_view keys[] = {"key", "later", "due1"};
        txn.erase_many(keys, family);
      },
      "");
  try_write("expire", [](WriteTxn& txn, Family family) {
    txn.expire("number", kLater, When::always, family);
  });
  try_write("persist", [](WriteTxn& txn, Family family) { txn.persist("later", family); });
  try_write("touch",
            [](WriteTxn& txn, Family family) { txn.touch("later", Millis(99'000), family); });
  try_write(
      "clear", [](WriteTxn& txn, Family family) { txn.clear(family); }, "");
  try_write("set the default TTL", [](WriteTxn& txn, Family family) {
    if (!txn.set_default_ttl(std::nullopt, family)) throw std::runtime_error("not set");
  });
  try_write("purge some", [](WriteTxn& txn, Family family) { txn.purge_expired(2, family); });
  try_write("purge all", [](WriteTxn& txn, Family) { txn.purge_expired_all(); });
  // A cursor of the transaction, placed anew after a write.
  try_write("cursor", [](WriteTxn& txn, Family family) {
    auto cursor = txn.cursor({}, family);
    if (!cursor) throw std::runtime_error("no cursor");
    cursor->first();
    txn.put("middle", "value", kLater, family);
    cursor->seek("later");
    while (cursor->next()) static_cast<void>(cursor->deadline());
    if (!cursor->status()) throw std::runtime_error("not read");
  });
}

}  // namespace
}  // namespace mayfly::internal
