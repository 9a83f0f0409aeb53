// SPDX-License-Identifier: Apache-2.0
#include "cli/server_commands.h"

namespace mayfly {

void add_server_commands(Program& program, StoreFile* file) {
  add_import_command(program, file);
  add_export_command(program, file);
  add_top_command(program, file);
}

}  // namespace mayfly
