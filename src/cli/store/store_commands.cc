// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_commands.h"

namespace mayfly {

void add_store_commands(Program& program, StoreFile* file) {
  add_key_commands(program, file);
  add_expiry_commands(program, file);
  add_scan_commands(program, file);
  add_family_commands(program, file);
  add_upkeep_commands(program, file);
  add_dump_command(program, file);
  add_load_command(program, file);
  add_txn_command(program, file);
  add_shell_command(program, file);
}

CliOption add_word(CliCommand command, const char* name, std::string& word, const char* type,
                   const char* what) {
  return command.add_option(name, word, what).type_name(type).check([](const std::string& text) {
    return text.empty() ? "the value is empty" : "";
  });
}

}  // namespace mayfly
