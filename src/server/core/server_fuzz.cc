// SPDX-License-Identifier: Apache-2.0
// Fuzzes a whole server: any bytes from a client, with the clock moving.

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/core/server_stream.h"

namespace {

// HRANDFIELD with a count of -1000000000 is to reply with so many fields, as Valkey does; so do
// SRANDMEMBER and ZRANDMEMBER. It is no finding that this takes long.
bool asks_for_very_much(std::string_view bytes) {
  constexpr std::size_t kDigitsMax = 6;
  std::string lower;
  for (const char byte : bytes) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
  }
  if (lower.find("randfield") == std::string::npos &&
      lower.find("randmember") == std::string::npos) {
    return false;
  }
  std::size_t digits = 0;
  bool is_negative = false;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const bool is_digit = lower[i] >= '0' && lower[i] <= '9';
    if (is_digit && digits++ == 0) is_negative = i > 0 && lower[i - 1] == '-';
    if (!is_digit) digits = 0;
    if (is_negative && digits > kDigitsMax) return true;
  }
  return false;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (asks_for_very_much(bytes)) return 0;
  const std::string wrong = mayfly::run_stream(bytes);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
