// SPDX-License-Identifier: Apache-2.0
#include "capi/iterator.h"

#include <vector>

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
    cursor.reset();
  } else if (cursor) {
    const auto turn = kv->take_turn();
    cursor.reset();
  }
}

namespace mayfly {

void detach_iterators(OpenTxn& txn) {
  while (!txn.iterators.empty()) {
    KVIterator& iterator = *txn.iterators.back();
    if (iterator.valid) iterator.copy();  // may be out of memory; then it is still in the list
    iterator.txn = nullptr;
    iterator.cursor.reset();
    txn.iterators.pop_back();
  }
}

}  // namespace mayfly
