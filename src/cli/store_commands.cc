// SPDX-License-Identifier: Apache-2.0
#include "cli/store_commands.h"

namespace mayfly {

void add_store_commands(Program& program) {
  const auto file = std::make_shared<StoreFile>();
  file->add_to_program(program.app());
  add_key_commands(program, file);
}

}  // namespace mayfly
