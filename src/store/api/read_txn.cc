// SPDX-License-Identifier: Apache-2.0
// ReadTxn: the reading half of store_txn.h.

#include <algorithm>
#include <utility>

#include "mayfly/store_txn.h"
#include "store/api/state.h"

namespace mayfly {

ReadTxn::ReadTxn(std::unique_ptr<Txn> txn) : txn_(std::move(txn)) {}
ReadTxn::ReadTxn(ReadTxn&&) noexcept = default;
ReadTxn& ReadTxn::operator=(ReadTxn&&) noexcept = default;
ReadTxn::~ReadTxn() = default;

Time ReadTxn::now() const { return txn_->now(); }

namespace {

// Looks `key` up and lets `make` turn the entry into the result.
template <class Value, class Make>
Result<std::optional<Value>> look_up(Txn& txn, std::string_view key, Family family, Need need,
                                     Make make) {
  if (!internal::good_key(key)) return internal::bad_key(key);
  FamilyView* const view = txn.view(family);
  if (view == nullptr) return txn.missing_family();
  const auto entry = txn.find(*view, StoredKey(key, txn.catalog().hash_seed()), need);
  if (!entry) return entry.error();
  if (!*entry) return std::optional<Value>();
  return std::optional<Value>(make(**entry));
}

// The key that a user knows, of one that is stored as `stored`.
Result<std::string> full_key(Txn& txn, FamilyView& view, std::string_view stored) {
  if (!internal::is_long(stored)) return std::string(stored);
  const auto row = internal::get_row(txn.lmdb(), view.data, stored);
  if (!row) return row.error();
  const auto split = internal::split_long_value(row->value_or(std::string_view()));
  if (!split.ok) return internal::damaged_rows();
  return std::string(split.parts.key);
}

}  // namespace

Result<std::optional<std::string_view>> ReadTxn::get(std::string_view key, Family family) const {
  return look_up<std::string_view>(*txn_, key, family, Need::value,
                                   [this](const StoredEntry& found) {
                                     txn_->tally().add(Count::gets);
                                     txn_->tally().add(Count::bytes_read, found.value.size());
                                     return found.value;
                                   });
}

Result<std::optional<Entry>> ReadTxn::get_entry(std::string_view key, Family family) const {
  return look_up<Entry>(*txn_, key, family, Need::deadline, [this](const StoredEntry& found) {
    txn_->tally().add(Count::gets);
    txn_->tally().add(Count::bytes_read, found.value.size());
    Entry entry{found.value, found.deadline};
    if (found.deadline != kNever) entry.ttl = remaining(found.deadline, txn_->now());
    return entry;
  });
}

Result<std::optional<Time>> ReadTxn::deadline(std::string_view key, Family family) const {
  return look_up<Time>(*txn_, key, family, Need::deadline,
                       [](const StoredEntry& found) { return found.deadline; });
}

Result<bool> ReadTxn::contains(std::string_view key, Family family) const {
  const auto found =
      look_up<bool>(*txn_, key, family, Need::value, [](const StoredEntry&) { return true; });
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
  return txn_->count(*view);
}

Result<Family> ReadTxn::family(std::string_view name) const {
  if (const auto found = txn_->catalog().find(name)) return *found;
  std::string message = "no such family: '";
  message.append(name).append("'");
  return Error{Code::not_found, message};
}

std::vector<std::string> ReadTxn::families() const {
  const internal::Catalog& catalog = txn_->catalog();
  std::vector<std::string> names;
  for (const Family family : catalog.families()) {
    if (family != Family()) names.push_back(catalog.find(family)->name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<Family> ReadTxn::all_families() const { return txn_->catalog().families(); }

Result<std::optional<Millis>> ReadTxn::default_ttl(Family family) const {
  const internal::FamilyRecord* const record = txn_->catalog().find(family);
  if (record == nullptr) return txn_->missing_family();
  if (record->default_ttl == Millis::max()) return std::optional<Millis>();
  return std::optional<Millis>(record->default_ttl);
}

// The expiry index is in the order of deadlines.
Result<std::vector<Expiring>> ReadTxn::expiring(Time from, Time to, std::size_t limit,
                                                Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  std::vector<Expiring> result;
  if (!view->has_ttl || limit == 0) return result;
  internal::TableCursor cursor;
  if (const Status opened = cursor.open(txn_->lmdb(), view->deadlines); !opened) {
    return opened.error();
  }
  const Time after_now = deadline_after(now(), Millis(1));  // what is due is gone
  const auto start = internal::encode_deadline(std::max(from, after_now));
  bool there = cursor.move(MDB_SET_RANGE, start.view());
  for (; there && result.size() < limit; there = cursor.move(MDB_NEXT)) {
    const Time deadline = internal::decode_deadline(cursor.key());
    if (deadline >= to) break;
    auto key = full_key(*txn_, *view, cursor.key().substr(internal::kDeadlineBytes));
    if (!key) return key.error();
    result.push_back({std::move(*key), deadline});
  }
  if (!cursor.status()) return cursor.status().error();
  return result;
}

Result<Time> ReadTxn::next_deadline(Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  if (!view->has_ttl) return kNever;
  internal::TableCursor cursor;
  if (const Status opened = cursor.open(txn_->lmdb(), view->deadlines); !opened) {
    return opened.error();
  }
  if (cursor.move(MDB_FIRST)) return internal::decode_deadline(cursor.key());
  if (!cursor.status()) return cursor.status().error();
  return kNever;
}

}  // namespace mayfly
