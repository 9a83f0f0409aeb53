// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_to_store.h"

#include <algorithm>
#include <utility>

#include "cli/import/import_layout.h"
#include "cli/import/import_store_mark.h"

namespace mayfly {
namespace {

std::size_t index_of(CopyType type) { return static_cast<std::size_t>(type); }

bool fits(const CopyItem& item) {
  if (item.type == CopyType::string) return !item.key.empty() && item.key.size() <= kStoreKeyMax;
  std::size_t longest = item.type == CopyType::list ? kIndexBytes : 0;
  for (const CopyMember& member : item.members) longest = std::max(longest, member.name.size());
  return kLengthBytes + item.key.size() + longest <= kStoreKeyMax;
}

}  // namespace

StoreTarget::StoreTarget(Store& store, std::string path, std::string family, bool keeps)
    : store_(store), path_(std::move(path)), family_(std::move(family)), keeps_(keeps) {
  for (std::size_t i = 0; i < kCopyTypes.size(); ++i) {
    const std::string name = family_name(family_, static_cast<CopyType>(i));
    const Result<Family> found = name == "default" ? Family() : store_.family(name);
    if (found) families_[i] = *found;
  }
}

Result<std::string> StoreTarget::mark() {
  const Result<StoreMark> now = StoreMark::of(store_, family_);
  if (!now) return now.error();
  return now->text();
}

Result<std::string> StoreTarget::loss_since(std::string_view mark) {
  const Result<StoreMark> now = StoreMark::of(store_, family_);
  if (!now) return now.error();
  return now->loss_since(StoreMark::parse(mark));
}

Status StoreTarget::make_families(const std::vector<CopyItem>& items) {
  for (const CopyItem& item : items) {
    std::optional<Family>& family = families_[index_of(item.type)];
    if (family) continue;
    const Result<Family> made = store_.open_family(family_name(family_, item.type));
    if (!made) return made.error();
    family = *made;
  }
  return Done{};
}

Status StoreTarget::write(std::vector<CopyItem>& items, CopyCounts& counts) {
  if (items.empty()) return Done{};
  if (const Status status = make_families(items); !status) return status;
  Result<WriteTxn> txn = store_.write();
  if (!txn) return txn.error();
  for (CopyItem& item : items) {
    if (!drop_due(item, txn->now())) {
      ++counts.gone;
    } else if (!fits(item)) {
      counts.skip("a key or member that is too long for a store, or empty", item.key);
    } else if (keeps_ && holds(*txn, item.key)) {
      ++counts.kept;
    } else {
      if (!keeps_) erase(*txn, item.key);
      put(*txn, item);
      counts.copied(item);
    }
  }
  return txn->commit();
}

std::vector<std::string> StoreTarget::member_keys(const WriteTxn& txn, const std::string& key,
                                                  Family family, std::size_t limit) const {
  std::vector<std::string> keys;
  Result<Cursor> cursor = txn.cursor({.prefix = member_prefix(key)}, family);
  if (!cursor) return keys;
  for (bool on = cursor->first(); on && keys.size() < limit; on = cursor->next()) {
    keys.emplace_back(cursor->key());
  }
  return keys;
}

bool StoreTarget::holds(const WriteTxn& txn, const std::string& key) const {
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (!families_[i]) continue;
    if (i == index_of(CopyType::string)) {
      const Result<bool> found = txn.contains(key, *families_[i]);
      if (found && *found) return true;
    } else if (!member_keys(txn, key, *families_[i], 1).empty()) {
      return true;
    }
  }
  return false;
}

void StoreTarget::erase(WriteTxn& txn, const std::string& key) const {
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (!families_[i]) continue;
    if (i == index_of(CopyType::string)) {
      txn.erase(key, *families_[i]);
      continue;
    }
    for (const std::string& old : member_keys(txn, key, *families_[i], SIZE_MAX)) {
      txn.erase(old, *families_[i]);
    }
  }
}

void StoreTarget::put(WriteTxn& txn, const CopyItem& item) const {
  const Family family = *families_[index_of(item.type)];
  if (item.type == CopyType::string) {
    return txn.put(item.key, item.value, Expiry(item.deadline), family);
  }
  std::string key = member_prefix(item.key);
  const std::size_t prefix = key.size();
  std::uint64_t index = 0;
  for (const CopyMember& member : item.members) {
    key.resize(prefix);
    key += item.type == CopyType::list ? big_endian(index++, kIndexBytes) : member.name;
    txn.put(key, member.value, Expiry(std::min(member.deadline, item.deadline)), family);
  }
}

}  // namespace mayfly
