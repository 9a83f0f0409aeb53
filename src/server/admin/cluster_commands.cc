// SPDX-License-Identifier: Apache-2.0
// CLUSTER where there is no cluster: only the slot of a key can be told.

#include <cstdint>

#include "server/admin/compatibility_handlers.h"
#include "server/admin/help.h"
#include "server/core/server.h"

namespace mayfly {
namespace {

constexpr unsigned kSlots = 16'384;

// CRC-16/XMODEM.
unsigned crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(byte)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
    crc &= 0xFFFF;
  }
  return crc;
}

// What is between the first braces, if anything, else the whole key.
std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

void cluster_disabled(Call& call) { call.fail("ERR This instance has cluster support disabled"); }

// CLUSTER KEYSLOT key
void cluster_keyslot(Call& call) {
  call.reply().integer(crc16(hashed_part(call.word(2))) % kSlots);
}

void cluster_help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "KEYSLOT <key>",
      "    Returns the slot that a key would have in a cluster.",
      "    There is no cluster: all other subcommands reply with an error.",
  };
  reply_help(call, "CLUSTER", kLines);
}

}  // namespace mayfly
