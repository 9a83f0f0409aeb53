// SPDX-License-Identifier: Apache-2.0
// NameList: copies of many names, one behind the other in two allocations. For names of members
// that are needed while their key changes.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

class NameList {
 public:
  void add(std::string_view name) {
    bytes_.append(name);
    sizes_.push_back(name.size());
  }

  std::size_t size() const { return sizes_.size(); }
  bool is_empty() const { return sizes_.empty(); }

  // Calls `visit(name)` for each, in the order in which they came. Views are valid until add().
  template <class Visit>
  void each(Visit visit) const {
    std::string_view left = bytes_;
    for (const std::size_t size : sizes_) {
      visit(left.substr(0, size));
      left.remove_prefix(size);
    }
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> sizes_;
};

}  // namespace mayfly
