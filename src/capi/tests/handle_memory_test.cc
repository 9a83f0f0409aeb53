// SPDX-License-Identifier: Apache-2.0
// As store_memory_test.cc: each C call on the keys of a column family, without a handle and with
// the handles of two families, and the C calls that no other file has.

#include <cstdint>
#include <string>

#include "capi/tests/memory/memory_trials.h"
#include "kvstore_histogram.h"

namespace mayfly::internal {
namespace {

constexpr std::int64_t kLater = 1'900'000'000'000;

class HandleMemoryTest : public StoreMemoryTest {
 protected:
  // use(call) makes the call, with the arguments behind the handle. `success`: see Trial.
  template <class Plain, class OfFamily, class Use>
  void try_each(const std::string& name, Plain plain, OfFamily of_family, Use use,
                const std::optional<std::string>& success = {}) {
    try_all(in_c(
        name,
        [plain, use](KVStore* kv) {
          return use([plain, kv](auto... arguments) { return plain(kv, arguments...); });
        },
        success));
    for (const char* const family : {"default", "family"}) {
      KVColumnFamily* cf = nullptr;
      try_all({name + " by the handle of " + family,
               [&cf, family](World& world) {
                 world.open_c();
                 ASSERT_EQ(kvstore_cf_open(world.c, family, &cf), KVSTORE_OK);
               },
               [&cf, of_family, use](World&) {
                 return outcome_of(
                     use([&](auto... arguments) { return of_family(cf, arguments...); }));
               },
               cf_success(family, success), [&cf](World&) { kvstore_cf_close(cf); }});
    }
  }

 private:
  // The key that is looked at lies in the default family.
  static std::optional<std::string> cf_success(std::string_view family,
                                               const std::optional<std::string>& success) {
    return family == "default" ? success : std::nullopt;
  }
};

TEST_F(HandleMemoryTest, Writing) {
  try_each(
      "put", kvstore_put, kvstore_cf_put, [](auto call) { return call("key", 3, "new", 3); },
      "new");
  try_each(
      "put_ttl", kvstore_put_ttl, kvstore_cf_put_ttl,
      [](auto call) { return call("key", 3, "new", 3, kLater); }, "new");
  try_each(
      "put_for", kvstore_put_for, kvstore_cf_put_for,
      [](auto call) { return call("key", 3, "new", 3, 9'000); }, "new");
  try_each("put_if_absent", kvstore_put_if_absent, kvstore_cf_put_if_absent,
           [](auto call) { return call("due1", 4, "new", 3, kLater, nullptr); });
  try_each("put_if_absent_for", kvstore_put_if_absent_for, kvstore_cf_put_if_absent_for,
           [](auto call) { return call("due1", 4, "new", 3, 9'000, nullptr); });
  try_each(
      "compare_and_set", kvstore_compare_and_set, kvstore_cf_compare_and_set,
      [](auto call) { return call("key", 3, "old", 3, "new", 3, nullptr); }, "new");
  try_each("increment", kvstore_increment, kvstore_cf_increment,
           [](auto call) { return call("number", 6, 5, nullptr); });
  try_each(
      "delete", kvstore_delete, kvstore_cf_delete, [](auto call) { return call("key", 3); }, "");
  try_each(
      "clear", kvstore_clear, kvstore_cf_clear, [](auto call) { return call(); }, "");
}

TEST_F(HandleMemoryTest, Reading) {
  try_each("get", kvstore_get, kvstore_cf_get, [](auto call) {
    void* value = nullptr;
    int length = 0;
    const int code = call("later", 5, &value, &length);
    snkv_free(value);
    return code;
  });
  try_each("get_into", kvstore_get_into, kvstore_cf_get_into, [](auto call) {
    char value[3];
    int length = 0;
    return call("later", 5, value, 3, &length);
  });
  try_each("exists", kvstore_exists, kvstore_cf_exists, [](auto call) {
    int exists = 0;
    return call("due1", 4, &exists);
  });
  try_each("get_ttl", kvstore_get_ttl, kvstore_cf_get_ttl, [](auto call) {
    void* value = nullptr;
    int length = 0;
    std::int64_t left = 0;
    const int code = call("later", 5, &value, &length, &left);
    snkv_free(value);
    return code;
  });
}

// Those that only return a number.
TEST_F(HandleMemoryTest, Counting) {
  const auto number = [](auto call) {
    std::int64_t result = 0;
    return call(&result);
  };
  const auto number_of_key = [](auto call) {
    std::int64_t result = 0;
    return call("later", 5, &result);
  };
  try_each("ttl_remaining", kvstore_ttl_remaining, kvstore_cf_ttl_remaining, number_of_key);
  try_each("deadline", kvstore_deadline, kvstore_cf_deadline, number_of_key);
  try_each("count", kvstore_count, kvstore_cf_count, number);
  try_each("count_live", kvstore_count_live, kvstore_cf_count_live, number);
  try_each("count_ttl", kvstore_count_ttl, kvstore_cf_count_ttl, number);
  try_each("count_expired", kvstore_count_expired, kvstore_cf_count_expired, number);
  try_each("next_deadline", kvstore_next_deadline, kvstore_cf_next_deadline, number);
  try_each("get_default_ttl", kvstore_get_default_ttl, kvstore_cf_get_default_ttl, number);
  try_each("ttl_histogram", kvstore_ttl_histogram, kvstore_cf_ttl_histogram, [](auto call) {
    KVTtlHistogram histogram{};
    histogram.size = sizeof histogram;
    return call(KVSTORE_TTL_BYTES, &histogram);
  });
}

TEST_F(HandleMemoryTest, Expiring) {
  try_each("expire", kvstore_expire, kvstore_cf_expire,
           [](auto call) { return call("key", 3, kLater, 0, nullptr); });
  try_each(
      "expire at once", kvstore_expire, kvstore_cf_expire,
      [](auto call) { return call("key", 3, 1, 0, nullptr); }, "");
  try_each("expire_for", kvstore_expire_for, kvstore_cf_expire_for,
           [](auto call) { return call("key", 3, 9'000, KVSTORE_EXPIRE_NX, nullptr); });
  try_each("persist", kvstore_persist, kvstore_cf_persist,
           [](auto call) { return call("later", 5, nullptr); });
  try_each("touch", kvstore_touch, kvstore_cf_touch,
           [](auto call) { return call("later", 5, 99'000); });
  try_each("expiring", kvstore_expiring, kvstore_cf_expiring, [](auto call) {
    KVExpiring* entries = nullptr;
    int count = 0;
    const int code = call(0, INT64_MAX, 0, &entries, &count);
    snkv_free(entries);
    return code;
  });
  try_each("purge_expired", kvstore_purge_expired, kvstore_cf_purge_expired,
           [](auto call) { return call(nullptr); });
  try_each("purge_expired_limit", kvstore_purge_expired_limit, kvstore_cf_purge_expired_limit,
           [](auto call) { return call(1, nullptr); });
  try_each("set_default_ttl", kvstore_set_default_ttl, kvstore_cf_set_default_ttl,
           [](auto call) { return call(KVSTORE_NO_TTL); });
}

int walk(KVIterator* it, bool backwards) {
  int code = backwards ? kvstore_iterator_last(it) : kvstore_iterator_first(it);
  while (code == KVSTORE_OK && kvstore_iterator_eof(it) == 0) {
    std::int64_t number = 0;
    code = kvstore_iterator_deadline(it, &number);
    if (code == KVSTORE_OK) code = kvstore_iterator_ttl(it, &number);
    if (code == KVSTORE_OK) {
      code = backwards ? kvstore_iterator_prev(it) : kvstore_iterator_next(it);
    }
  }
  return code;
}

TEST_F(HandleMemoryTest, Iterating) {
  for (const bool backwards : {false, true}) {
    try_each(backwards ? "iterate backwards" : "iterate",
             backwards ? kvstore_reverse_iterator_create : kvstore_iterator_create,
             backwards ? kvstore_cf_reverse_iterator_create : kvstore_cf_iterator_create,
             [backwards](auto call) {
               KVIterator* it = nullptr;
               int code = call(&it);
               if (code == KVSTORE_OK) code = walk(it, backwards);
               kvstore_iterator_close(it);
               return code;
             });
    try_each(
        backwards ? "iterate over a prefix backwards" : "iterate over a prefix",
        backwards ? kvstore_reverse_prefix_iterator_create : kvstore_prefix_iterator_create,
        backwards ? kvstore_cf_reverse_prefix_iterator_create : kvstore_cf_prefix_iterator_create,
        [backwards](auto call) {
          KVIterator* it = nullptr;
          int code = call("l", 1, &it);
          if (code == KVSTORE_OK) code = walk(it, backwards);
          kvstore_iterator_close(it);
          return code;
        });
  }
}

TEST_F(HandleMemoryTest, InAnOpenTransaction) {
  const auto in_txn = [this](const std::string& name, auto body) {
    try_all(in_c(
        name,
        [body](KVStore* kv) {
          int code = kvstore_begin(kv, 1);
          if (code == KVSTORE_OK) code = put(kv, "key", "new");
          if (code == KVSTORE_OK) code = body(kv);
          const int end = code == KVSTORE_OK ? kvstore_commit(kv) : kvstore_rollback(kv);
          return code != KVSTORE_OK ? code : end;
        },
        "new"));
  };
  in_txn("purge", [](KVStore* kv) { return kvstore_purge_expired(kv, nullptr); });
  in_txn("purge some", [](KVStore* kv) { return kvstore_purge_expired_limit(kv, 2, nullptr); });
  in_txn("purge all", [](KVStore* kv) { return kvstore_purge_all(kv, 0, nullptr); });
  in_txn("count", [](KVStore* kv) {
    std::int64_t count = 0;
    return kvstore_count_live(kv, &count);
  });
  in_txn("default TTL", [](KVStore* kv) { return kvstore_set_default_ttl(kv, KVSTORE_NO_TTL); });
}

// With the wall clock, and therefore on another store.
TEST_F(HandleMemoryTest, OpeningByTheWallClock) {
  try_all({"open", closed, [](World& world) {
             KVStore* kv = nullptr;
             const std::string path = world.path_of("wall");
             int code = kvstore_open(path.c_str(), &kv, KVSTORE_JOURNAL_WAL);
             if (code == KVSTORE_OK) code = put(kv, "a", "1");
             const int closing = kvstore_close(kv);
             return outcome_of(code != KVSTORE_OK ? code : closing);
           }});
  try_all({"open_v2", closed, [](World& world) {
             KVStore* kv = nullptr;
             const std::string path = world.path_of("wall");
             KVStoreConfig config{};
             config.syncLevel = KVSTORE_SYNC_FULL;
             const int code = kvstore_open_v2(path.c_str(), &kv, &config);
             const int closing = kvstore_close(kv);
             return outcome_of(code != KVSTORE_OK ? code : closing);
           }});
}

TEST_F(HandleMemoryTest, TheRest) {
  try_all(
      in_c("incremental_vacuum", [](KVStore* kv) { return kvstore_incremental_vacuum(kv, 0); }));
  try_all(in_c("stats_reset", kvstore_stats_reset));
  try_all(in_c("get_default", [](KVStore* kv) {
    KVColumnFamily* cf = nullptr;
    const int code = kvstore_cf_get_default(kv, &cf);
    kvstore_cf_close(cf);
    return code;
  }));
  try_all(in_c("malloc", [](KVStore*) {
    void* const memory = snkv_malloc(100);
    snkv_free(memory);
    return memory == nullptr ? KVSTORE_NOMEM : KVSTORE_OK;
  }));
  try_all(in_c("now_ms", [](KVStore*) { return kvstore_now_ms() > 0 ? KVSTORE_OK : 1; }));
  // A call that is refused, while there is no memory for the message.
  EXPECT_GT(try_all({"a refused call", with_c,
                     [](World& world) {
                       KVColumnFamily* cf = nullptr;
                       const int code = kvstore_cf_open(world.c, "no such family", &cf);
                       static_cast<void>(kvstore_errmsg(world.c));
                       const bool is_right = code == KVSTORE_NOTFOUND || code == KVSTORE_NOMEM;
                       return outcome_of(is_right ? KVSTORE_OK : code);
                     }}),
            0);
}

}  // namespace
}  // namespace mayfly::internal
