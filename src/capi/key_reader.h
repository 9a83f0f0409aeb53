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
  // is null, in a transaction of its own.
  template <class Use>
  Result<KeyState> look(const ReadTxn* open, std::string_view key, Family family, Need need,
                        Use use) const {
    if (open != nullptr) return look_in(inside(*open), key, family, need, use);
    auto snapshot = owner_.environment.begin_read();
    if (!snapshot) return snapshot.error();
    Txn txn(owner_, std::move(*snapshot));
    return look_in(txn, key, family, need, use);
  }

  // Whether reads have found expired entries that no commit has removed yet.
  bool has_found_expired() const { return owner_.environment.log().has_noted(); }

 private:
  explicit KeyReader(const Txn::Owner& owner) : owner_(owner) {}

  static Txn& inside(const ReadTxn& txn);

  template <class Use>
  static Result<KeyState> look_in(Txn& txn, std::string_view key, Family family, Need need,
                                  Use& use) {
    FamilyView* const view = txn.view(family);
    if (view == nullptr) return txn.missing_family();
    const auto found = txn.look(*view, key, need);
    if (!found) return found.error();
    if (!*found) return KeyState::absent;
    if ((*found)->deadline != kNever && is_due((*found)->deadline, txn.now())) {
      txn.record_expired(family, key);
      return KeyState::expired;
    }
    use(txn, **found);
    return KeyState::there;
  }

  Txn::Owner owner_;
};

}  // namespace mayfly::internal
