// SPDX-License-Identifier: Apache-2.0
// Whether a node that starts may use the register that it finds: it must be the one that its file
// names, with no lower version, or one that was accepted since by `mayfly cluster accept`.

#pragma once

#include "cluster/register.h"
#include "mayfly/result.h"
#include "server/cluster/node/node_file.h"

namespace mayfly {

// The file as it has to be from now on, or why the register is not usable.
Result<NodeFile> check_register(const NodeFile& file, const RegisterSnapshot& snapshot);

}  // namespace mayfly
