// SPDX-License-Identifier: Apache-2.0
// Time for measuring how long something took. It has no relation to deadlines, which ask a Clock.

#pragma once

#include <cstdint>

namespace mayfly {

// Nanoseconds since some fixed moment.
std::int64_t monotonic_ns() noexcept;

}  // namespace mayfly
