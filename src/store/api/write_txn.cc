// SPDX-License-Identifier: Apache-2.0
// WriteTxn: the writing half of store_txn.h. The first failure is kept by Txn; from then on nothing
// here does anything.

#include <charconv>
#include <limits>
#include <utility>

#include "mayfly/store_txn.h"
#include "store/api/arguments.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

// One write of one key: its arguments, checked, and what the key has now.
class Write {
 public:
  Write(Txn& txn, std::string_view key, Family family, std::string_view doing, bool looks = true)
      : txn_(txn), doing_(doing), key_(key, txn.catalog().hash_seed()) {
    if (txn.failed()) return;
    if (!good_key(key)) {
      txn.fail(bad_key(key));
      return;
    }
    view_ = looks ? txn.view(family) : txn.view_to_put(family);
    if (view_ == nullptr) txn.fail(txn.missing_family());
  }

  bool ok() const { return view_ != nullptr && !txn_.failed(); }

  // Whether the key is there and alive.
  bool find(Found& found) {
    const int code = txn_.find(*view_, key_, found);
    if (code != 0 && code != MDB_NOTFOUND) txn_.fail(code, doing_);
    return code == 0;
  }

  // Stores the value with the deadline. What the key had, alive or expired, is replaced.
  void put(std::string_view value, Time deadline) {
    if (can_put(value, deadline)) done(txn_.put(*view_, key_, value, deadline));
  }

  // The same, now or together with others. For who has not looked at the key: where it belongs is
  // still to be found.
  void put_unseen(std::string_view value, Time deadline) {
    if (!can_put(value, deadline)) return;
    if (txn_.gather({view_, key_.key(), value, deadline}) || !ok()) return;
    done(txn_.put(*view_, key_, value, deadline));
  }

  void move_deadline(Time present, Time deadline) {
    if (!has_tables_for(deadline)) return;
    done(txn_.set_deadline(*view_, key_.bytes(), present, deadline));
  }

  void remove(Time present) { done(txn_.remove(*view_, key_.bytes(), present)); }

  Millis default_ttl() const { return view_->default_ttl; }

  // The deadline of a key that is new to its users.
  Time first_deadline(Expires expires) const {
    if (expires.kind() == Expires::Kind::unchanged) expires = Expires();
    return expires.deadline(txn_.now(), kNever, view_->default_ttl);
  }

 private:
  void done(int code) {
    if (code != 0) txn_.fail(code, doing_);
  }

  bool can_put(std::string_view value, Time deadline) {
    if (!good_value(value)) txn_.fail(bad_value(value));
    return ok() && has_tables_for(deadline);
  }

  bool has_tables_for(Time deadline) {
    if (deadline == kNever || view_->keys != 0) return true;
    const Status made = txn_.make_ttl_tables(*view_);
    if (!made) txn_.fail(made.error());
    return made.ok();
  }

  Txn& txn_;
  const std::string_view doing_;
  StoredKey key_;
  FamilyView* view_ = nullptr;
};

}  // namespace

void WriteTxn::put(std::string_view key, std::string_view value, Expires expires, Family family) {
  const bool looks = expires.kind() == Expires::Kind::unchanged;
  Write write(*txn_, key, family, "put a key", looks);
  if (!write.ok()) return;
  if (!looks) return write.put_unseen(value, write.first_deadline(expires));
  Found found;
  if (write.find(found)) {
    write.put(value, found.deadline);
  } else if (write.ok()) {
    write.put(value, write.first_deadline(expires));
  }
}

bool WriteTxn::put_if_absent(std::string_view key, std::string_view value, Expires expires,
                             Family family) {
  Write write(*txn_, key, family, "put a key");
  Found found;
  if (!write.ok() || write.find(found) || !write.ok()) return false;
  write.put(value, write.first_deadline(expires));
  return write.ok();
}

bool WriteTxn::compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                               std::string_view desired, Expires expires, Family family) {
  Write write(*txn_, key, family, "compare and set a key");
  if (!write.ok()) return false;
  Found found;
  const bool there = write.find(found);
  if (!write.ok() || there != expected.has_value() || (there && found.value != *expected)) {
    return false;
  }
  write.put(desired, there ? expires.deadline(now(), found.deadline, write.default_ttl())
                           : write.first_deadline(expires));
  return write.ok();
}

std::int64_t WriteTxn::increment(std::string_view key, std::int64_t delta, Expires expires,
                                 Family family) {
  Write write(*txn_, key, family, "increment a key");
  if (!write.ok()) return 0;
  Found found;
  std::int64_t number = 0;
  const bool there = write.find(found);
  if (!write.ok()) return 0;
  if (there) {
    const char* const end = found.value.data() + found.value.size();
    const auto [stop, problem] = std::from_chars(found.value.data(), end, number);
    if (problem != std::errc() || stop != end) {
      txn_->fail({Code::invalid, "the value is not a decimal number of 64 bits"});
      return 0;
    }
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(number, delta, &sum)) {
    txn_->fail({Code::invalid, "the sum of " + std::to_string(number) + " and " +
                                   std::to_string(delta) + " does not fit into 64 bits"});
    return 0;
  }
  write.put(std::to_string(sum), there ? found.deadline : write.first_deadline(expires));
  return write.ok() ? sum : 0;
}

bool WriteTxn::erase(std::string_view key, Family family) {
  Write write(*txn_, key, family, "erase a key");
  Found found;
  if (!write.ok() || !write.find(found)) return false;  // an expired one is noted, and goes as well
  write.remove(found.deadline);
  if (!write.ok()) return false;
  txn_->tally().add(Count::erases);
  return true;
}

std::size_t WriteTxn::erase_many(std::span<const std::string_view> keys, Family family) {
  std::size_t erased = 0;
  for (const std::string_view key : keys) erased += erase(key, family) ? 1 : 0;
  return erased;
}

bool WriteTxn::expire(std::string_view key, Expires expires, When when, Family family) {
  Write write(*txn_, key, family, "expire a key");
  if (!write.ok()) return false;
  if (!compatible(when)) {
    txn_->fail({Code::invalid,
                "these conditions exclude each other: NX goes with no other, and "
                "GT not with LT"});
    return false;
  }
  Found found;
  if (!write.find(found)) return false;
  const Time deadline = expires.deadline(now(), found.deadline, write.default_ttl());
  if (!allows(when, found.deadline, deadline)) return false;
  if (deadline != kNever && is_due(deadline, now())) {
    write.remove(found.deadline);
  } else {
    write.move_deadline(found.deadline, deadline);
  }
  return write.ok();
}

bool WriteTxn::persist(std::string_view key, Family family) {
  return expire(key, Expires::never(), When::set, family);
}

bool WriteTxn::touch(std::string_view key, Expires expires, Family family) {
  expire(key, expires, When::set | When::later, family);
  if (txn_->failed()) return false;
  const auto there = contains(key, family);
  if (!there) txn_->fail(there.error());
  return there.ok() && *there;
}

void WriteTxn::clear(Family family) {
  if (txn_->failed()) return;
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->fail(txn_->missing_family());
  const int code = txn_->clear(*view);
  if (code != 0) txn_->fail(code, "clear a family");
}

std::uint64_t WriteTxn::purge_expired(std::uint64_t limit, Family family) {
  if (txn_->failed()) return 0;
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) {
    txn_->fail(txn_->missing_family());
    return 0;
  }
  std::uint64_t removed = 0;
  const int code = txn_->purge(*view, limit, removed);
  if (code != 0) {
    txn_->fail(code, "purge");
    return 0;
  }
  txn_->tally().add(Count::purged, removed);
  return removed;
}

std::uint64_t WriteTxn::purge_expired_all(std::uint64_t limit) {
  std::uint64_t removed = 0;
  for (const Family family : txn_->catalog().families()) {
    removed += purge_expired(limit - removed, family);
  }
  return txn_->failed() ? 0 : removed;
}

Result<Family> WriteTxn::create_family(std::string_view name) {
  if (txn_->failed()) return *txn_->failure();
  return txn_->create_family(name);
}

Status WriteTxn::drop_family(std::string_view name) {
  if (txn_->failed()) return *txn_->failure();
  return txn_->drop_family(name);
}

Status WriteTxn::set_default_ttl(std::optional<Millis> ttl, Family family) {
  if (txn_->failed()) return *txn_->failure();
  return txn_->set_default_ttl(family, ttl.value_or(Millis::max()));
}

Status WriteTxn::status() const {
  if (txn_->is_foreign()) return foreign_error();
  if (txn_->failed()) return *txn_->failure();
  return Done{};
}

Status WriteTxn::commit() { return txn_->commit(); }

void WriteTxn::rollback() { txn_->abort(); }

}  // namespace mayfly
