// SPDX-License-Identifier: Apache-2.0
// The commands that talk to running servers.

#pragma once

#include "cli/program.h"
#include "cli/store/store_file.h"

namespace mayfly {

void add_server_commands(Program& program, StoreFile* file);

void add_import_command(Program& program, StoreFile* file);     // import_command.cc
void add_export_command(Program& program, StoreFile* file);     // export_command.cc
void add_top_command(Program& program, const StoreFile* file);  // top_command.cc

}  // namespace mayfly
