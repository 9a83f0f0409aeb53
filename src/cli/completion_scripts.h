// SPDX-License-Identifier: Apache-2.0
// What `mayfly completion SHELL` prints. The scripts know nothing: they ask the program, which
// knows its own words (`mayfly complete`), and quote what it answers as their shell wants it. A key
// is what anybody may have put into a store: none of it may reach the shell as anything but a word.

#pragma once

#include <string_view>

namespace mayfly {

// For "bash", "zsh" or "fish".
const char* completion_script(std::string_view shell);

}  // namespace mayfly
