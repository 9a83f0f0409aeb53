// SPDX-License-Identifier: Apache-2.0
// Compares the redo log with the memory tables of a snapshot. For Store::check().

#pragma once

#include "store/api/state.h"

namespace mayfly {

Status check_log(Txn& txn, CheckReport& report);

}  // namespace mayfly
