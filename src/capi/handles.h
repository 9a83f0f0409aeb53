// SPDX-License-Identifier: Apache-2.0
// What stands behind the three handles of kvstore.h.
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

#include "capi/callback_clock.h"
#include "capi/gate.h"
#include "capi/key_reader.h"
#include "capi/messages.h"
#include "capi/thread_number.h"
#include "kvstore.h"
#include "mayfly/clock.h"
#include "mayfly/store.h"
#include "store/lmdb/process_mark.h"

struct KVColumnFamily {
  KVStore* kv;
  mayfly::Family family{};
  std::string name{};
};

namespace mayfly {

// The transaction that a thread has begun. Exactly one of the two is there.
struct OpenTxn {
  std::uint64_t owner = thread_number();
  std::optional<ReadTxn> read{};
  std::optional<WriteTxn> write{};
  std::uint64_t writes = 0;              // so that iterators notice
  std::vector<KVIterator*> iterators{};  // that have a cursor in it

  const ReadTxn& txn() const { return write ? *write : *read; }
};

}  // namespace mayfly

struct KVStore {
  KVStore(const KVStoreConfig& config, const KVStoreOptions& options);

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release();  // may delete it

  const mayfly::Clock& chosen_clock() const;

  // The transaction of this thread, or null.
  mayfly::OpenTxn* open_txn();

  // Counts the handles and iterators of a family, so that it is not dropped under them.
  void use(const std::string& name, KVIterator* iterator = nullptr);
  void unuse(const std::string& name);
  bool is_used(std::string_view name);

  // Held by a write of its own. Without a busy timeout the store would turn away one of two threads
  // that write at the same time on one handle; so here they take turns before they ask it.
  std::unique_lock<std::mutex> take_turn();
  std::unique_lock<std::mutex> try_take_turn();

  const mayfly::ProcessMark mark;
  const mayfly::SystemClock wall_clock;
  std::optional<mayfly::CallbackClock> given_clock;
  const bool takes_turns;
  KVColumnFamily main;  // the default family, not counted

  std::atomic<int> references{1};
  mayfly::Gate gate;
  std::optional<mayfly::Store> store;  // empty once it is closed; changed behind a closed gate only
  std::optional<mayfly::KeyReader> reader;  // there while the store is

  mayfly::Messages messages;
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> checkpoints{0};
  std::atomic<std::uint64_t> iterations{0};
  std::mutex turn;

  std::mutex txns_mutex;
  std::atomic<int> txn_count{0};                       // so that most calls need not lock
  std::vector<std::unique_ptr<mayfly::OpenTxn>> txns;  // guarded by txns_mutex
  bool closing = false;                                // guarded by txns_mutex

  std::mutex handles_mutex;
  std::map<std::string, int, std::less<>> uses;  // guarded by handles_mutex, as is the next
  std::unordered_set<KVIterator*> iterators;
};
