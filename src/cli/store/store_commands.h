// SPDX-License-Identifier: Apache-2.0
// The commands on a store in a file: put, get and the rest. No server takes part.

#pragma once

#include <string>
#include <string_view>

#include "cli/program.h"
#include "cli/store/store_file.h"

namespace mayfly {

class EntryText;

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

// A line of `expiring`. `text` is of the family of the entry.
std::string expiring_line(const Expiring& entry, Time now, const EntryText& text,
                          const StoreFile& file);

// Says that there is no such key, which is an answer and no error.
Exit not_found(std::string_view key, const StoreFile& file);

// For a key that is not in the family called `family`, but may have been imported as a hash or the
// like (imported_keys.h): prints it, or says that what was asked is not for such keys. not_found()
// if it was not imported either.
Result<Exit> print_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                            const StoreFile& file);
Result<Exit> refuse_imported(const ReadTxn& txn, const std::string& key, std::string_view family,
                             const StoreFile& file);

}  // namespace mayfly
