// SPDX-License-Identifier: Apache-2.0
// The commands on a store in a file: put, get and the rest. No server takes part.

#pragma once

#include <string_view>

#include "cli/program.h"
#include "cli/store_file.h"

namespace mayfly {

// `file` holds the words that they share.
void add_store_commands(Program& program, StoreFile* file);

// Groups of them, each in the file of its name.
void add_key_commands(Program& program, StoreFile* file);      // store_keys.cc
void add_expiry_commands(Program& program, StoreFile* file);   // store_expiry.cc
void add_expiring_command(Program& program, StoreFile* file);  // store_expiring.cc
void add_scan_commands(Program& program, StoreFile* file);     // store_scan.cc
void add_family_commands(Program& program, StoreFile* file);   // store_families.cc
void add_upkeep_commands(Program& program, StoreFile* file);   // store_upkeep.cc
void add_dump_command(Program& program, StoreFile* file);      // store_dump.cc
void add_load_command(Program& program, StoreFile* file);      // store_load.cc
void add_txn_command(Program& program, StoreFile* file);       // store_txn.cc
void add_shell_command(Program& program, StoreFile* file);     // store_shell.cc

// An option whose value must not be empty: --ttl "$TTL" must not make what lives for ever only
// because nobody has set TTL. Returns the option.
CliOption add_word(CliCommand command, const char* name, std::string& word, const char* type,
                   const char* what);

// Says that there is no such key, which is an answer and no error.
Exit not_found(std::string_view key, const StoreFile& file);

}  // namespace mayfly
