// SPDX-License-Identifier: Apache-2.0
// `mayfly manual`: manual pages, made of the same texts as --help, so that they never differ.

#pragma once

#include <string>

#include "cli/program.h"

namespace mayfly {

// To be added last: it describes the commands that are there.
void add_manual_command(Program& program);

// The page of a command, as man(1) reads it.
std::string manual_page(const CLI::App& app);

}  // namespace mayfly
