// SPDX-License-Identifier: Apache-2.0
// `mayfly completion SHELL`: the script that lets a shell complete words of this program; and
// `mayfly complete`, which such a script asks what could be written next.

#pragma once

#include "cli/program.h"

namespace mayfly {

// To be added last: it completes the commands that are there.
void add_completion_commands(Program& program);

// What the last of `words` could become, a line for each: the word, a tab, what it is. A single
// line ":files" says that it is the name of a file. `words` are those behind `mayfly`.
std::string complete(const CLI::App& program, const std::vector<std::string>& words);

}  // namespace mayfly
