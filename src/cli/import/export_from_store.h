// SPDX-License-Identifier: Apache-2.0
// StoreSource: the keys of a store, laid out as import_layout.h says, as a server would have them.
//
// If all members of a key have the same deadline, it is taken to be the key's. Else they keep their
// own.

#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/import/import_copy.h"
#include "cli/import/import_store_mark.h"
#include "mayfly/store.h"

namespace mayfly {

class StoreSource final : public CopySource {
 public:
  struct Choice {
    std::string family;  // as --cf says it
    std::string match;   // a pattern of keys; empty: all
    std::size_t batch = 1000;
  };

  // Code::not_found if there is no such family. `store` must outlive it.
  static Result<StoreSource> open(const Store& store, const std::string& path, Choice choice);

  std::string name() const override { return path_; }

  // Places are keys, and stay good as long as it is the same store with the same families.
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
  std::size_t type_ = 0;   // the family that is being read
  std::string next_;       // what is before this key in it has been read
  std::size_t bytes_ = 0;  // of the items that are being read
};

}  // namespace mayfly
