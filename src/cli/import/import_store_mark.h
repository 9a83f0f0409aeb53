// SPDX-License-Identifier: Apache-2.0
// StoreMark: how `mayfly import` and `mayfly export` know a store again when they go on.
//
// A store has a random number from the day it was made, which copies of the file share, and numbers
// its transactions: so one that was made anew, and an older copy that was put in its place, differ
// from what they replaced. Families have numbers, too, that are not used again.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/import/import_item.h"
#include "mayfly/result.h"
#include "mayfly/store.h"

namespace mayfly {

struct StoreMark {
  struct FamilyMark {
    std::uint32_t id = 0;    // 0: the store has no such family
    std::uint64_t rows = 0;  // entries, with those that have expired and are still in the file
  };

  std::uint64_t seed = 0;
  std::uint64_t transaction = 0;  // the last one
  std::array<FamilyMark, kCopyTypes.size()> families;

  // `family` is what --cf says. Cost: O(1), however large the store is.
  static Result<StoreMark> of(const Store& store, std::string_view family);

  // On one line, for the state file. What is no such line is a mark of an unknown store.
  std::string text() const;
  static StoreMark parse(std::string_view text);

  // Why it is not the store that it was, as the end of a sentence; empty: it is. `before` is the
  // mark that the state file has.
  std::string change_since(const StoreMark& before) const;

  // The same of one that was written to: entries must not have become fewer.
  std::string loss_since(const StoreMark& before) const;
};

}  // namespace mayfly
