// SPDX-License-Identifier: Apache-2.0
// StoreSource and StoreTarget: a store as the source or the target of a copy. import_item.h has the
// layout.

#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/import/import_copy.h"
#include "cli/import/import_marks.h"
#include "mayfly/store.h"

namespace mayfly {

// The keys of a store as a server has them. If all members of a key have the same deadline, it
// becomes the deadline of the key.
class StoreSource final : public CopySource {
 public:
  struct Choice {
    std::string family;  // the value of --cf
    std::string match;   // a pattern of keys; empty: all
    std::size_t batch = 1000;
  };

  // Code::not_found if the family does not exist. `store` must outlive it.
  static Result<StoreSource> open(const Store& store, const std::string& path, Choice choice);

  std::string name() const override { return path_; }

  // Places are keys: valid as long as it is the same store with the same families.
  std::string identity() const override { return mark_.text(); }
  std::string change_since(std::string_view identity) const override {
    return mark_.change_since(StoreMark::parse(identity));
  }
  Result<double> total() override;
  Result<std::vector<CopyItem>> read(CopyCounts& counts) override;
  std::string place() const override;
  bool is_in_batch() const override { return false; }
  Status go_to(std::string_view place) override;
  bool is_at_end() const override { return type_ == kCopyTypes.size(); }

 private:
  StoreSource(const Store& store, std::string path, Choice choice)
      : store_(store), path_(std::move(path)), choice_(std::move(choice)) {}

  bool matches(std::string_view key) const;
  void read_strings(Cursor& cursor, std::vector<CopyItem>& items, CopyCounts& counts);
  void read_members(Cursor& cursor, std::vector<CopyItem>& items, CopyCounts& counts);
  bool is_enough(std::uint64_t entries) { return entries >= choice_.batch || bytes_ > kBytesMost; }
  void next_family();

  static constexpr std::size_t kBytesMost = std::size_t{16} << 20;

  const Store& store_;
  const std::string path_;
  const Choice choice_;
  StoreMark mark_;
  std::array<std::optional<Family>, kCopyTypes.size()> families_;
  std::size_t type_ = 0;   // the family being read
  std::string next_;       // keys before this one were read
  std::size_t bytes_ = 0;  // of the items being read
};

class StoreTarget final : public CopyTarget {
 public:
  // `family`: the value of --cf. Families are created when the first key needs them. `keeps`:
  // existing keys stay; otherwise they are replaced as a whole, whatever their type.
  StoreTarget(Store& store, std::string path, std::string family, bool keeps);

  std::string name() const override { return path_; }
  Result<std::string> mark() override;
  Result<std::string> loss_since(std::string_view mark) override;
  Status write(std::vector<CopyItem>& items, CopyCounts& counts) override;
  Status sync() override { return store_.sync(); }

 private:
  Status make_families(const std::vector<CopyItem>& items);
  bool holds(const WriteTxn& txn, const std::string& key) const;
  void erase(WriteTxn& txn, const std::string& key) const;
  void put(WriteTxn& txn, const CopyItem& item) const;

  Store& store_;
  const std::string path_;
  const std::string family_;
  const bool keeps_;
  std::array<std::optional<Family>, kCopyTypes.size()> families_;  // those that exist
};

}  // namespace mayfly
