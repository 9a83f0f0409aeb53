// SPDX-License-Identifier: Apache-2.0
// Which Mayfly this is. The number itself stands in CMakeLists.txt, once.

#pragma once

#include <string_view>

namespace mayfly {

#ifdef MAYFLY_VERSION
inline constexpr std::string_view kVersion = MAYFLY_VERSION;
#else
inline constexpr std::string_view kVersion = "unknown";  // a tool that compiles one file alone
#endif

}  // namespace mayfly
