// SPDX-License-Identifier: Apache-2.0
// What do clients wait while a child of the server writes all data to a file? The child shares its
// memory with the server, which copies each page that it changes, and has a processor less.
//
// One thread sends GETs in a row and SETs beside them at a fixed rate, so that with two processors
// the server and its clients have one, and the child the other.

#pragma once

#include <string_view>
#include <vector>

#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "bench/server/bench_server_seat.h"
#include "bench/server/bench_server_writer.h"
#include "mayfly/result.h"

namespace mayfly {

inline constexpr WriteLoad kForkLoad = {};
inline constexpr std::string_view kForkWorks[] = {"BGSAVE", "BGREWRITEAOF"};

// `work` is one of those above. REQUIRES: for BGREWRITEAOF, that the append-only file is on.
Result<ChildRow> measure_child(const ServerBenchPlan& plan, const std::vector<ServerSeat>& seats,
                               std::string_view work);

}  // namespace mayfly
