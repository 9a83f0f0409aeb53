// SPDX-License-Identifier: Apache-2.0
#include "capi/key_reader.h"

namespace mayfly {
namespace {

class Inside : public ReadTxn {
 public:
  static Txn& of(const ReadTxn& txn) { return *(txn.*&Inside::txn_); }
};

}  // namespace

Txn& KeyReader::inside(const ReadTxn& txn) { return Inside::of(txn); }

Result<KeyReader> KeyReader::of(const Store& store) {
  const auto txn = store.read();
  if (!txn) return txn.error();
  return KeyReader(inside(*txn).owner());
}

bool KeyReader::has_expired(Txn& txn, FamilyView& view, const StoredKey& key) {
  if (!view.has_expired) return false;
  Time deadline = kNever;
  const int code = txn.deadline_row(view, key.bytes(), deadline);
  return code == 0 && deadline != kNever && is_due(deadline, txn.now());
}

}  // namespace mayfly
