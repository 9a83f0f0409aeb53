// SPDX-License-Identifier: Apache-2.0
// ServerSeat: a server with a directory of its own, and the data that it is to save.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "bench/server/bench_server_child.h"
#include "bench/server/bench_server_plan.h"
#include "mayfly/result.h"
#include "mayfly/time.h"
#include "tools/resp_client.h"
#include "tools/scratch_directory.h"

namespace mayfly {

struct ServerSeat {
  // Empty, without files, and told to write none by itself.
  static Result<ServerSeat> take(ServerKind kind);

  ScratchDirectory directory;
  ServerChild server;  // ends first
};

// One of each kind that is there; ours comes first.
Result<std::vector<ServerSeat>> take_seats(const ServerBenchPlan& plan);

// Hashes of `fields_each` fields. In ours each field has a deadline of its own, from `far` on;
// redis-server has none for fields.
Status fill_hashes(const ServerChild& server, std::size_t fields, std::size_t fields_each,
                   Time far);

// As RespClient::call(), for what takes a server minutes.
Result<ReplyValue> call_slowly(RespClient& client, Words words);
template <class... Word>
Result<ReplyValue> call_slowly(RespClient& client, const Word&... words) {
  return call_slowly(client, Words(std::array<std::string_view, sizeof...(words)>{words...}));
}

Status set_config(RespClient& client, std::string_view name, std::string_view value);

// Whether a child of the server writes a file, or is about to.
Result<bool> has_child(RespClient& client);

// Waits until it has none.
Status wait_for_child(RespClient& client);

// With or without the append-only file, synced every second, and never rewritten by itself.
// Returns when the first file of it is written.
Status set_aof(const ServerChild& server, bool on);

// Calls `measure(seat)` for each of them. The one that begins is another one in each repeat.
template <class Measure>
Status in_turns(const std::vector<ServerSeat>& seats, int repeat, Measure measure) {
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const std::size_t turn = (i + static_cast<std::size_t>(repeat)) % seats.size();
    if (const Status status = measure(seats[turn]); !status) return status;
  }
  return Done{};
}

}  // namespace mayfly
