// SPDX-License-Identifier: Apache-2.0
// Which version this is, and which of Redis clients may take it for.

#pragma once

#include <string_view>

namespace mayfly {

#ifdef MAYFLY_VERSION
inline constexpr std::string_view kServerVersion = MAYFLY_VERSION;
#else
inline constexpr std::string_view kServerVersion = "0.0.0";  // a tool that compiles one file alone
#endif

// Clients look at this one to learn what they may send.
inline constexpr std::string_view kCompatibleVersion = "7.2.4";

}  // namespace mayfly
