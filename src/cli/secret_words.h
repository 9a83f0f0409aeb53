// SPDX-License-Identifier: Apache-2.0
// Secrets among the words of a command line: every user of the machine can read them in
// /proc/PID/cmdline, which ps shows.

#pragma once

#include <string>
#include <vector>

namespace mayfly {

// Copies the words, and overwrites in `argv` the values of options that are passwords, and
// passwords in URLs. To be called before there are other threads.
std::vector<std::string> take_words(int argc, char** argv);

}  // namespace mayfly
