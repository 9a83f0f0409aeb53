// SPDX-License-Identifier: Apache-2.0
// The hash of a key or a member: XXH3, 64 bits, with a random seed of the server, so that clients
// cannot choose keys that collide.

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
