// SPDX-License-Identifier: Apache-2.0
// Numbers for threads. Those of the system are given again as soon as a thread has ended; with
// these a new thread can never be taken for an old one that left a transaction open.

#pragma once

#include <cstdint>

namespace mayfly {

// One that was never given before in this process.
std::uint64_t new_number() noexcept;

// The number of this thread.
std::uint64_t thread_number() noexcept;

}  // namespace mayfly
