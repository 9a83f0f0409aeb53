// SPDX-License-Identifier: Apache-2.0
#include "python/entries.h"

#include <algorithm>
#include <limits>

#include "capi/call.h"
#include "mayfly/condition.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly::internal {
namespace {

int clamp_size(std::string_view bytes) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(bytes.size(), kMost));
}

int check_name(KVStore& kv, std::string_view key) {
  return check_key(kv, key.data(), clamp_size(key));
}

int check_item(KVStore& kv, const Item& item) {
  if (const int code = check_name(kv, item.key)) return code;
  return check_value(kv, item.value.data(), clamp_size(item.value));
}

// Runs `body(kv, txn)` in a write transaction once `check(kv)` has nothing to say.
template <class Check, class Body>
int checked_write(KVColumnFamily* cf, Check check, Body body) {
  return call(cf, [&](KVStore& kv) {
    if (const int code = check(kv)) return code;
    return with_write(kv, cf->family, [&](WriteTxn& txn) { return body(kv, txn); });
  });
}

bool is_gone_at_once(const Expiry& expiry, Time now) {
  return is_due(expiry.deadline(now, kNever, Millis::max()), now);
}

}  // namespace

int put_entry(KVColumnFamily* cf, const Item& item) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_item(kv, item); },
      [&](KVStore&, WriteTxn& txn) {
        txn.put(item.key, item.value, item.expiry, cf->family);
        return KVSTORE_OK;
      });
}

int put_absent(KVColumnFamily* cf, const Item& item, bool& inserted) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_item(kv, item); },
      [&](KVStore&, WriteTxn& txn) {
        inserted = !is_gone_at_once(item.expiry, txn.now()) &&
                   txn.put_if_absent(item.key, item.value, item.expiry, cf->family);
        return KVSTORE_OK;
      });
}

int swap_entry(KVColumnFamily* cf, const Item& item, std::optional<std::string_view> expected,
               bool& swapped) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_item(kv, item); },
      [&](KVStore&, WriteTxn& txn) {
        if (expected) {
          const bool has_ttl = !item.expiry.is_default();
          swapped = txn.compare_and_set(item.key, expected, item.value,
                                        has_ttl ? item.expiry : Expiry::unchanged(), cf->family);
        } else {
          swapped = txn.put_if_absent(item.key, item.value, item.expiry, cf->family);
        }
        return KVSTORE_OK;
      });
}

int add_to_entry(KVColumnFamily* cf, std::string_view key, std::int64_t delta, Expiry expiry,
                 std::int64_t& sum) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_name(kv, key); },
      [&](KVStore& kv, WriteTxn& txn) {
        if (const int code = check_sum(kv, txn, key, cf->family, delta)) return code;
        sum = txn.increment(key, delta, expiry, cf->family);
        return KVSTORE_OK;
      });
}

int expire_entry(KVColumnFamily* cf, std::string_view key, Expiry expiry, int flags,
                 bool& changed) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_name(kv, key); },
      [&](KVStore& kv, WriteTxn& txn) {
        const auto present = txn.deadline(key, cf->family);
        if (!present) return fail(kv, present.error());
        if (!*present) return KVSTORE_NOTFOUND;
        const Time wanted = expiry.deadline(txn.now(), **present, Millis::max());
        changed = allows(static_cast<When>(flags), **present, wanted) &&
                  txn.expire(key, expiry, When::always, cf->family);
        return KVSTORE_OK;
      });
}

int touch_entry(KVColumnFamily* cf, std::string_view key, Expiry expiry) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_name(kv, key); },
      [&](KVStore&, WriteTxn& txn) {
        return txn.touch(key, expiry, cf->family) ? KVSTORE_OK : KVSTORE_NOTFOUND;
      });
}

int pop_entry(KVColumnFamily* cf, std::string_view key, std::string& value) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_name(kv, key); },
      [&](KVStore& kv, WriteTxn& txn) {
        const auto found = txn.get(key, cf->family);
        if (!found) return fail(kv, found.error());
        if (!*found) return KVSTORE_NOTFOUND;
        value.assign(**found);
        txn.erase(key, cf->family);
        return KVSTORE_OK;
      });
}

int get_or_put_entry(KVColumnFamily* cf, const Item& item, std::optional<std::string>& present) {
  return checked_write(
      cf, [&](KVStore& kv) { return check_item(kv, item); },
      [&](KVStore& kv, WriteTxn& txn) {
        const auto found = txn.get(item.key, cf->family);
        if (!found) return fail(kv, found.error());
        if (*found) {
          present.emplace(**found);
        } else if (!is_gone_at_once(item.expiry, txn.now())) {
          txn.put(item.key, item.value, item.expiry, cf->family);
        }
        return KVSTORE_OK;
      });
}

int pop_first_entry(KVColumnFamily* cf, std::string& key, std::string& value) {
  const auto check = [](KVStore&) { return KVSTORE_OK; };
  return checked_write(cf, check, [&](KVStore& kv, WriteTxn& txn) {
    {
      auto cursor = txn.cursor({}, cf->family);
      if (!cursor) return fail(kv, cursor.error());
      const bool is_found = cursor->first();
      if (!cursor->status()) return fail(kv, cursor->status().error());
      if (!is_found) return KVSTORE_NOTFOUND;
      key.assign(cursor->key());
      value.assign(cursor->value());
    }
    txn.erase(key, cf->family);
    return KVSTORE_OK;
  });
}

int put_entries(KVColumnFamily* cf, std::span<const Item> items) {
  const auto check = [&](KVStore& kv) {
    for (const Item& item : items) {
      if (const int code = check_item(kv, item)) return code;
    }
    return KVSTORE_OK;
  };
  return checked_write(cf, check, [&](KVStore&, WriteTxn& txn) {
    for (const Item& item : items) txn.put(item.key, item.value, item.expiry, cf->family);
    return KVSTORE_OK;
  });
}

int delete_entries(KVColumnFamily* cf, std::span<const std::string_view> keys,
                   std::size_t& deleted) {
  const auto check = [&](KVStore& kv) {
    for (const std::string_view key : keys) {
      if (const int code = check_name(kv, key)) return code;
    }
    return KVSTORE_OK;
  };
  return checked_write(cf, check, [&](KVStore&, WriteTxn& txn) {
    deleted = txn.erase_many(keys, cf->family);
    return KVSTORE_OK;
  });
}

int get_entries(KVColumnFamily* cf, std::span<const std::string_view> keys, Values& values) {
  return call(cf, [&](KVStore& kv) {
    for (const std::string_view key : keys) {
      if (const int code = check_name(kv, key)) return code;
    }
    return with_read(kv, [&](const ReadTxn& txn) {
      const auto found = txn.get_many(keys, cf->family);
      if (!found) return fail(kv, found.error());
      values.ends.reserve(keys.size());
      for (const auto& value : *found) {
        if (value) values.bytes.append(*value);
        values.ends.push_back(value ? static_cast<std::int64_t>(values.bytes.size()) : -1);
      }
      return KVSTORE_OK;
    });
  });
}

int purge_for(KVColumnFamily* cf, std::int64_t limit, std::optional<std::int64_t> budget_ns,
              bool everywhere, std::int64_t& purged) {
  constexpr std::int64_t kStep = 256;  // what the C API removes in one transaction
  const std::int64_t start = monotonic_ns();
  purged = 0;
  while (true) {
    std::int64_t step = budget_ns ? kStep : limit;
    if (limit > 0) step = step == 0 ? limit : std::min(step, limit - purged);
    std::int64_t done = 0;
    const int code = everywhere ? kvstore_purge_all(cf->kv, step, &done)
                                : kvstore_cf_purge_expired_limit(cf, step, &done);
    purged += done;
    const bool is_late = budget_ns && monotonic_ns() - start >= *budget_ns;
    const bool is_full = limit > 0 && purged >= limit;
    if (code != KVSTORE_OK || !budget_ns || done < step || is_late || is_full) return code;
  }
}

std::int64_t now_ms(KVColumnFamily* cf) {
  Time now = cf->kv->chosen_clock().now();
  call(cf, [&](KVStore& kv) {
    if (const OpenTxn* const open = kv.open_txn()) now = open->txn().now();
    return KVSTORE_OK;
  });
  return now.time_since_epoch().count();
}

bool in_transaction(KVColumnFamily* cf) {
  bool is_open = false;
  call(cf, [&](KVStore& kv) {
    is_open = kv.open_txn() != nullptr;
    return KVSTORE_OK;
  });
  return is_open;
}

}  // namespace mayfly::internal
