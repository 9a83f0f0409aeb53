// SPDX-License-Identifier: Apache-2.0
// SHA-1, by which scripts are named. It is no protection against anybody.

#pragma once

#include <string>
#include <string_view>

namespace mayfly {

// 40 digits, in lower case.
std::string sha1_hex(std::string_view text);

}  // namespace mayfly
