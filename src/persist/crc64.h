// SPDX-License-Identifier: Apache-2.0
// The CRC-64 at the end of an RDB file and of a DUMP payload: Jones' polynomial ad93d23594c935a9,
// bits reflected, beginning with 0, nothing inverted. That of "123456789" is e9c6d914c4b8d9ca.
//
//   crc = crc64(0, first);  crc = crc64(crc, second);     // the same as that of both in one

#pragma once

#include <cstdint>
#include <string_view>

namespace mayfly {

// About 2 GB/s. It depends on what came before: long runs of bytes are better than many short ones.
std::uint64_t crc64(std::uint64_t crc, std::string_view bytes);

}  // namespace mayfly
