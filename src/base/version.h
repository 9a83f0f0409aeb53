// SPDX-License-Identifier: Apache-2.0
// The version of Mayfly, which CMakeLists.txt defines, and the version of Redis it is compatible
// with.

#pragma once

#include <string_view>

namespace mayfly {

#ifdef MAYFLY_VERSION
inline constexpr std::string_view kMayflyVersion = MAYFLY_VERSION;
#else
inline constexpr std::string_view kMayflyVersion = "0.0.0";  // a tool that compiles one file alone
#endif

// Clients read it to learn which commands they may send.
inline constexpr std::string_view kCompatibleVersion = "7.2.4";

// The Valkey whose commands and replies we have.
inline constexpr std::string_view kCompatibleValkey = "9.0.0";

}  // namespace mayfly
