// SPDX-License-Identifier: Apache-2.0
// LZF, the compression of strings in RDB files and DUMP payloads.
//
// The compressed form is a sequence of literals and references. The upper 3 bits of the first byte
// tell which:
//
//   000nnnnn                     n + 1 literal bytes follow
//   nnnooooo oooooooo            copy n + 2 bytes (n = 1..6) from o + 1 before the end
//   111ooooo nnnnnnnn oooooooo   copy n + 9 bytes, likewise
//
// Cost: both are linear. Compression uses up to 64 KiB of stack and allocates nothing.

#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace mayfly {

// Writes the compressed form of `text` to `out` and returns its size, or 0 if it does not fit.
// The same text gives the same bytes. Requires: text.size() < 2^32.
std::size_t lzf_compress(std::string_view text, std::span<char> out);

// Writes the original text to `out`. Returns whether `packed` is valid and fills `out` exactly.
bool lzf_decompress(std::string_view packed, std::span<char> out);

}  // namespace mayfly
