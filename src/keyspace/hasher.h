// SPDX-License-Identifier: Apache-2.0
// The hash of a key or a field: XXH3, 64 bits, with a seed that the owner of a table draws by lot,
// so that nobody outside can choose keys that collide.

#pragma once

#define XXH_INLINE_ALL  // short keys, mostly: the call would cost as much as the hash
#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace mayfly {

inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace mayfly
