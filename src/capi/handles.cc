// SPDX-License-Identifier: Apache-2.0
#include "capi/handles.h"

#include <new>

KVStore::KVStore(const KVStoreConfig& config, const KVStoreOptions& options)
    : takes_turns(config.busyTimeout == 0), main{this, {}, "default"} {
  if (options.nowMs != nullptr) given_clock.emplace(options.nowMs, options.nowArgument);
}

void KVStore::release() {
  if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

const mayfly::Clock& KVStore::chosen_clock() const {
  if (given_clock) return *given_clock;
  return wall_clock;
}

mayfly::internal::OpenTxn* KVStore::open_txn() {
  if (txn_count.load(std::memory_order_acquire) == 0) return nullptr;
  const std::uint64_t me = mayfly::internal::thread_number();
  const std::lock_guard lock(txns_mutex);
  for (const auto& txn : txns) {
    if (txn->owner == me) return txn.get();
  }
  return nullptr;
}

void KVStore::use(const std::string& name, KVIterator* iterator) {
  const std::lock_guard lock(handles_mutex);
  int& count = uses[name];  // 0, if the next line throws, counts as none
  if (iterator != nullptr) iterators.insert(iterator);
  ++count;
}

void KVStore::unuse(const std::string& name) {
  const std::lock_guard lock(handles_mutex);
  const auto found = uses.find(name);
  if (found != uses.end() && --found->second == 0) uses.erase(found);
}

bool KVStore::is_used(std::string_view name) {
  const std::lock_guard lock(handles_mutex);
  const auto found = uses.find(name);
  return found != uses.end() && found->second > 0;
}

std::unique_lock<std::mutex> KVStore::take_turn() {
  return takes_turns ? std::unique_lock(turn) : std::unique_lock<std::mutex>();
}

void KVIterator::copy() {
  if (copied) return;
  key_copy = cursor->key();
  value_copy = cursor->value();
  deadline_copy = cursor->deadline();
  copied = true;
}

void KVIterator::drop_cursor() {
  if (txn != nullptr) {
    std::erase(txn->iterators, this);
    txn = nullptr;
  }
  cursor.reset();
}

namespace mayfly::internal {

void detach_iterators(OpenTxn& txn) noexcept {
  while (!txn.iterators.empty()) {
    KVIterator& iterator = *txn.iterators.back();
    try {
      if (iterator.valid) iterator.copy();
    } catch (const std::bad_alloc&) {
      iterator.valid = false;
      iterator.is_lost = true;
    }
    iterator.txn = nullptr;
    iterator.cursor.reset();
    txn.iterators.pop_back();
  }
}

}  // namespace mayfly::internal
