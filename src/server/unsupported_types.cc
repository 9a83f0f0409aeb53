// SPDX-License-Identifier: Apache-2.0
#include "server/unsupported_types.h"

#include <algorithm>

#include "commands/words.h"

namespace mayfly {
namespace {

struct Row {
  std::string_view command;
  std::string_view type;
};

// What stands in append-only files and streams of replication, Redis 7 and Valkey 9.
constexpr Row kRows[] = {
    {"lpush", "list"},
    {"rpush", "list"},
    {"lpushx", "list"},
    {"rpushx", "list"},
    {"lpop", "list"},
    {"rpop", "list"},
    {"linsert", "list"},
    {"lset", "list"},
    {"lrem", "list"},
    {"ltrim", "list"},
    {"rpoplpush", "list"},
    {"lmove", "list"},
    {"lmpop", "list"},
    {"blpop", "list"},
    {"brpop", "list"},
    {"brpoplpush", "list"},
    {"blmove", "list"},
    {"blmpop", "list"},
    {"sadd", "set"},
    {"srem", "set"},
    {"smove", "set"},
    {"spop", "set"},
    {"sinterstore", "set"},
    {"sunionstore", "set"},
    {"sdiffstore", "set"},
    {"zadd", "zset"},
    {"zincrby", "zset"},
    {"zrem", "zset"},
    {"zremrangebyscore", "zset"},
    {"zremrangebyrank", "zset"},
    {"zremrangebylex", "zset"},
    {"zunionstore", "zset"},
    {"zinterstore", "zset"},
    {"zdiffstore", "zset"},
    {"zrangestore", "zset"},
    {"zpopmin", "zset"},
    {"zpopmax", "zset"},
    {"zmpop", "zset"},
    {"bzpopmin", "zset"},
    {"bzpopmax", "zset"},
    {"bzmpop", "zset"},
    {"geoadd", "zset"},
    {"geosearchstore", "zset"},
    {"georadius", "zset"},
    {"georadiusbymember", "zset"},
    {"xadd", "stream"},
    {"xdel", "stream"},
    {"xtrim", "stream"},
    {"xgroup", "stream"},
    {"xack", "stream"},
    {"xclaim", "stream"},
    {"xautoclaim", "stream"},
    {"xsetid", "stream"},
    {"xreadgroup", "stream"},
    {"pfadd", "hyperloglog"},
    {"pfmerge", "hyperloglog"},
    {"setbit", "bitmap"},
    {"bitfield", "bitmap"},
    {"bitop", "bitmap"},
};

}  // namespace

std::string_view unsupported_type(std::string_view command) {
  const auto found =
      std::ranges::find_if(kRows, [&](const Row& row) { return equals(command, row.command); });
  return found == std::end(kRows) ? std::string_view() : found->type;
}

}  // namespace mayfly
