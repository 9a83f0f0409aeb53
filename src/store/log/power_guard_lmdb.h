// SPDX-License-Identifier: Apache-2.0
// What the parts of PowerGuard share: names, locks, and a look into LMDB's table of free pages.

#pragma once

#include <lmdb.h>

#include <cstdint>
#include <functional>
#include <string>

#include "mayfly/result.h"
#include "store/log/power_guard.h"

namespace mayfly {

// Bytes of the store's file that serve as locks; far beyond any page.
inline constexpr std::uint64_t kPeriodByte = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kCheckpointByte = kPeriodByte + 1;
inline constexpr std::uint64_t kLogByte = kPeriodByte + 2;

std::string undo_path_of(const std::string& store_path);

// What the options say, or else the kernel.
Result<std::string> boot_id_of(const PowerGuardOptions& options);

// Calls `visit` with each page that is free in the view of `reader` and was freed by one of the
// transactions from `first` to `last`.
Status for_each_freed(MDB_txn* reader, std::uint64_t first, std::uint64_t last,
                      const std::function<void(std::uint64_t page)>& visit);

}  // namespace mayfly
