// SPDX-License-Identifier: Apache-2.0
// Calls that the C API does not have: with any kind of expiry, or many entries at once.
//
// They stand in the frame of its own calls (capi/call.h): in the transaction of this thread, or in
// one of their own; they return its numbers, keep its messages, throw nothing, and know nothing of
// Python. So they may be called without the GIL.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvstore.h"
#include "mayfly/expiry.h"

namespace mayfly::internal {

struct Item {
  std::string_view key;
  std::string_view value{};
  Expiry expiry{};
};

int put_entry(KVColumnFamily* cf, const Item& item);

// Nothing is stored, and `inserted` is false, if the expiry has passed already.
int put_absent(KVColumnFamily* cf, const Item& item, bool& inserted);

// `expected` nothing: only if there is no such key. The expiry of `item` is for a key that is made.
int swap_entry(KVColumnFamily* cf, const Item& item, std::optional<std::string_view> expected,
               bool& swapped);

// The expiry is for a key that is made; one that is there keeps its own.
int add_to_entry(KVColumnFamily* cf, std::string_view key, std::int64_t delta, Expiry expiry,
                 std::int64_t& sum);

// KVSTORE_NOTFOUND if there is no such key; else `changed` tells whether `flags`
// (KVSTORE_EXPIRE_...) allowed it.
int expire_entry(KVColumnFamily* cf, std::string_view key, Expiry expiry, int flags, bool& changed);
int touch_entry(KVColumnFamily* cf, std::string_view key, Expiry expiry);

// Stores the item only if there is no such key, and gives out the value that was there: nothing if
// there was none. In one transaction. What would be gone at once is not stored.
int get_or_put_entry(KVColumnFamily* cf, const Item& item, std::optional<std::string>& present);

// Removes an entry and gives out its value.
int pop_entry(KVColumnFamily* cf, std::string_view key, std::string& value);

// Removes the first entry and gives it out, in one transaction. KVSTORE_NOTFOUND if there is none.
int pop_first_entry(KVColumnFamily* cf, std::string& key, std::string& value);

// All of them or, after an error, none. The later of two items with one key wins.
int put_entries(KVColumnFamily* cf, std::span<const Item> items);
int delete_entries(KVColumnFamily* cf, std::span<const std::string_view> keys,
                   std::size_t& deleted);

// The values one after the other in `bytes`, and where each ends; -1 is an absent one.
struct Values {
  std::string bytes{};
  std::vector<std::int64_t> ends{};
};
int get_entries(KVColumnFamily* cf, std::span<const std::string_view> keys, Values& values);

// Removes expired entries for about so long at most (nothing: however long), `limit` at most (0: no
// limit). `everywhere`: of all families.
int purge_for(KVColumnFamily* cf, std::int64_t limit, std::optional<std::int64_t> budget_ns,
              bool everywhere, std::int64_t& purged);

// The time in ms since 1970: the moment of this thread's transaction, or by the store's clock.
std::int64_t now_ms(KVColumnFamily* cf);

// Whether this thread has begun a transaction.
bool in_transaction(KVColumnFamily* cf);

}  // namespace mayfly::internal
