// SPDX-License-Identifier: Apache-2.0
// A Child that is a process: fork(), and a page of memory that both can see.

#pragma once

#include <memory>
#include <vector>

#include "server/persistence/child.h"

namespace mayfly {

// Starts it. Of our descriptors it keeps only these: others would keep connections alive and ports
// taken. Errors say why there is no process.
Result<std::unique_ptr<Child>> fork_child(const ChildWork& work, std::vector<int> kept);

}  // namespace mayfly
