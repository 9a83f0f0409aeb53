// SPDX-License-Identifier: Apache-2.0
// The commands on a store in a file: put, get and the rest. No server takes part.

#pragma once

#include <memory>
#include <string_view>

#include "cli/program.h"
#include "cli/store_file.h"

namespace mayfly {

void add_store_commands(Program& program);

// Groups of them, each in the file of its name.
using SharedFile = std::shared_ptr<StoreFile>;
void add_key_commands(Program& program, const SharedFile& file);  // store_keys.cc

// Says that there is no such key, which is an answer and no error.
Exit not_found(std::string_view key, const StoreFile& file);

}  // namespace mayfly
