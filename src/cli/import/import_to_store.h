// SPDX-License-Identifier: Apache-2.0
// StoreTarget: keys of a server into a store, laid out as import_layout.h says.

#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/import/import_copy.h"
#include "mayfly/store.h"

namespace mayfly {

class StoreTarget final : public CopyTarget {
 public:
  // `family`: as --cf says it. Families are made when the first key comes that needs them.
  // `keeps`: a key that is there already is left alone; otherwise it is replaced as a whole,
  // whatever type it had.
  StoreTarget(Store& store, std::string path, std::string family, bool keeps);

  std::string name() const override { return path_; }
  Result<std::string> mark() override;
  Result<std::string> loss_since(std::string_view mark) override;
  Status write(std::vector<CopyItem>& items, CopyCounts& counts) override;
  Status settle() override { return store_.sync(); }

 private:
  Status make_families(const std::vector<CopyItem>& items);
  bool holds(const WriteTxn& txn, const std::string& key) const;
  void erase(WriteTxn& txn, const std::string& key) const;
  void put(WriteTxn& txn, const CopyItem& item) const;
  std::vector<std::string> member_keys(const WriteTxn& txn, const std::string& key, Family family,
                                       std::size_t limit) const;

  Store& store_;
  const std::string path_;
  const std::string family_;
  const bool keeps_;
  std::array<std::optional<Family>, kCopyTypes.size()> families_;  // those that are there
};

}  // namespace mayfly
