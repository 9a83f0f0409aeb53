// SPDX-License-Identifier: Apache-2.0
// ReadTxn and WriteTxn: the transactions of a store. See store.h for the way in.
//
// Time: a transaction reads the clock once, when it begins. To it, a key whose deadline is not
// after that moment does not exist, whether or not it has been removed.
//
// Threads: a ReadTxn may move from thread to thread, but only one may use it at a time. A WriteTxn
// must end on the thread that began it.
//
// In each call the family comes last and may be left out: then it is the default one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/condition.h"
#include "mayfly/cursor.h"
#include "mayfly/expiry.h"
#include "mayfly/family.h"
#include "mayfly/result.h"
#include "mayfly/store_stats.h"
#include "mayfly/time.h"
#include "mayfly/ttl_histogram.h"

namespace mayfly {

namespace internal {
class Txn;
}  // namespace internal

// A value in the mapped file, with what is known of its end.
struct Entry {
  std::string_view value;
  Time deadline = kNever;
  std::optional<Millis> ttl{};  // what is left; nothing if it never expires
};

// One that is about to expire, as expiring() tells it.
struct Expiring {
  std::string key;
  Time deadline;
};

struct TtlHistogramOptions {
  bool bytes = false;  // also add up the bytes of keys and values
};

// A consistent view of the store. What it returns are views into the mapped file, valid until the
// transaction ends, or, in a WriteTxn, until the next write: copy what you want to write again.
class ReadTxn {
 public:
  ReadTxn(ReadTxn&&) noexcept;
  ReadTxn& operator=(ReadTxn&&) noexcept;
  ~ReadTxn();

  // The moment at which it all happens.
  Time now() const;

  // The value of `key`, or nothing if the key is absent or expired.
  Result<std::optional<std::string_view>> get(std::string_view key, Family family = {}) const;

  // The same, with its deadline and what is left of it.
  Result<std::optional<Entry>> get_entry(std::string_view key, Family family = {}) const;

  // The deadline of `key`: kNever if it has none, nothing if the key is absent or expired. The
  // value is not touched, however large.
  Result<std::optional<Time>> deadline(std::string_view key, Family family = {}) const;

  Result<bool> contains(std::string_view key, Family family = {}) const;

  // What get() returns, for each of `keys`.
  Result<std::vector<std::optional<std::string_view>>> get_many(
      std::span<const std::string_view> keys, Family family = {}) const;

  Result<Cursor> cursor(CursorOptions options = {}, Family family = {}) const;

  // The entries whose deadline is in [from, to), nearest first, `limit` at most; expired ones are
  // left out. Cost: O(log n + what is returned). Entries that were erased since the last checkpoint
  // are passed; those before all others only once.
  Result<std::vector<Expiring>> expiring(Time from, Time to, std::size_t limit = SIZE_MAX,
                                         Family family = {}) const;

  // The earliest deadline of the family, of expired entries too; kNever if it has none.
  Result<Time> next_deadline(Family family = {}) const;

  Result<FamilyCounts> count(Family family = {}) const;

  // How many entries expire in the coming second, minute, hour and so on, and how many are expired
  // and not removed yet. Exact. Cost: it reads the deadline of each entry that has one, and copies
  // no key; with `bytes` also where its value is, which takes longer.
  Result<TtlHistogram> ttl_histogram(TtlHistogramOptions options = {}, Family family = {}) const;
  Result<TtlHistogram> ttl_histogram_all(TtlHistogramOptions options = {}) const;  // all families

  // Code::not_found if there is none of that name.
  Result<Family> family(std::string_view name) const;

  // The names of all families but the default one, in byte order.
  std::vector<std::string> families() const;

  // All families, the default one first.
  std::vector<Family> all_families() const;

  // The TTL of a put() without an expiry; nothing if there is none.
  Result<std::optional<Millis>> default_ttl(Family family = {}) const;

  explicit ReadTxn(std::unique_ptr<internal::Txn> txn);  // not for users

 protected:
  friend class Cursor;
  std::unique_ptr<internal::Txn> txn_;
};

// Also sees its own writes, which take effect together, at commit(), or not at all. After a write
// that fails, the rest do nothing, and commit() returns why; so only commit() need be checked.
class WriteTxn : public ReadTxn {
 public:
  using ReadTxn::ReadTxn;
  WriteTxn(WriteTxn&&) noexcept = default;
  WriteTxn& operator=(WriteTxn&&) noexcept = default;

  // Stores `value` and replaces what `key` had: the value and the deadline. Without `expiry` the
  // key gets the family's default TTL; if there is none, it never expires. Changes are kept in
  // memory until commit(); a transaction of more than a quarter of a log segment goes straight to
  // the tree, and waits for a checkpoint.
  void put(std::string_view key, std::string_view value, const Expiry& expiry = {},
           Family family = {});

  // Stores nothing and returns false if the key is there and not expired. Its deadline stays.
  bool put_if_absent(std::string_view key, std::string_view value, const Expiry& expiry = {},
                     Family family = {});

  // Puts `desired` if the value is now `expected` (nothing: if there is no such key). Returns
  // whether it did. The deadline stays by default.
  bool compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                       std::string_view desired, const Expiry& expiry = Expiry::unchanged(),
                       Family family = {});

  // Adds to a decimal number in the value; an absent key counts as 0. The deadline stays; a key
  // that it makes gets `expiry`. Returns the sum. What is no number, or would overflow, is an
  // error.
  std::int64_t increment(std::string_view key, std::int64_t delta = 1, const Expiry& expiry = {},
                         Family family = {});

  // Removes `key`. Returns whether it was there and not expired.
  bool erase(std::string_view key, Family family = {});

  // How many of `keys` were there and not expired.
  std::size_t erase_many(std::span<const std::string_view> keys, Family family = {});

  // Changes the deadline and leaves the value alone. Returns whether the key is there and `when`
  // allows it. A deadline that is due already removes the key.
  bool expire(std::string_view key, const Expiry& expiry, When when = When::always,
              Family family = {});

  // Makes the key permanent. Returns whether it had a deadline.
  bool persist(std::string_view key, Family family = {});

  // Extends the deadline of a key, if it has one and the new one is later. Returns whether the key
  // is there.
  bool touch(std::string_view key, const Expiry& expiry, Family family = {});

  // Removes all entries of the family. Cost: O(pages).
  void clear(Family family = {});

  // Removes expired entries, oldest deadline first, `limit` at most. Returns how many.
  std::uint64_t purge_expired(std::uint64_t limit = UINT64_MAX, Family family = {});
  std::uint64_t purge_expired_all(std::uint64_t limit = UINT64_MAX);  // of all families

  // Families. What is wrong with these is returned and spoils nothing: Code::invalid for a bad name
  // or one that exists, Code::not_found, Code::full if there are too many.
  Result<Family> create_family(std::string_view name);
  Status drop_family(std::string_view name);
  Status set_default_ttl(std::optional<Millis> ttl, Family family = {});

  // Why the transaction cannot be committed, if it cannot.
  Status status() const;

  // Ends the transaction. One that is destroyed without being committed is undone. This is for the
  // thread that began it, which has the write lock. On another one, commit() is Code::invalid, and
  // both leave the transaction as it is; destroying it there undoes it, but the lock is given back
  // only when its thread begins to write again, or ends.
  Status commit();
  void rollback();
};

}  // namespace mayfly
