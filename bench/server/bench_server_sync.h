// SPDX-License-Identifier: Apache-2.0
// How much memory does a primary need while a replica gets all data? It keeps what is written
// meanwhile, until the replica has it.

#pragma once

#include <cstddef>
#include <string_view>

#include "bench/server/bench_server_results.h"
#include "bench/server/bench_server_seat.h"
#include "bench/server/bench_server_writer.h"
#include "mayfly/result.h"

namespace mayfly {

inline constexpr std::size_t kSyncBacklogBytes = std::size_t{10} << 20;        // 10 MB
inline constexpr std::size_t kSyncOutputBytes = std::size_t{256} << 20;        // 256 MB
inline constexpr WriteLoad kSyncLoad = {.keys = 10'000, .value_bytes = 1000};  // 10 MB a second

// Makes a second server a replica of this one, which holds the data already.
Result<SyncRow> measure_sync(const ServerSeat& primary);

// Whether the first replica in the primary's INFO has loaded what it was sent: it acknowledges
// what came behind it. It may be online before, when all of it is on the way.
bool replica_follows(std::string_view info);

}  // namespace mayfly
