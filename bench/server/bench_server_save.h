// SPDX-License-Identifier: Apache-2.0
// How fast are all data written to a file, and read from it? Both servers in turn, on the same
// fields, which have deadlines in ours and none in redis-server.

#pragma once

#include <cstddef>
#include <vector>

#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "bench/server/bench_server_seat.h"
#include "mayfly/result.h"

namespace mayfly {

// REQUIRES, of both: the seats hold hashes of `fields_each`, and nothing else.

// SAVE, from the command to its reply, so with the sync of the file.
Result<SaveRow> measure_save(const ServerBenchPlan& plan, const std::vector<ServerSeat>& seats,
                             std::size_t fields_each, bool compressed);

// DEBUG RELOAD NOSAVE of an empty server. REQUIRES: the data have been saved.
Result<LoadRow> measure_load(const ServerBenchPlan& plan, const std::vector<ServerSeat>& seats,
                             std::size_t fields_each);

}  // namespace mayfly
