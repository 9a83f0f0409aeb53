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
#include "store/api/state.h"

namespace mayfly::internal {

enum class KeyState { absent, expired, there };

class KeyReader {
 public:
  // What it says is valid as long as the store is open.
  static Result<KeyReader> of(const Store& store);

  // Calls `use(txn, found)`, with what is needed in it, if the key is there. In `open`, or, if that
  // is null, in a transaction of its own; then `expired` is what has to be given to evict().
  template <class Use>
  Result<KeyState> look(const ReadTxn* open, std::string_view key, Family family, Need need,
                        std::vector<ExpiredKey>& expired, Use use) const {
    if (open != nullptr) return look_in(inside(*open), key, family, need, use);
    auto snapshot = owner_.environment.begin_read();
    if (!snapshot) return snapshot.error();
    Txn txn(owner_, std::move(*snapshot));
    auto state = look_in(txn, key, family, need, use);
    expired = std::move(txn.expired_seen());
    return state;
  }

  // Removes what has expired, if nobody else is writing.
  void remove(const std::vector<ExpiredKey>& expired) const { evict(owner_, expired); }

 private:
  explicit KeyReader(const Txn::Owner& owner) : owner_(owner) {}

  static Txn& inside(const ReadTxn& txn);
  static bool has_expired(Txn& txn, FamilyView& view, const StoredKey& key);

  template <class Use>
  static Result<KeyState> look_in(Txn& txn, std::string_view key, Family family, Need need,
                                  Use& use) {
    FamilyView* const view = txn.view(family);
    if (view == nullptr) return txn.missing_family();
    const StoredKey stored(key, txn.catalog().hash_seed());
    const auto found = txn.find(*view, stored, need);
    if (!found) return found.error();
    if (!*found) return has_expired(txn, *view, stored) ? KeyState::expired : KeyState::absent;
    use(txn, **found);
    return KeyState::there;
  }

  Txn::Owner owner_;
};

}  // namespace mayfly::internal
