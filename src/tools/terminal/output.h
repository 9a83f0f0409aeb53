// SPDX-License-Identifier: Apache-2.0
// The standard output, for what fmt::print is not made for. As fmt::print does, these throw
// std::system_error if it cannot be written: whoever prints need not look, and cannot forget to.
// Program::run (cli/program.h) says it.

#pragma once

#include <string_view>

namespace mayfly {

// Bytes as they are, behind what was printed before.
void write_output(std::string_view bytes);

// Hands over what still waits in the buffer.
void flush_output();

}  // namespace mayfly
