// SPDX-License-Identifier: Apache-2.0
// KeyReader: looks up one key, for the calls that are made a million times a second.
//
// It goes behind ReadTxn, to do what that can't: a transaction of its own stands on the stack, the
// clock is read only if there is a deadline to compare, and a key that is there but has expired can
// be told from one that is not there.

#pragma once

#include <optional>
#include <string_view>

#include "mayfly/family.h"
#include "mayfly/result.h"
#include "mayfly/store.h"
#include "mayfly/store_txn.h"
#include "store/api/cursor_state.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly {

enum class Sight { absent, expired, there };

class KeyReader {
 public:
  // What it says is valid as long as the store is open.
  static Result<KeyReader> of(const Store& store);

  // Calls `use(txn, found)`, with what is wanted in it, if the key is there. In `open`, or, if that
  // is null, in a transaction of its own; then `met` is what has to be given to evict().
  template <class Use>
  Result<Sight> look(const ReadTxn* open, std::string_view key, Family family, Want want,
                     std::vector<Met>& met, Use use) const {
    if (open != nullptr) return look_in(inside(*open), key, family, want, use);
    auto snapshot = owner_.environment.begin_read();
    if (!snapshot) return snapshot.error();
    Txn txn(owner_, std::move(*snapshot));
    auto sight = look_in(txn, key, family, want, use);
    met = std::move(txn.met());
    return sight;
  }

  // Removes what has expired, if nobody else is writing.
  void remove(const std::vector<Met>& met) const { evict(owner_, met); }

 private:
  explicit KeyReader(const Txn::Owner& owner) : owner_(owner) {}

  static Txn& inside(const ReadTxn& txn);
  static bool has_expired(Txn& txn, FamilyView& view, const StoredKey& key);

  template <class Use>
  static Result<Sight> look_in(Txn& txn, std::string_view key, Family family, Want want, Use& use) {
    FamilyView* const view = txn.view(family);
    if (view == nullptr) return txn.missing_family();
    const StoredKey stored(key, txn.catalog().hash_seed());
    Found found;
    const int code = txn.find(*view, stored, found, want);
    if (code == MDB_NOTFOUND) {
      return has_expired(txn, *view, stored) ? Sight::expired : Sight::absent;
    }
    if (code != 0) return lmdb_error(code, "read a key");
    use(txn, found);
    return Sight::there;
  }

  Txn::Owner owner_;
};

}  // namespace mayfly
