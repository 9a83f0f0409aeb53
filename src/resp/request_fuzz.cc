// SPDX-License-Identifier: Apache-2.0
// Fuzzes the parser of requests: however the bytes are cut, it must find the same.
//
// The first byte of an input says how long the pieces are.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "resp/request.h"

namespace {

std::string read_in_pieces(std::string_view bytes, std::size_t piece) {
  mayfly::RequestParser parser({.bulk_bytes = 1000, .words = 100, .line_bytes = 64});
  std::string out;
  std::string pending;
  while (!bytes.empty()) {
    pending += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const std::vector<char> moved(pending.begin(), pending.end());
      const mayfly::Parsed parsed = parser.parse({moved.data(), moved.size()});
      if (parser.consumed() > moved.size()) std::abort();
      if (parsed == mayfly::Parsed::error) return out + parser.error();
      if (parsed == mayfly::Parsed::request) {
        if (parser.words().empty()) std::abort();
        for (const std::string_view word : parser.words()) out.append(word).append("|");
        out += '\n';
      }
      pending.erase(0, parser.consumed());
      if (parsed == mayfly::Parsed::incomplete) break;
    }
  }
  return out;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string bytes(data + 1, data + size);
  if (read_in_pieces(bytes, data[0] % 64 + 1u) != read_in_pieces(bytes, bytes.size())) std::abort();
  return 0;
}
