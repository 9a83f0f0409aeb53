// SPDX-License-Identifier: Apache-2.0
// `mayfly bench server`: its words, its help, and what it does.

#pragma once

#include "bench/report/bench_output.h"
#include "bench/server/bench_server_plan.h"
#include "bench/server/bench_server_results.h"
#include "mayfly/result.h"

namespace CLI {
class App;
}

namespace mayfly {

class BenchServerCommand {
 public:
  // Adds `server` to `bench`. The command must outlive the parsing.
  explicit BenchServerCommand(CLI::App& bench);

  bool parsed() const;

  // REQUIRES: parsed().
  Status run() const;

 private:
  static Status tell(const ServerBenchPlan& plan, const ServerResults& results,
                     const BenchOutput& output);

  CLI::App* server_;
  ServerBenchWords words_;
  BenchOutput output_;
};

}  // namespace mayfly
