// SPDX-License-Identifier: Apache-2.0
// What `mayfly bench server` found, as a person reads it on a terminal, and as a program does.

#pragma once

#include <string>
#include <vector>

#include "bench/report/bench_charts.h"
#include "bench/report/machine.h"
#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "tools/terminal/text_table.h"

namespace mayfly {

// All of it, for people.
std::string render_server_report(const ServerBenchPlan& plan, const ServerResults& results,
                                 const Machine& machine, const Colours& colours);

// Its parts. Each is empty if it was not measured.
std::string render_server_speed(const ServerBenchPlan& plan, const ServerResults& results,
                                const Colours& colours);
std::string render_server_memory(const ServerBenchPlan& plan, const ServerResults& results,
                                 const Colours& colours);
std::string render_server_on_time(const ServerBenchPlan& plan, const ServerResults& results,
                                  const Colours& colours);
std::string render_server_stalls(const ServerBenchPlan& plan, const ServerResults& results,
                                 const Colours& colours);

std::string render_server_persist(const ServerBenchPlan& plan, const ServerResults& results,
                                  const Colours& colours);

// All of it, for programs.
std::string server_to_json(const ServerBenchPlan& plan, const ServerResults& results,
                           const Machine& machine);

// Throughput, memory and lateness.
std::vector<Chart> make_server_charts(const ServerBenchPlan& plan, const ServerResults& results);

}  // namespace mayfly
