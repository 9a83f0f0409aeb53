// SPDX-License-Identifier: Apache-2.0
// Checks one tree of an LMDB file: its pages, the order of its keys and the counts of its record.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "store/check/page_check_ledger.h"
#include "store/lmdb/page_format.h"

namespace mayfly {

// The free tree has integer keys, ordered by number; the others have keys ordered as bytes. Only
// the main tree may hold the records of other trees.
enum class TreeKind { free, main, named };

// An entry that the check has to look into: all of the free tree, and the trees in the main tree.
// Its views point into the file. `value` is as long as its node says, and within its pages.
struct TreeEntry {
  std::uint64_t page;  // of the leaf
  std::string_view key;
  Bytes value;
};

// Claims the pages of the tree `record` in the ledger and tells it what is wrong. `name` is for
// the messages. Returns the entries to look into that are sound themselves.
// Cost: O(its pages), with a stack of at most kTreeDepthMax frames.
std::vector<TreeEntry> check_tree(PageLedger& ledger, TreeKind kind, std::string_view name,
                                  const TreeRecord& record);

}  // namespace mayfly
