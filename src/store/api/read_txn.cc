// SPDX-License-Identifier: Apache-2.0
// ReadTxn: the reading half of store_txn.h.

#include <algorithm>
#include <utility>

#include "mayfly/store_txn.h"
#include "store/api/arguments.h"
#include "store/api/cursor_state.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/txn.h"

namespace mayfly {

ReadTxn::ReadTxn(std::unique_ptr<Txn> txn) : txn_(std::move(txn)) {}
ReadTxn::ReadTxn(ReadTxn&&) noexcept = default;
ReadTxn& ReadTxn::operator=(ReadTxn&&) noexcept = default;
ReadTxn::~ReadTxn() = default;

Time ReadTxn::now() const { return txn_->now(); }

namespace {

// Looks `key` up and lets `make` turn what it found into the result.
template <class Value, class Make>
Result<std::optional<Value>> look_up(Txn& txn, std::string_view key, Family family, Want want,
                                     Make make) {
  if (!good_key(key)) return bad_key(key);
  FamilyView* const view = txn.view(family);
  if (view == nullptr) return txn.missing_family();
  const StoredKey stored(key, txn.catalog().hash_seed());
  Found found;
  const int code = txn.find(*view, stored, found, want);
  if (code == 0) return std::optional<Value>(make(found));
  if (code == MDB_NOTFOUND) return std::optional<Value>();
  return lmdb_error(code, "read a key");
}

}  // namespace

Result<std::optional<std::string_view>> ReadTxn::get(std::string_view key, Family family) const {
  return look_up<std::string_view>(*txn_, key, family, Want::value, [this](const Found& found) {
    txn_->tally().add(Count::gets);
    txn_->tally().add(Count::bytes_read, found.value.size());
    return found.value;
  });
}

Result<std::optional<Entry>> ReadTxn::get_entry(std::string_view key, Family family) const {
  return look_up<Entry>(*txn_, key, family, Want::deadline, [this](const Found& found) {
    txn_->tally().add(Count::gets);
    txn_->tally().add(Count::bytes_read, found.value.size());
    Entry entry{found.value, found.deadline};
    if (found.deadline != kNever) entry.ttl = remaining(found.deadline, txn_->now());
    return entry;
  });
}

Result<std::optional<Time>> ReadTxn::deadline(std::string_view key, Family family) const {
  return look_up<Time>(*txn_, key, family, Want::deadline,
                       [](const Found& found) { return found.deadline; });
}

Result<bool> ReadTxn::contains(std::string_view key, Family family) const {
  const auto found =
      look_up<bool>(*txn_, key, family, Want::value, [](const Found&) { return true; });
  if (!found) return found.error();
  return found->has_value();
}

Result<std::vector<std::optional<std::string_view>>> ReadTxn::get_many(
    std::span<const std::string_view> keys, Family family) const {
  std::vector<std::optional<std::string_view>> values;
  values.reserve(keys.size());
  for (const std::string_view key : keys) {
    auto value = get(key, family);
    if (!value) return value.error();
    values.push_back(*value);
  }
  return values;
}

Result<Cursor> ReadTxn::cursor(CursorOptions options, Family family) const {
  return Cursor::State::open(*txn_, nullptr, std::move(options), family);
}

Result<FamilyCounts> ReadTxn::count(Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  FamilyCounts counts;
  const int code = txn_->count(*view, counts);
  if (code != 0) return lmdb_error(code, "count");
  return counts;
}

Result<Family> ReadTxn::family(std::string_view name) const {
  if (const auto found = txn_->catalog().find(name)) return *found;
  std::string message = "there is no family '";
  message.append(name).append("' in the store");
  return Error{Code::not_found, message};
}

std::vector<std::string> ReadTxn::families() const {
  const Catalog& catalog = txn_->catalog();
  std::vector<std::string> names;
  for (const Family family : catalog.families()) {
    if (family != Family()) names.push_back(catalog.find(family)->name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<Family> ReadTxn::all_families() const { return txn_->catalog().families(); }

Result<std::optional<Millis>> ReadTxn::default_ttl(Family family) const {
  const FamilyRecord* const record = txn_->catalog().find(family);
  if (record == nullptr) return txn_->missing_family();
  if (record->default_ttl == Millis::max()) return std::optional<Millis>();
  return std::optional<Millis>(record->default_ttl);
}

}  // namespace mayfly
