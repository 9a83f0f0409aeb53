// SPDX-License-Identifier: Apache-2.0
// Transactions that a thread begins and ends itself.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "capi/call.h"
#include "capi/per_thread.h"

namespace mayfly::internal {
namespace {

int end(KVStore* store, bool commit);

// The stores in which this thread has a write transaction open. One that is open when the thread
// ends is rolled back: only this thread can do it, and until then nobody can write.
class ThreadTxns {
 public:
  ThreadTxns() = default;
  ~ThreadTxns() {
    if (process_ != ::getpid()) return;  // the child of a fork must not touch them
    while (!stores_.empty()) {
      end(stores_.back(), false);
      forget(*stores_.back());
    }
  }
  ThreadTxns(const ThreadTxns&) = delete;
  ThreadTxns& operator=(const ThreadTxns&) = delete;

  void add(KVStore& kv) {
    if (process_ != ::getpid()) stores_.clear();  // those are the parent's
    process_ = ::getpid();
    stores_.push_back(&kv);
    kv.retain();
  }
  void forget(KVStore& kv) {
    const auto found = std::ranges::find(stores_, &kv);
    if (found == stores_.end()) return;
    stores_.erase(found);
    kv.release();
  }

 private:
  std::vector<KVStore*> stores_;
  pid_t process_ = 0;
};

const PerThread<ThreadTxns>& thread_txns() {
  static const PerThread<ThreadTxns> txns;
  return txns;
}

// Fills in the one of the two that is wanted.
Status start(KVStore& kv, bool write, OpenTxn& open) {
  if (!write) {
    auto txn = kv.store->read();
    if (!txn) return txn.error();
    open.read.emplace(std::move(*txn));
    return Done{};
  }
  const auto turn = kv.take_turn();
  auto txn = kv.store->write();
  if (!txn) return txn.error();
  open.write.emplace(std::move(*txn));
  return Done{};
}

int enlist(KVStore& kv, std::unique_ptr<OpenTxn> open) {
  const std::lock_guard lock(kv.txns_mutex);
  if (kv.closing) return refuse_closed(kv);
  kv.txns.reserve(kv.txns.size() + 1);
  if (open->write) thread_txns().get().add(kv);
  kv.txns.push_back(std::move(open));
  kv.txn_count.fetch_add(1, std::memory_order_release);
  return KVSTORE_OK;
}

std::unique_ptr<OpenTxn> delist(KVStore& kv, const OpenTxn* open) {
  const std::lock_guard lock(kv.txns_mutex);
  const auto found = std::ranges::find(kv.txns, open, &std::unique_ptr<OpenTxn>::get);
  std::unique_ptr<OpenTxn> taken = std::move(*found);
  kv.txns.erase(found);
  kv.txn_count.fetch_sub(1, std::memory_order_release);
  return taken;
}

int end(KVStore* store, bool commit) {
  return call(store, [&](KVStore& kv) {
    OpenTxn* const open = kv.open_txn();
    if (open == nullptr) return KVSTORE_OK;
    detach_iterators(*open);
    const std::unique_ptr<OpenTxn> taken = delist(kv, open);
    if (commit && taken->write) return check_status(kv, taken->write->commit());
    return KVSTORE_OK;
  });
}

// This may delete the store, so it comes last.
int end_and_forget(KVStore* store, bool commit) {
  const int code = end(store, commit);
  if (store == nullptr) return code;
  try {
    if (ThreadTxns* const open = thread_txns().find()) open->forget(*store);
  } catch (const std::bad_alloc&) {  // no thread has begun any yet
  }
  return code;
}

}  // namespace

extern "C" {

int kvstore_begin(KVStore* kv, int write) {
  return call(kv, [&](KVStore& store) {
    if (store.open_txn() != nullptr) {
      return fail(store, KVSTORE_ERROR, "this thread already has a transaction open");
    }
    auto open = std::make_unique<OpenTxn>();
    if (const int code = check_status(store, start(store, write != 0, *open))) return code;
    return enlist(store, std::move(open));
  });
}

int kvstore_commit(KVStore* kv) { return end_and_forget(kv, true); }

int kvstore_rollback(KVStore* kv) { return end_and_forget(kv, false); }

}  // extern "C"
}  // namespace mayfly::internal
