// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_store_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/import/import_layout.h"
#include "store/lmdb/lmdb.h"
#include "store/txn/catalog.h"
#include "store/txn/txn.h"

namespace mayfly {
namespace {

// The public interface has no use for the catalog of a store; this one has.
class Inside : public ReadTxn {
 public:
  static internal::Txn& of(const ReadTxn& txn) { return *(txn.*&Inside::txn_); }
};

// Takes a number and the separator behind it off the text. What is no number is 0.
template <class Number>
Number take_number(std::string_view& text, int base = 10) {
  Number number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number, base).ptr;
  const std::size_t length = static_cast<std::size_t>(end - text.data());
  text.remove_prefix(std::min(text.size(), length + 1));
  return number;
}

}  // namespace

Result<StoreMark> StoreMark::of(const Store& store, std::string_view family) {
  const Result<ReadTxn> read = store.read();
  if (!read) return read.error();
  internal::Txn& txn = Inside::of(*read);
  StoreMark mark;
  mark.seed = txn.catalog().hash_seed();
  mark.transaction = ::mdb_txn_id(txn.lmdb());
  for (std::size_t i = 0; i < kCopyTypes.size(); ++i) {
    const std::string name = family_name(family, static_cast<CopyType>(i));
    const std::optional<Family> found = txn.catalog().find(name);
    if (!found) continue;
    const internal::FamilyView* const view = txn.view(*found);
    if (view == nullptr) return txn.missing_family();
    const auto stat = internal::table_stat(txn.lmdb(), view->data);
    if (!stat) return stat.error();
    mark.families[i] = {internal::Catalog::id_of(*found), stat->ms_entries};
  }
  return mark;
}

std::string StoreMark::text() const {
  std::string text = fmt::format("{:016x} {}", seed, transaction);
  for (const FamilyMark& family : families) text += fmt::format(" {}:{}", family.id, family.rows);
  return text;
}

StoreMark StoreMark::parse(std::string_view text) {
  StoreMark mark;
  mark.seed = take_number<std::uint64_t>(text, 16);
  mark.transaction = take_number<std::uint64_t>(text);
  for (FamilyMark& family : mark.families) {
    family.id = take_number<std::uint32_t>(text);
    family.rows = take_number<std::uint64_t>(text);
  }
  return mark;
}

std::string StoreMark::change_since(const StoreMark& before) const {
  if (seed != before.seed) return "is not the store that it was at the interruption";
  if (transaction < before.transaction) {
    return "is older than it was at the interruption, or has been compacted";
  }
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (before.families[i].id == 0 || before.families[i].id == families[i].id) continue;
    return fmt::format("has lost its family of type {} since the interruption", kCopyTypes[i]);
  }
  return "";
}

std::string StoreMark::loss_since(const StoreMark& before) const {
  if (std::string change = change_since(before); !change.empty()) return change;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const std::uint64_t had = before.families[i].rows;
    const std::uint64_t has = families[i].rows;
    if (has >= had) continue;
    return fmt::format("had {} entries of type {}, and has {} now", had, kCopyTypes[i], has);
  }
  return "";
}

}  // namespace mayfly
