// SPDX-License-Identifier: Apache-2.0
// The calls of a Store that are transactions of their own.

#include <concepts>
#include <type_traits>
#include <utility>

#include "mayfly/store.h"
#include "store/api/state.h"

namespace mayfly {
namespace {

// Reads in a snapshot of its own. The clock is read only if there is a deadline to compare.
template <class Value, class Read>
Result<Value> read_once(Store::State& state, Read read) {
  if (state.environment == nullptr) return closed_error();
  const Txn::Owner owner = state.owner();
  auto result = [&]() -> Result<Value> {
    auto snapshot = owner.environment.begin_read();
    if (!snapshot) return snapshot.error();
    Txn txn(owner, std::move(*snapshot));
    return read(txn);
  }();
  if (!result) state.tally.add(Count::errors);
  return result;
}

// Calls `use` with the entry of a key; it returns the result for a key that is there.
template <class Value, class Use>
Result<Value> read_key(Store::State& state, std::string_view key, Family family, Need need,
                       Use use) {
  if (!internal::good_key(key)) {
    state.tally.add(Count::errors);
    return internal::bad_key(key);
  }
  return read_once<Value>(state, [&](Txn& txn) -> Result<Value> {
    FamilyView* const view = txn.view(family);
    if (view == nullptr) return txn.missing_family();
    const auto found = txn.find(*view, key, need);
    if (!found) return found.error();
    if (!*found) return Value{};
    return use(txn, **found);
  });
}

void count_get(Txn& txn, const StoredEntry& found) {
  txn.tally().add(Count::gets);
  txn.tally().add(Count::bytes_read, found.value.size());
}

// Reads through a ReadTxn, which needs a little memory, what is not asked a million times a second.
template <class Read>
auto read_more(const Store& store, Read read) -> decltype(read(std::declval<ReadTxn&>())) {
  auto txn = store.read();
  if (!txn) return txn.error();
  return read(*txn);
}

// Writes and commits. What `write` returns counts only if the commit succeeds.
template <class Write>
auto write_once(Store& store, Write write)
    -> Result<std::decay_t<decltype(write(std::declval<WriteTxn&>()))>> {
  auto txn = store.write();
  if (!txn) return txn.error();
  auto result = write(*txn);
  if (const Status committed = txn->commit(); !committed) return committed.error();
  return result;
}

// The same, for what returns a Result itself: a refusal is not committed.
template <class Write>
auto change_once(Store& store, Write write) -> decltype(write(std::declval<WriteTxn&>())) {
  auto txn = store.write();
  if (!txn) return txn.error();
  auto result = write(*txn);
  if (!result) return result;
  if (const Status committed = txn->commit(); !committed) return committed.error();
  return result;
}

}  // namespace

Result<std::optional<std::string>> Store::get(std::string_view key, Family family) const {
  using Value = std::optional<std::string>;
  return read_key<Value>(*state_, key, family, Need::value, [](Txn& txn, const StoredEntry& found) {
    count_get(txn, found);
    return Value(found.value);
  });
}

Result<bool> Store::get_into(std::string& out, std::string_view key, Family family) const {
  return read_key<bool>(*state_, key, family, Need::value,
                        [&out](Txn& txn, const StoredEntry& found) {
                          count_get(txn, found);
                          out.assign(found.value);
                          return true;
                        });
}

Result<std::optional<OwnedEntry>> Store::get_entry(std::string_view key, Family family) const {
  using Value = std::optional<OwnedEntry>;
  return read_key<Value>(*state_, key, family, Need::deadline,
                         [](Txn& txn, const StoredEntry& found) {
                           count_get(txn, found);
                           OwnedEntry entry{std::string(found.value), found.deadline};
                           if (found.deadline != kNever)
                             entry.ttl = remaining(found.deadline, txn.now());
                           return Value(std::move(entry));
                         });
}

Result<std::optional<Time>> Store::deadline(std::string_view key, Family family) const {
  using Value = std::optional<Time>;
  return read_key<Value>(*state_, key, family, Need::deadline,
                         [](Txn&, const StoredEntry& found) { return Value(found.deadline); });
}

Result<bool> Store::contains(std::string_view key, Family family) const {
  return read_key<bool>(*state_, key, family, Need::value,
                        [](Txn&, const StoredEntry&) { return true; });
}

Result<std::vector<std::optional<std::string>>> Store::get_many(
    std::span<const std::string_view> keys, Family family) const {
  using Values = std::vector<std::optional<std::string>>;
  return read_once<Values>(*state_, [&](Txn& txn) -> Result<Values> {
    FamilyView* const view = txn.view(family);
    if (view == nullptr) return txn.missing_family();
    Values values;
    values.reserve(keys.size());
    for (const std::string_view key : keys) {
      if (!internal::good_key(key)) return internal::bad_key(key);
      const auto found = txn.find(*view, key, Need::value);
      if (!found) return found.error();
      if (*found) count_get(txn, **found);
      values.push_back(*found ? std::optional<std::string>((*found)->value) : std::nullopt);
    }
    return values;
  });
}

Status Store::put(std::string_view key, std::string_view value, const Expiry& expiry,
                  Family family) {
  return write_once(*this, [&](WriteTxn& txn) {
    txn.put(key, value, expiry, family);
    return Done{};
  });
}

Result<bool> Store::put_if_absent(std::string_view key, std::string_view value,
                                  const Expiry& expiry, Family family) {
  return write_once(*this,
                    [&](WriteTxn& txn) { return txn.put_if_absent(key, value, expiry, family); });
}

Result<bool> Store::compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                    std::string_view desired, const Expiry& expiry, Family family) {
  return write_once(*this, [&](WriteTxn& txn) {
    return txn.compare_and_set(key, expected, desired, expiry, family);
  });
}

Result<std::int64_t> Store::increment(std::string_view key, std::int64_t delta,
                                      const Expiry& expiry, Family family) {
  return write_once(*this,
                    [&](WriteTxn& txn) { return txn.increment(key, delta, expiry, family); });
}

Result<bool> Store::erase(std::string_view key, Family family) {
  return write_once(*this, [&](WriteTxn& txn) { return txn.erase(key, family); });
}

Result<std::size_t> Store::erase_many(std::span<const std::string_view> keys, Family family) {
  return write_once(*this, [&](WriteTxn& txn) { return txn.erase_many(keys, family); });
}

Result<bool> Store::expire(std::string_view key, const Expiry& expiry, When when, Family family) {
  return write_once(*this, [&](WriteTxn& txn) { return txn.expire(key, expiry, when, family); });
}

Result<bool> Store::persist(std::string_view key, Family family) {
  return write_once(*this, [&](WriteTxn& txn) { return txn.persist(key, family); });
}

Result<bool> Store::touch(std::string_view key, const Expiry& expiry, Family family) {
  return write_once(*this, [&](WriteTxn& txn) { return txn.touch(key, expiry, family); });
}

Status Store::clear(Family family) {
  return write_once(*this, [&](WriteTxn& txn) {
    txn.clear(family);
    return Done{};
  });
}

Result<Cursor> Store::cursor(CursorOptions options, Family family) const {
  if (state_->environment == nullptr) return closed_error();
  auto txn = Txn::begin_read(state_->owner());
  if (!txn) return txn.error();
  Txn& inside = **txn;
  return Cursor::State::open(inside, std::move(*txn), std::move(options), family);
}

Result<std::vector<Expiring>> Store::expiring(Time from, Time to, std::size_t limit,
                                              Family family) const {
  return read_more(*this, [&](ReadTxn& txn) { return txn.expiring(from, to, limit, family); });
}

Result<Time> Store::next_deadline(Family family) const {
  return read_more(*this, [&](ReadTxn& txn) { return txn.next_deadline(family); });
}

Result<FamilyCounts> Store::count(Family family) const {
  return read_more(*this, [&](ReadTxn& txn) { return txn.count(family); });
}

Result<TtlHistogram> Store::ttl_histogram(TtlHistogramOptions options, Family family) const {
  return read_more(*this, [&](ReadTxn& txn) { return txn.ttl_histogram(options, family); });
}

Result<TtlHistogram> Store::ttl_histogram_all(TtlHistogramOptions options) const {
  return read_more(*this, [&](ReadTxn& txn) { return txn.ttl_histogram_all(options); });
}

Result<Family> Store::family(std::string_view name) const {
  return read_more(*this, [&](ReadTxn& txn) { return txn.family(name); });
}

Result<std::vector<std::string>> Store::families() const {
  return read_more(
      *this, [&](ReadTxn& txn) -> Result<std::vector<std::string>> { return txn.families(); });
}

Result<std::optional<Millis>> Store::default_ttl(Family family) const {
  return read_more(*this, [&](ReadTxn& txn) { return txn.default_ttl(family); });
}

Result<Family> Store::create_family(std::string_view name) {
  return change_once(*this, [&](WriteTxn& txn) { return txn.create_family(name); });
}

Result<Family> Store::open_family(std::string_view name) {
  if (auto found = family(name); found.ok() || state_->options.read_only) return found;
  return change_once(*this, [&](WriteTxn& txn) {
    auto found = txn.family(name);  // another process may have been faster
    return found.ok() ? found : txn.create_family(name);
  });
}

Status Store::drop_family(std::string_view name) {
  return change_once(*this, [&](WriteTxn& txn) { return txn.drop_family(name); });
}

Status Store::set_default_ttl(std::optional<Millis> ttl, Family family) {
  return change_once(*this, [&](WriteTxn& txn) { return txn.set_default_ttl(ttl, family); });
}

}  // namespace mayfly
