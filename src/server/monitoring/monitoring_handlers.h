// SPDX-License-Identifier: Apache-2.0
// The handlers of COMMANDLOG, LATENCY and MEMORY; their rows are in monitoring_commands.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mayfly {

class Call;
class Reply;
class Slowlog;

// command_log.cc
void commandlog_get(Call& call);
void commandlog_len(Call& call);
void commandlog_reset(Call& call);
void commandlog_help(Call& call);

// The same for SLOWLOG: the newest entries, all if `count` is -1; and word `i` as such a count,
// nothing after an error reply.
void reply_log(Reply& reply, const Slowlog& log, std::int64_t count);
std::optional<std::int64_t> log_count_argument(Call& call, std::size_t i);

// latency_commands.cc
void latency_latest(Call& call);
void latency_history(Call& call);
void latency_reset(Call& call);
void latency_doctor(Call& call);
void latency_graph(Call& call);
void latency_histogram(Call& call);
void latency_help(Call& call);

// memory_commands.cc
void memory_usage(Call& call);
void memory_stats(Call& call);
void memory_doctor(Call& call);
void memory_malloc_stats(Call& call);
void memory_purge(Call& call);
void memory_help(Call& call);

}  // namespace mayfly
