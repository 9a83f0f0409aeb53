// SPDX-License-Identifier: Apache-2.0
// The three handles of kvstore.h.
//
//   KVColumnFamily --+
//   KVIterator ------+--> KVStore --> Store     each arrow to a KVStore is counted, so that what is
//   KVStore* --------+                          left of it outlives all that point to it
//
// Closing a KVStore empties it: the Store is closed, iterators lose their cursors. What is left
// says "closed" to every call, until the last handle is closed.
//
// Threads: each call passes `gate`, which kvstore_close() closes, to wait for the others. A
// transaction is used by the thread that owns it; an iterator by one thread at a time.
//
// Forks: in a child, all calls on the parent's handles are refused, and closing one does nothing:
// not even its memory is freed, since a lock in it may be held by a thread that is not there.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "capi/handle_parts.h"
#include "capi/key_reader.h"
#include "kvstore.h"
#include "mayfly/clock.h"
#include "mayfly/cursor.h"
#include "mayfly/store.h"
#include "store/log/session.h"

struct KVColumnFamily {
  KVStore* kv;
  mayfly::Family family{};
  std::string name{};
};

namespace mayfly::internal {

// The transaction that a thread has begun. Exactly one of the two is there.
struct OpenTxn {
  std::uint64_t owner = thread_number();
  std::optional<ReadTxn> read{};
  std::optional<WriteTxn> write{};
  std::uint64_t writes = 0;              // so that iterators notice
  std::vector<KVIterator*> iterators{};  // that have a cursor in it

  const ReadTxn& txn() const { return write ? *write : *read; }
};

}  // namespace mayfly::internal

struct KVStore {
  KVStore(const KVStoreConfig& config, const KVStoreOptions& options);

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release();  // may delete it

  const mayfly::Clock& chosen_clock() const;

  // The transaction of this thread, or null.
  mayfly::internal::OpenTxn* open_txn();

  // Counts the handles and iterators of a family, so that it is not dropped under them.
  void use(const std::string& name, KVIterator* iterator = nullptr);
  void unuse(const std::string& name);
  bool is_used(std::string_view name);

  // Held by a single write. Without a busy timeout the store would refuse one of two threads that
  // write at the same time on one handle; so here they take turns.
  std::unique_lock<std::mutex> take_turn();

  const mayfly::internal::ProcessMark mark;
  const mayfly::SystemClock wall_clock;
  std::optional<mayfly::internal::CallbackClock> given_clock;
  const bool takes_turns;
  KVColumnFamily main;  // the default family, not counted

  std::atomic<int> references{1};
  mayfly::internal::Gate gate;
  std::optional<mayfly::Store> store;  // empty once it is closed; changed behind a closed gate only
  std::optional<mayfly::internal::KeyReader> reader;  // there while the store is

  mayfly::internal::Messages messages;
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> checkpoints{0};
  std::atomic<std::uint64_t> iterations{0};
  std::mutex turn;

  std::mutex txns_mutex;
  std::atomic<int> txn_count{0};                                 // so that most calls need not lock
  std::vector<std::unique_ptr<mayfly::internal::OpenTxn>> txns;  // guarded by txns_mutex
  bool closing = false;                                          // guarded by txns_mutex

  std::mutex handles_mutex;
  std::map<std::string, int, std::less<>> uses;  // guarded by handles_mutex, as is the next
  std::unordered_set<KVIterator*> iterators;
};

// A cursor that survives what a Cursor does not.
//
// A cursor of a transaction may not be used after a write, and not after its end. So an iterator
// notices both, by a count of writes and by losing its cursor, and goes on with a new cursor from
// its key, of which it then has a copy. An iterator outside of transactions has a snapshot of its
// own, in which nothing changes, and copies nothing.
struct KVIterator {
  KVStore* kv;
  mayfly::Family family;
  std::string family_name;
  std::string prefix;
  bool reverse;

  std::optional<mayfly::Cursor> cursor{};
  mayfly::internal::OpenTxn* txn = nullptr;  // that the cursor belongs to
  std::uint64_t writes = 0;                  // of `txn`, when the cursor was made

  bool valid = false;
  bool is_lost = false;  // there was no memory for a copy of the entry
  bool copied = false;  // whether the entry is here, and not at the cursor
  std::string key_copy{};
  std::string value_copy{};
  mayfly::Time deadline_copy = mayfly::kNever;

  std::string_view key() const { return copied ? std::string_view(key_copy) : cursor->key(); }
  std::string_view value() const { return copied ? std::string_view(value_copy) : cursor->value(); }
  mayfly::Time deadline() const { return copied ? deadline_copy : cursor->deadline(); }

  // Makes the entry independent of the cursor. REQUIRES: valid.
  void copy();

  void drop_cursor();
};

namespace mayfly::internal {

// The transaction is about to end: its iterators keep their entry, if there is memory for it, and
// lose their cursor.
void detach_iterators(OpenTxn& txn) noexcept;

}  // namespace mayfly::internal
