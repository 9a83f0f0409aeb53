// SPDX-License-Identifier: Apache-2.0
// WriteTxn: the writing half of store_txn.h. The first failure is kept by Txn; from then on nothing
// here does anything.

#include <charconv>
#include <limits>
#include <utility>

#include "mayfly/store_txn.h"
#include "store/api/state.h"

namespace mayfly {
namespace {

// One write of one key: its arguments, checked, and what the key has now.
class Write {
 public:
  Write(Txn& txn, std::string_view key, Family family) : txn_(txn), key_(key) {
    if (txn.failed()) return;
    if (!internal::good_key(key)) {
      txn.fail(internal::bad_key(key));
      return;
    }
    view_ = txn.view(family);
    if (view_ == nullptr) txn.fail(txn.missing_family());
    if (view_ == nullptr) return;
    auto old = txn.look(*view_, key, Need::deadline);
    if (old) old_ = *old;
    if (!old) txn.fail(old.error());
  }

  bool ok() const { return view_ != nullptr && !txn_.failed(); }

  // The entry of the key; nothing if it is absent or expired, or if the read failed. An expired one
  // is recorded, and removed at the commit.
  std::optional<StoredEntry> find() {
    if (!old_ || old_->deadline == kNever || !is_due(old_->deadline, txn_.now())) return old_;
    txn_.record_expired(view_->family, key_);
    return std::nullopt;
  }

  // Stores the value with the deadline. What the key had, alive or expired, is replaced.
  void put(std::string_view value, Time deadline) {
    if (!internal::good_value(value)) txn_.fail(internal::bad_value(value));
    if (ok()) done(txn_.put(*view_, key_, value, deadline, old_));
  }

  void move_deadline(Time deadline) { done(txn_.set_deadline(*view_, key_, deadline, old_)); }
  void remove() { done(txn_.erase(*view_, key_, old_)); }

  // The deadline of a key that has the deadline `present`; nothing if the key is new.
  Time deadline(const Expiry& expiry, std::optional<Time> present = {}) {
    if (expiry.is_for_caches_only()) [[unlikely]] {
      txn_.fail({Code::invalid,
                 "cannot set an expiry that slides or refreshes: only caches have these (use a TTL "
                 "or a deadline)"});
    }
    return expiry.deadline(txn_.now(), present, view_->default_ttl);
  }

 private:
  void done(const Status& status) {
    if (!status) txn_.fail(status.error());
  }

  Txn& txn_;
  const std::string_view key_;
  FamilyView* view_ = nullptr;
  Txn::Old old_;
};

}  // namespace

void WriteTxn::put(std::string_view key, std::string_view value, const Expiry& expiry,
                   Family family) {
  Write write(*txn_, key, family);
  if (!write.ok()) return;
  const auto found = expiry.is_unchanged() ? write.find() : std::nullopt;
  write.put(value, found ? found->deadline : write.deadline(expiry));
}

bool WriteTxn::put_if_absent(std::string_view key, std::string_view value, const Expiry& expiry,
                             Family family) {
  Write write(*txn_, key, family);
  if (!write.ok() || write.find() || !write.ok()) return false;
  write.put(value, write.deadline(expiry));
  return write.ok();
}

bool WriteTxn::compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                               std::string_view desired, const Expiry& expiry, Family family) {
  Write write(*txn_, key, family);
  if (!write.ok()) return false;
  const auto found = write.find();
  if (!write.ok() || found.has_value() != expected.has_value()) return false;
  if (found && found->value != *expected) return false;
  write.put(desired, write.deadline(expiry, found ? std::optional(found->deadline) : std::nullopt));
  return write.ok();
}

std::int64_t WriteTxn::increment(std::string_view key, std::int64_t delta, const Expiry& expiry,
                                 Family family) {
  Write write(*txn_, key, family);
  if (!write.ok()) return 0;
  std::int64_t number = 0;
  const auto found = write.find();
  if (!write.ok()) return 0;
  if (found) {
    const char* const end = found->value.data() + found->value.size();
    const auto [stop, problem] = std::from_chars(found->value.data(), end, number);
    if (problem != std::errc() || stop != end) {
      txn_->fail({Code::invalid, "cannot increment: the value is not a 64-bit integer"});
      return 0;
    }
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(number, delta, &sum)) {
    txn_->fail({Code::invalid, "cannot increment: the sum of " + std::to_string(number) + " and " +
                                   std::to_string(delta) + " does not fit into 64 bits"});
    return 0;
  }
  write.put(std::to_string(sum), found ? found->deadline : write.deadline(expiry));
  return write.ok() ? sum : 0;
}

bool WriteTxn::erase(std::string_view key, Family family) {
  Write write(*txn_, key, family);
  if (!write.ok()) return false;
  const auto found = write.find();
  if (!found) return false;
  write.remove();
  if (!write.ok()) return false;
  txn_->tally().add(Count::erases);
  return true;
}

std::size_t WriteTxn::erase_many(std::span<const std::string_view> keys, Family family) {
  std::size_t erased = 0;
  for (const std::string_view key : keys) erased += erase(key, family) ? 1 : 0;
  return erased;
}

bool WriteTxn::expire(std::string_view key, const Expiry& expiry, When when, Family family) {
  Write write(*txn_, key, family);
  if (!write.ok()) return false;
  if (!compatible(when)) {
    txn_->fail(
        {Code::invalid, "these conditions exclude each other: NX with any other, and GT with LT"});
    return false;
  }
  const auto found = write.find();
  if (!found) return false;
  const Time deadline = write.deadline(expiry, found->deadline);
  if (!write.ok() || !allows(when, found->deadline, deadline)) return false;
  if (deadline != kNever && is_due(deadline, now())) {
    write.remove();
  } else {
    write.move_deadline(deadline);
  }
  return write.ok();
}

bool WriteTxn::persist(std::string_view key, Family family) {
  return expire(key, Expiry::never(), When::set, family);
}

bool WriteTxn::touch(std::string_view key, const Expiry& expiry, Family family) {
  expire(key, expiry, When::set | When::later, family);
  if (txn_->failed()) return false;
  const auto there = contains(key, family);
  if (!there) txn_->fail(there.error());
  return there.ok() && *there;
}

void WriteTxn::clear(Family family) {
  if (txn_->failed()) return;
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->fail(txn_->missing_family());
  if (const Status cleared = txn_->clear(*view); !cleared) txn_->fail(cleared.error());
}

std::uint64_t WriteTxn::purge_expired(std::uint64_t limit, Family family) {
  if (txn_->failed()) return 0;
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) {
    txn_->fail(txn_->missing_family());
    return 0;
  }
  const auto removed = txn_->purge(*view, limit);
  if (!removed) {
    txn_->fail(removed.error());
    return 0;
  }
  txn_->tally().add(Count::purged, *removed);
  return *removed;
}

std::uint64_t WriteTxn::purge_expired_all(std::uint64_t limit) {
  std::uint64_t removed = 0;
  for (const Family family : txn_->catalog().families()) {
    removed += purge_expired(limit - removed, family);
  }
  return txn_->failed() ? 0 : removed;
}

Result<Family> WriteTxn::create_family(std::string_view name) {
  if (txn_->failed()) return txn_->failure();
  return txn_->create_family(name);
}

Status WriteTxn::drop_family(std::string_view name) {
  if (txn_->failed()) return txn_->failure();
  return txn_->drop_family(name);
}

Status WriteTxn::set_default_ttl(std::optional<Millis> ttl, Family family) {
  if (txn_->failed()) return txn_->failure();
  return txn_->set_default_ttl(family, ttl.value_or(Millis::max()));
}

Status WriteTxn::status() const {
  if (txn_->is_foreign()) return internal::foreign_error();
  if (txn_->failed()) return txn_->failure();
  return Done{};
}

Status WriteTxn::commit() { return txn_->commit(); }

void WriteTxn::rollback() { txn_->abort(); }

}  // namespace mayfly
