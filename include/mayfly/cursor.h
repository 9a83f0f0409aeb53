// SPDX-License-Identifier: Apache-2.0
// Cursor: walks the keys of a family in byte order, either way, on a snapshot.
//
//   auto cursor = store.cursor({.prefix = "session:"});
//   if (!cursor) return report(cursor.error());
//   for (bool on = cursor->first(); on; on = cursor->next()) use(cursor->key(), cursor->value());
//   if (!cursor->status()) return report(cursor->status().error());
//
// Time: what has expired when the transaction (or the cursor's own snapshot) began is never shown,
// and nothing expires while it walks.
//
// Lifetime: views are valid until the cursor moves. A cursor of a transaction must be destroyed
// before the transaction ends, and in a write transaction it must not be used after a write; seek()
// again. A cursor of the store has a snapshot of its own, which keeps old pages from being reused:
// don't keep one for long.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

struct CursorOptions {
  // Only keys that begin with this. To the cursor there are no others.
  std::string prefix{};
};

class Cursor {
 public:
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  // Each moves and returns whether there is an entry there. Past either end it stays invalid until
  // it is placed anew by first(), last() or a seek. next() and prev() of a cursor that is nowhere
  // return false.
  bool first();
  bool last();
  bool next();
  bool prev();
  bool seek(std::string_view key);         // the least key that is not less than `key`
  bool seek_before(std::string_view key);  // the greatest key that is not greater than `key`

  bool valid() const { return valid_; }

  // REQUIRES: valid().
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  Time deadline() const;  // kNever if it has none. Looked up only if it is asked for

  // Whether all that was asked could be read. A move that fails returns false.
  Status status() const;

  class State;  // not for users
  explicit Cursor(std::unique_ptr<State> state);

 private:
  friend class State;

  bool valid_ = false;
  std::string_view key_;
  std::string_view value_;
  std::unique_ptr<State> state_;
};

}  // namespace mayfly
