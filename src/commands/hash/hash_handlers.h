// SPDX-License-Identifier: Apache-2.0
// The handlers of hash commands that stand in files of their own; their rows are in
// hash_commands.cc and hash_expire_commands.cc.

#pragma once

namespace mayfly {

class Call;

// hash_read.cc
void hget(Call& call);
void hmget(Call& call);
void hgetall(Call& call);
void hkeys(Call& call);
void hvals(Call& call);
void hlen(Call& call);
void hstrlen(Call& call);
void hexists(Call& call);

// hash_numbers.cc
void hincrby(Call& call);
void hincrbyfloat(Call& call);

// hash_random.cc, hash_scan.cc
void hrandfield(Call& call);
void hscan(Call& call);

// hash_setex.cc
void hsetex(Call& call);

// hash_getex.cc
void hgetex(Call& call);
void hgetdel(Call& call);

// hash_ttl.cc
void httl(Call& call);
void hpttl(Call& call);
void hexpiretime(Call& call);
void hpexpiretime(Call& call);

}  // namespace mayfly
