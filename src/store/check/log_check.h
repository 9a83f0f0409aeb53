// SPDX-License-Identifier: Apache-2.0
// Compares the redo log with the memory tables of a snapshot. For Store::check(). False: the log
// was reused meanwhile, so that nothing can be said.

#pragma once

#include "store/api/state.h"

namespace mayfly {

Result<bool> check_log(Txn& txn, CheckReport& report);

}  // namespace mayfly
