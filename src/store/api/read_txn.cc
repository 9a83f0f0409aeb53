// SPDX-License-Identifier: Apache-2.0
// ReadTxn: the reading half of store_txn.h.

#include <algorithm>
#include <utility>

#include "mayfly/store_txn.h"
#include "store/api/state.h"
#include "store/txn/expiry_walk.h"

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
  const auto entry = txn.find(*view, key, need);
  if (!entry) return entry.error();
  if (!*entry) return std::optional<Value>();
  return std::optional<Value>(make(**entry));
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

Result<TtlHistogram> ReadTxn::ttl_histogram(TtlHistogramOptions options, Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  return txn_->ttl_histogram(*view, options.bytes);
}

Result<TtlHistogram> ReadTxn::ttl_histogram_all(TtlHistogramOptions options) const {
  TtlHistogram sum;
  for (const Family family : all_families()) {
    const auto part = ttl_histogram(options, family);
    if (!part) return part;
    sum += *part;
  }
  return sum;
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

Result<std::vector<Expiring>> ReadTxn::expiring(Time from, Time to, std::size_t limit,
                                                Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  std::vector<Expiring> result;
  if (limit == 0) return result;
  internal::ExpiryWalk walk(*txn_, *view, to);
  const Time after_now = deadline_after(now(), Millis(1));  // what is due is gone
  walk.seek(std::max(from, after_now));
  for (; walk.valid() && result.size() < limit; walk.next()) {
    result.push_back({std::string(walk.key()), walk.deadline()});
  }
  if (!walk.status()) return walk.status().error();
  walk.remember_front();
  return result;
}

Result<Time> ReadTxn::next_deadline(Family family) const {
  FamilyView* const view = txn_->view(family);
  if (view == nullptr) return txn_->missing_family();
  internal::ExpiryWalk walk(*txn_, *view);
  walk.seek(Time::min());
  if (!walk.status()) return walk.status().error();
  return walk.valid() ? walk.deadline() : kNever;
}

}  // namespace mayfly
