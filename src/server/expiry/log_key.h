// SPDX-License-Identifier: Apache-2.0
// The key of the expiry log: see expiry_log.h.

#pragma once

#include <string_view>

namespace mayfly {

inline constexpr std::string_view kExpiryLogKey = "__expired__";

}  // namespace mayfly
