// SPDX-License-Identifier: Apache-2.0
// Each call of the C++ and the C interface, while each of its allocations fails once, and then all
// from each one on: the call reports the lack of memory (std::bad_alloc, KVSTORE_NOMEM), no lock is
// kept, other processes need not wait, and the store is as before the call or as after it.

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "capi/tests/memory/memory_trials.h"
#include "kvstore_histogram.h"
#include "kvstore_log.h"

namespace mayfly::internal {
namespace {

// --- C++ -----------------------------------------------------------------------------------------

TEST_F(StoreMemoryTest, OpeningAndClosing) {
  const auto open = [](const StoreOptions& options) {
    return [options](World& world) {
      auto store = Store::open(world.path, world.clock, options);
      return store ? outcome_of(store->close()) : Outcome::failed;
    };
  };
  try_all({"open", closed, open(world_.options)});
  StoreOptions read_only = world_.options;
  read_only.read_only = true;
  try_all({"open read-only", closed, open(read_only)});
  try_all({"open a second handle", with_store, open(world_.options)});
  try_all({"destroy", closed, [](World& world) {
             const auto store = Store::open(world.path, world.clock, world.options);
             return outcome_of(store);
           }});
  try_all({"close",
           with_store,
           [](World& world) { return outcome_of(world.store->close()); },
           {},
           closed});
  try_all({"a temporary store", closed, [](World& world) {
             auto store = Store::open("", world.clock, world.options);
             return store ? outcome_of(store->put("key", "value")) : Outcome::failed;
           }});
}

TEST_F(StoreMemoryTest, MakingAStore) {
  const auto remove = [](World& world) {
    world.close();
    for (const char* const suffix : {"", "-lock", "-shm", "-wal"}) {
      std::filesystem::remove(world.path_of("new") + suffix);
    }
  };
  try_all({"make",
           remove,
           [](World& world) {
             auto store = Store::open(world.path_of("new"), world.clock, world.options);
             if (!store) return Outcome::failed;
             if (const Status first = store->put("a", "1"); !first) return Outcome::failed;
             return outcome_of(store->put("b", "2"));  // which makes the log
           },
           {},
           [](World& world) { EXPECT_EQ(other_process().write(world.path_of("new")), ""); }});
}

TEST_F(StoreMemoryTest, RecoveringAStore) {
  const auto crash = [](World& world) {
    world.close();  // so that the log is new, and no checkpoint writes while the files are copied
    world.open();
    must(world.store->put("recovered", "before"));
    must(world.store->put("recovered", "value"));  // the second commit makes the log
    for (const char* const suffix : {"", "-wal"}) {
      std::filesystem::copy_file(world.path + suffix, world.path_of("crashed") + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  };
  try_all({"recover",
           crash,
           [](World& world) {
             const auto store = Store::open(world.path_of("crashed"), world.clock, world.options);
             if (!store) return Outcome::failed;
             return outcome_of(store->get("recovered"));
           },
           {},
           [](World& world) {
             EXPECT_EQ(other_process().write(world.path_of("crashed")), "");
             const ManualClock clock(kStart);
             const Store store = must(Store::open(world.path_of("crashed"), clock, {}));
             EXPECT_EQ(must(store.get("recovered")), "value");
           }});
}

TEST_F(StoreMemoryTest, WritingAKey) {
  try_all(cpp(
      "put", [](Store& store) { return outcome_of(store.put("key", "new")); }, "new"));
  try_all(cpp(
      "put with a TTL",
      [](Store& store) { return outcome_of(store.put("key", "new", Millis(1000))); }, "new"));
  try_all(cpp("put if absent",
              [](Store& store) { return outcome_of(store.put_if_absent("due1", "new")); }));
  try_all(cpp(
      "compare and set",
      [](Store& store) { return outcome_of(store.compare_and_set("key", "old", "new")); }, "new"));
  try_all(cpp("increment", [](Store& store) { return outcome_of(store.increment("number", 1)); }));
  try_all(cpp(
      "erase", [](Store& store) { return outcome_of(store.erase("key")); }, ""));
  try_all(cpp(
      "erase many",
      [](Store& store) {
        const std::string_view keys[] = {"key", "tree1", "later in tree"};
        return outcome_of(store.erase_many(keys));
      },
      ""));
  try_all(
      cpp("expire", [](Store& store) { return outcome_of(store.expire("tree1", Millis(1000))); }));
  try_all(cpp("persist", [](Store& store) { return outcome_of(store.persist("later")); }));
  try_all(cpp("touch", [](Store& store) { return outcome_of(store.touch("later", Millis(99))); }));
}

TEST_F(StoreMemoryTest, WritingMuch) {
  try_all(cpp(
      "a value that goes straight into the tree",
      [](Store& store) {
        static const std::string large(40'000, 'x');
        return outcome_of(store.put("key", large));
      },
      std::string(40'000, 'x')));
  try_all(cpp(
      "one segment after the other",
      [](Store& store) {
        static const std::string some(12'000, 'y');
        for (int i = 0; i < 14; ++i) {
          if (const Status put = store.put("key", some); !put) return Outcome::failed;
        }
        return Outcome::done;
      },
      std::string(12'000, 'y')));
  try_all({"many commits in all durabilities", closed,
           [](World& world) {
             for (const Durability level : {Durability::full, Durability::off}) {
               StoreOptions options = world.options;
               options.durability = level;
               auto store = Store::open(world.path, world.clock, options);
               if (!store || !store->put("key", "new")) return Outcome::failed;
             }
             return Outcome::done;
           },
           "new"});
}

TEST_F(StoreMemoryTest, ReadingAKey) {
  try_all(cpp("get", [](Store& store) { return outcome_of(store.get("tree1")); }));
  try_all(cpp("get what is due", [](Store& store) { return outcome_of(store.get("due1")); }));
  try_all(cpp("get into", [](Store& store) {
    std::string value;
    return outcome_of(store.get_into(value, "key"));
  }));
  try_all(cpp("get entry", [](Store& store) { return outcome_of(store.get_entry("later")); }));
  try_all(cpp("deadline", [](Store& store) { return outcome_of(store.deadline("later")); }));
  try_all(cpp("contains", [](Store& store) { return outcome_of(store.contains("due2")); }));
  try_all(cpp("get many", [](Store& store) {
    const std::string_view keys[] = {"key", "tree1", "due1", "none", "later in tree"};
    return outcome_of(store.get_many(keys));
  }));
}

TEST_F(StoreMemoryTest, WalkingOverKeys) {
  try_all(cpp("cursor", [](Store& store) {
    auto cursor = store.cursor();
    if (!cursor) return Outcome::failed;
    for (bool on = cursor->first(); on; on = cursor->next()) static_cast<void>(cursor->deadline());
    if (!cursor->status()) return Outcome::failed;
    for (bool on = cursor->last(); on; on = cursor->prev()) continue;
    cursor->seek("key");
    cursor->seek_before("tree5");
    return outcome_of(cursor->status());
  }));
  try_all(cpp("cursor with a prefix", [](Store& store) {
    auto cursor = store.cursor({.prefix = "due"});
    if (!cursor) return Outcome::failed;
    cursor->first();
    cursor->last();
    return outcome_of(cursor->status());
  }));
  try_all(
      cpp("expiring", [](Store& store) { return outcome_of(store.expiring(Time{}, kNever, 10)); }));
  try_all(cpp("next deadline", [](Store& store) { return outcome_of(store.next_deadline()); }));
  try_all(cpp("count", [](Store& store) { return outcome_of(store.count()); }));
  try_all(cpp("histogram",
              [](Store& store) { return outcome_of(store.ttl_histogram_all({.bytes = true})); }));
}

TEST_F(StoreMemoryTest, Families) {
  const auto without = [](World& world) {
    world.open();
    if (must(world.store->families()).size() > 1) must(world.store->drop_family("made"));
  };
  try_all({"create family", without,
           [](World& world) { return outcome_of(world.store->create_family("made")); }});
  try_all({"drop family",
           [](World& world) {
             world.open();
             must(world.store->open_family("made"));
           },
           [](World& world) { return outcome_of(world.store->drop_family("made")); }});
  try_all(cpp("open family", [](Store& store) { return outcome_of(store.open_family("family")); }));
  try_all(cpp("families", [](Store& store) { return outcome_of(store.families()); }));
  try_all(cpp("default TTL",
              [](Store& store) { return outcome_of(store.set_default_ttl(std::nullopt)); }));
  try_all({"clear", with_store, [](World& world) {
             const auto family = world.store->family("family");
             return family ? outcome_of(world.store->clear(*family)) : Outcome::failed;
           }});
  try_all(cpp(
      "clear all", [](Store& store) { return outcome_of(store.clear()); }, ""));
}

TEST_F(StoreMemoryTest, Maintenance) {
  try_all(cpp("purge", [](Store& store) { return outcome_of(store.purge_expired().status); }));
  try_all(cpp("purge all", [](Store& store) {
    return outcome_of(store.purge_expired_all({.entries = 2}).status);
  }));
  try_all(cpp("sync", [](Store& store) { return outcome_of(store.sync()); }));
  for (const auto mode :
       {CheckpointMode::full, CheckpointMode::passive, CheckpointMode::truncate}) {
    try_all(cpp("checkpoint", [mode](Store& store) { return outcome_of(store.checkpoint(mode)); }));
  }
  try_all(cpp("compact", [](Store& store) { return outcome_of(store.compact()); }));
  try_all({"backup",
           [](World& world) {
             world.open();
             std::filesystem::remove(world.path_of("copy"));
           },
           [](World& world) { return outcome_of(world.store->backup(world.path_of("copy"))); }});
  try_all(cpp("check", [](Store& store) { return outcome_of(store.check()); }));
  try_all(cpp("stats", [](Store& store) { return outcome_of(store.stats()); }));
}

TEST_F(StoreMemoryTest, Transactions) {
  try_all(cpp(
      "several writes",
      [](Store& store) {
        auto txn = store.write();
        if (!txn) return Outcome::failed;
        txn->put("key", "new");
        txn->put("second", "value", Millis(1000));
        txn->erase("tree1");
        txn->expire("tree2", Millis(500));
        static_cast<void>(txn->get("due1"));
        return outcome_of(txn->commit());
      },
      "new"));
  try_all(cpp("a transaction that is rolled back", [](Store& store) {
    auto txn = store.write();
    if (!txn) return Outcome::failed;
    txn->put("key", "new");
    txn->rollback();
    return Outcome::done;
  }));
  try_all(cpp(
      "a large transaction",
      [](Store& store) {
        static const std::string some(9'000, 'z');
        auto txn = store.write();
        if (!txn) return Outcome::failed;
        for (const char* const key : {"key", "l1", "l2", "l3"}) txn->put(key, some, Millis(100));
        txn->purge_expired();
        return outcome_of(txn->commit());
      },
      std::string(9'000, 'z')));
  try_all(cpp(
      "families in a transaction",
      [](Store& store) {
        auto txn = store.write();
        if (!txn) return Outcome::failed;
        const auto made = txn->create_family("for a moment");
        if (!made) return Outcome::failed;
        txn->put("row", "value", Millis(100), *made);
        if (!txn->drop_family("for a moment")) return Outcome::failed;
        txn->put("key", "new");
        return outcome_of(txn->commit());
      },
      "new"));
  try_all(cpp("a snapshot", [](Store& store) {
    const auto txn = store.read();
    if (!txn) return Outcome::failed;
    auto cursor = txn->cursor();
    if (!cursor) return Outcome::failed;
    cursor->last();
    return outcome_of(txn->get("due2"));
  }));
  // A transaction continued after a write has thrown commits all other writes, or nothing.
  try_all(cpp(
      "goes on",
      [](Store& store) {
        auto txn = store.write();
        if (!txn) return Outcome::failed;
        bool has_put = true;
        try {
          txn->put("key", "new");
        } catch (const std::bad_alloc&) {
          has_put = false;
        }
        const Outcome outcome = outcome_of(txn->commit());
        return has_put ? outcome : Outcome::no_memory;
      },
      "new"));
}

// --- C -------------------------------------------------------------------------------------------

TEST_F(StoreMemoryTest, OpeningInC) {
  try_all({"open and close", closed, [](World& world) {
             KVStore* kv = nullptr;
             const KVStoreOptions options = world.clocked();
             const int code = kvstore_open_ex(world.path.c_str(), &kv, nullptr, &options);
             const int closing = kvstore_close(kv);
             return outcome_of(code != KVSTORE_OK ? code : closing);
           }});
  try_all({"close", with_c, [](World& world) {
             return outcome_of(kvstore_close(std::exchange(world.c, nullptr)));
           }});
}

TEST_F(StoreMemoryTest, WritingInC) {
  try_all(in_c(
      "put", [](KVStore* kv) { return put(kv, "key", "new"); }, "new"));
  try_all(in_c(
      "put_ttl", [](KVStore* kv) { return kvstore_put_for(kv, "key", 3, "new", 3, 1000); }, "new"));
  try_all(in_c("put_if_absent", [](KVStore* kv) {
    int inserted = 0;
    return kvstore_put_if_absent(kv, "due1", 4, "new", 3, 0, &inserted);
  }));
  try_all(in_c(
      "compare_and_set",
      [](KVStore* kv) {
        int swapped = 0;
        return kvstore_compare_and_set(kv, "key", 3, "old", 3, "new", 3, &swapped);
      },
      "new"));
  try_all(in_c("increment", [](KVStore* kv) {
    std::int64_t sum = 0;
    return kvstore_increment(kv, "number", 6, 1, &sum);
  }));
  try_all(in_c(
      "delete", [](KVStore* kv) { return kvstore_delete(kv, "key", 3); }, ""));
  try_all(in_c("expire", [](KVStore* kv) {
    int changed = 0;
    return kvstore_expire_for(kv, "tree1", 5, 1000, 0, &changed);
  }));
  try_all(in_c("touch", [](KVStore* kv) { return kvstore_touch(kv, "later", 5, 99'000); }));
  try_all(in_c(
      "clear", [](KVStore* kv) { return kvstore_clear(kv); }, ""));
  // A thread has to remember its first error, and its first transaction.
  EXPECT_GT(
      try_all({"a new thread", with_c,
               [](World& world) {
                 std::atomic<bool> go{false};
                 int code = KVSTORE_OK;
                 long which = FailingMemory::pause();
                 std::thread thread([&] {
                   FailingMemory::watch_this_thread();
                   go.wait(false);
                   kvstore_put(world.c, nullptr, 0, nullptr, 0);
                   static_cast<void>(kvstore_errmsg(world.c));
                   code = kvstore_begin(world.c, 1);
                   if (code == KVSTORE_OK) code = put(world.c, "key", "new");
                 });
                 FailingMemory::resume(which);
                 go = true;
                 go.notify_all();
                 thread.join();
                 return outcome_of(code);  // the uncommitted changes of the thread are rolled back
               }}),
      0);
}

TEST_F(StoreMemoryTest, ReadingInC) {
  try_all(in_c("get", [](KVStore* kv) {
    void* value = nullptr;
    int length = 0;
    const int code = kvstore_get(kv, "tree1", 5, &value, &length);
    snkv_free(value);
    return code;
  }));
  try_all(in_c("get_ttl", [](KVStore* kv) {
    void* value = nullptr;
    int length = 0;
    std::int64_t left = 0;
    const int code = kvstore_get_ttl(kv, "later", 5, &value, &length, &left);
    snkv_free(value);
    return code;
  }));
  try_all(in_c("get what is due", [](KVStore* kv) {
    int exists = 0;
    return kvstore_exists(kv, "due1", 4, &exists);
  }));
  try_all(in_c("counts", [](KVStore* kv) {
    std::int64_t count = 0;
    const int code = kvstore_count(kv, &count);
    return code != KVSTORE_OK ? code : kvstore_count_expired(kv, &count);
  }));
  try_all(in_c("expiring", [](KVStore* kv) {
    KVExpiring* entries = nullptr;
    int count = 0;
    const int code = kvstore_expiring(kv, 0, INT64_MAX, 0, &entries, &count);
    snkv_free(entries);
    return code;
  }));
  try_all(in_c("histogram", [](KVStore* kv) {
    KVTtlHistogram histogram{};
    histogram.size = sizeof histogram;
    return kvstore_ttl_histogram_all(kv, KVSTORE_TTL_BYTES, &histogram);
  }));
}

int walk(KVIterator* it, bool backwards) {
  int code = backwards ? kvstore_iterator_last(it) : kvstore_iterator_first(it);
  while (code == KVSTORE_OK && kvstore_iterator_eof(it) == 0) {
    void* bytes = nullptr;
    int length = 0;
    code = kvstore_iterator_key(it, &bytes, &length);
    if (code == KVSTORE_OK) code = kvstore_iterator_value(it, &bytes, &length);
    if (code == KVSTORE_OK) {
      code = backwards ? kvstore_iterator_prev(it) : kvstore_iterator_next(it);
    }
  }
  return code;
}

TEST_F(StoreMemoryTest, IteratingInC) {
  for (const bool backwards : {false, true}) {
    try_all(in_c("iterate", [backwards](KVStore* kv) {
      KVIterator* it = nullptr;
      int code =
          backwards ? kvstore_reverse_iterator_create(kv, &it) : kvstore_iterator_create(kv, &it);
      if (code == KVSTORE_OK) code = walk(it, backwards);
      if (code == KVSTORE_OK) code = kvstore_iterator_seek(it, "tree3", 5);
      kvstore_iterator_close(it);
      return code;
    }));
  }
  try_all(in_c("iterate over a prefix", [](KVStore* kv) {
    KVIterator* it = nullptr;
    int code = kvstore_prefix_iterator_create(kv, "tree", 4, &it);
    while (code == KVSTORE_OK && kvstore_iterator_eof(it) == 0) code = kvstore_iterator_next(it);
    kvstore_iterator_close(it);
    return code;
  }));
  // The iterator survives writes and the end of the transaction.
  try_all(in_c(
      "iterate in a transaction",
      [](KVStore* kv) {
        KVIterator* it = nullptr;
        int code = kvstore_begin(kv, 1);
        if (code == KVSTORE_OK) code = kvstore_iterator_create(kv, &it);
        if (code == KVSTORE_OK) code = kvstore_iterator_first(it);
        if (code == KVSTORE_OK) code = put(kv, "key", "new");
        if (code == KVSTORE_OK) code = kvstore_iterator_next(it);
        const int end = code == KVSTORE_OK ? kvstore_commit(kv) : kvstore_rollback(kv);
        if (code == KVSTORE_OK) code = end;
        if (code == KVSTORE_OK) code = kvstore_iterator_next(it);
        kvstore_iterator_close(it);
        return code;
      },
      "new"));
}

TEST_F(StoreMemoryTest, TransactionsInC) {
  for (const bool commits : {true, false}) {
    try_all(in_c(
        "transaction",
        [commits](KVStore* kv) {
          int code = kvstore_begin(kv, 1);
          if (code != KVSTORE_OK) return code;
          code = put(kv, "key", "new");
          if (code == KVSTORE_OK) code = put(kv, "second", "value");
          const int end = commits && code == KVSTORE_OK ? kvstore_commit(kv) : kvstore_rollback(kv);
          return code != KVSTORE_OK ? code : end;
        },
        commits ? std::optional<std::string>("new") : std::nullopt));
  }
  try_all(in_c("snapshot", [](KVStore* kv) {
    int code = kvstore_begin(kv, 0);
    if (code != KVSTORE_OK) return code;
    int exists = 0;
    code = kvstore_exists(kv, "key", 3, &exists);
    const int end = kvstore_rollback(kv);
    return code != KVSTORE_OK ? code : end;
  }));
}

TEST_F(StoreMemoryTest, FamiliesInC) {
  const auto without = [](World& world) {
    world.open_c();
    kvstore_cf_drop(world.c, "made");
  };
  try_all({"create", without, [](World& world) {
             KVColumnFamily* cf = nullptr;
             const int code = kvstore_cf_create(world.c, "made", &cf);
             kvstore_cf_close(cf);
             return outcome_of(code);
           }});
  try_all(in_c("open", [](KVStore* kv) {
    KVColumnFamily* cf = nullptr;
    int code = kvstore_cf_open(kv, "family", &cf);
    if (code == KVSTORE_OK) code = kvstore_cf_put(cf, "row", 3, "other", 5);
    kvstore_cf_close(cf);
    return code;
  }));
  try_all({"drop",
           [](World& world) {
             world.open_c();
             KVColumnFamily* cf = nullptr;
             kvstore_cf_create(world.c, "made", &cf);
             kvstore_cf_close(cf);
           },
           [](World& world) { return outcome_of(kvstore_cf_drop(world.c, "made")); }});
  try_all(in_c("list", [](KVStore* kv) {
    char** names = nullptr;
    int count = 0;
    const int code = kvstore_cf_list(kv, &names, &count);
    for (int i = 0; i < count; ++i) snkv_free(names[i]);
    snkv_free(names);
    return code;
  }));
}

TEST_F(StoreMemoryTest, MaintenanceInC) {
  try_all(in_c("purge", [](KVStore* kv) {
    int purged = 0;
    return kvstore_purge_expired(kv, &purged);
  }));
  try_all(in_c("purge all", [](KVStore* kv) {
    std::int64_t purged = 0;
    return kvstore_purge_all(kv, 0, &purged);
  }));
  for (int mode = KVSTORE_CHECKPOINT_PASSIVE; mode <= KVSTORE_CHECKPOINT_TRUNCATE; ++mode) {
    try_all(in_c("checkpoint",
                 [mode](KVStore* kv) { return kvstore_checkpoint(kv, mode, nullptr, nullptr); }));
  }
  try_all(in_c("sync", kvstore_sync));
  try_all(in_c("compact", kvstore_compact));
  try_all({"backup",
           [](World& world) {
             world.open_c();
             std::filesystem::remove(world.path_of("copy"));
           },
           [](World& world) {
             return outcome_of(kvstore_backup(world.c, world.path_of("copy").c_str()));
           }});
  try_all(in_c("integrity_check", [](KVStore* kv) {
    char* message = nullptr;
    const int code = kvstore_integrity_check(kv, &message);
    snkv_free(message);
    return code;
  }));
  try_all(in_c("stats", [](KVStore* kv) {
    KVStoreStats stats{};
    const int code = kvstore_stats(kv, &stats);
    if (code != KVSTORE_OK) return code;
    KVStoreLogStats log{};
    log.size = sizeof log;
    return kvstore_log_stats(kv, &log);
  }));
}

}  // namespace
}  // namespace mayfly::internal
