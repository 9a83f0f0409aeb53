// SPDX-License-Identifier: Apache-2.0
// Reading and writing files, with errors that say which file and why.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "mayfly/result.h"

namespace mayfly {

// Makes the directory, and those above it, unless it is there.
Status make_directory(const std::filesystem::path& directory);

// Whether a file can be written there, before there is anything to write. Leaves an empty file if
// there was none.
Status check_writable(const std::filesystem::path& path);

// Writes a file, replacing the one that may be there.
Status write_file(const std::filesystem::path& path, std::string_view content);

// All of a file; all of the standard input.
Result<std::string> read_file(const std::filesystem::path& path);
Result<std::string> read_input();

}  // namespace mayfly
