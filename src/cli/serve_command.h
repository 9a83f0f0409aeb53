// SPDX-License-Identifier: Apache-2.0
// `mayfly serve`: starts a server.

#pragma once

#include "cli/program.h"

namespace mayfly {

void add_serve_command(Program& program);

}  // namespace mayfly
