// SPDX-License-Identifier: Apache-2.0
// Questions about a file that are asked without LMDB, which would die of a wrong answer.

#pragma once

#include <cstdint>
#include <string>

#include "mayfly/result.h"
#include "store/check/page_check.h"

namespace mayfly {

// Whether LMDB can open the file at all: it is empty, or it begins as a file of LMDB does, is as
// long as it says, and has a sound main tree, which names the tables. Damage further down is what
// Store::check() finds. Cost: a few pages; all pages, if the file seems cut off.
Status check_before_open(const std::string& path);

// check_pages() of the file, of the snapshot `txnid`.
Result<PageCheck> check_file(const std::string& path, std::uint64_t txnid);

}  // namespace mayfly
