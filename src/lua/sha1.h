// SPDX-License-Identifier: Apache-2.0
// SHA-1, by which scripts are named. It is no protection against anybody.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mayfly {

// 40 digits, in lower case. `counted` is called with the size of each piece before it.
std::string sha1_hex(std::string_view text, const std::function<void(std::size_t)>& counted = {});

}  // namespace mayfly
