// SPDX-License-Identifier: Apache-2.0
// The handlers of LATENCY and MEMORY; their rows are in monitoring_commands.cc.

#pragma once

namespace mayfly {

class Call;

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
