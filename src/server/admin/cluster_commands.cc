// SPDX-License-Identifier: Apache-2.0
// CLUSTER. There is no cluster: only the slot of a key is known.

#include <cstdint>

#include "server/core/server_call.h"

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

// The text between the first braces if there is any, else the whole key.
std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

void cluster_disabled(Call& call) { call.fail("ERR This instance has cluster support disabled"); }

// READONLY, READWRITE
template <bool is>
void set_readonly(Call& call) {
  client_of(call).options.is_readonly = is;
  call.reply().ok();
}

void cluster_keyslot(Call& call) {
  call.reply().integer(crc16(hashed_part(call.word(2))) % kSlots);
}

constexpr std::uint64_t kClusterAdmin = flag::admin | flag::stale | flag::no_async_loading;
constexpr std::string_view kNoCluster = "Is about a cluster; there is none.";

// A subcommand of CLUSTER that needs one.
constexpr Command disabled(std::string_view name, int arity, std::uint64_t flags,
                           std::string_view syntax = {}) {
  return {name,    cluster_disabled, arity,      flags, {},       "cluster",
          "3.0.0", syntax,           kNoCluster, {},    "cluster"};
}

// clang-format off
constexpr Command kClusterRows[] = {
    {"keyslot", cluster_keyslot, 3, flag::stale, {}, "cluster", "3.0.0", "key",
     "Returns the slot that a key would have.", {}, "cluster"},
    {"help", reply_help, 2, flag::loading | flag::stale, {}, "cluster", "5.0.0", "",
     "Prints this help.", {}, "cluster"},
    disabled("info", 2, flag::stale),
    disabled("nodes", 2, flag::stale),
    disabled("slots", 2, flag::stale),
    disabled("shards", 2, flag::stale),
    disabled("links", 2, flag::stale),
    disabled("myid", 2, flag::stale),
    disabled("myshardid", 2, flag::stale),
    disabled("countkeysinslot", 3, flag::stale, "slot:int"),
    disabled("getkeysinslot", 4, flag::stale, "slot:int count:int"),
    disabled("replicas", 3, kClusterAdmin, "node-id"),
    disabled("slaves", 3, kClusterAdmin, "node-id"),
    disabled("count-failure-reports", 3, kClusterAdmin, "node-id"),
    disabled("addslots", -3, kClusterAdmin, "slot:int..."),
    disabled("addslotsrange", -4, kClusterAdmin, "(start-slot:int end-slot:int)..."),
    disabled("delslots", -3, kClusterAdmin, "slot:int..."),
    disabled("delslotsrange", -4, kClusterAdmin, "(start-slot:int end-slot:int)..."),
    disabled("flushslots", 2, kClusterAdmin),
    disabled("setslot", -4, kClusterAdmin,
             "slot:int state:(IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE)"),
    disabled("bumpepoch", 2, kClusterAdmin),
    disabled("set-config-epoch", 3, kClusterAdmin, "config-epoch:int"),
    disabled("meet", -4, kClusterAdmin, "ip port:int [cluster-bus-port:int]"),
    disabled("forget", 3, kClusterAdmin, "node-id"),
    disabled("replicate", 3, kClusterAdmin, "node-id"),
    disabled("failover", -2, kClusterAdmin, "[mode:(FORCE | TAKEOVER)]"),
    disabled("reset", -2, kClusterAdmin | flag::noscript, "[mode:(HARD | SOFT)]"),
    disabled("saveconfig", 2, kClusterAdmin),
};

constexpr Command kClusterCommands[] = {
    {"cluster", nullptr, -2, 0, {}, "cluster", "3.0.0", "", kNoCluster, kClusterRows},
    {"readonly", set_readonly<true>, 1, flag::loading | flag::stale | flag::fast, {}, "connection",
     "3.0.0", "", "Lets a replica of a cluster answer; here it is only shown."},
    {"readwrite", set_readonly<false>, 1, flag::loading | flag::stale | flag::fast, {},
     "connection", "3.0.0", "", "Undoes READONLY."},
    {"asking", cluster_disabled, 1, flag::fast, {}, "connection", "3.0.0", "",
     "Follows a slot of a cluster; there is none."},
};
// clang-format on

}  // namespace

std::span<const Command> cluster_commands() { return kClusterCommands; }

}  // namespace mayfly
