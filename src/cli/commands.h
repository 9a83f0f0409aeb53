// SPDX-License-Identifier: Apache-2.0
// The commands of `mayfly`. Each function adds the commands of one source file to the program;
// `file` holds the options that all commands on a store share.

#pragma once

#include "cli/program.h"

namespace mayfly {

class StoreFile;

void add_serve_command(Program& program);                       // serve_command.cc
void add_copy_commands(Program& program, StoreFile* file);      // import/copy_commands.cc
void add_cluster_commands(Program& program);                    // cluster/cluster_commands.cc
void add_top_command(Program& program, const StoreFile* file);  // top/top_command.cc

void add_key_commands(Program& program, StoreFile* file);          // store/store_keys.cc
void add_expiry_commands(Program& program, StoreFile* file);       // store/store_expiry.cc
void add_expiring_command(Program& program, StoreFile* file);      // store/store_expiring.cc
void add_scan_commands(Program& program, StoreFile* file);         // store/store_scan.cc
void add_family_commands(Program& program, StoreFile* file);       // store/store_families.cc
void add_maintenance_commands(Program& program, StoreFile* file);  // store/store_maintenance.cc
void add_dump_command(Program& program, StoreFile* file);          // store/store_dump.cc
void add_load_command(Program& program, StoreFile* file);          // store/store_load.cc
void add_txn_command(Program& program, StoreFile* file);           // store/store_txn.cc
void add_shell_command(Program& program, StoreFile* file);         // store/store_shell.cc

void add_rdb_command(Program& program);          // rdb/rdb_command.cc
void add_aof_command(Program& program);          // aof/aof_command.cc
void add_completion_commands(Program& program);  // completion_command.cc
void add_manual_command(Program& program);       // manual_command.cc

}  // namespace mayfly
