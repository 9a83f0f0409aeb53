// SPDX-License-Identifier: Apache-2.0
// `mayfly bench store`: its words, its help, and what it does.

#pragma once

#include "bench/report/bench_output.h"
#include "bench/store/bench_store_plan.h"
#include "bench/store/bench_store_results.h"
#include "mayfly/result.h"

namespace CLI {
class App;
}

namespace mayfly {

class BenchStoreCommand {
 public:
  // Adds `store` to `bench`. The command must outlive the parsing.
  explicit BenchStoreCommand(CLI::App& bench);

  bool parsed() const;

  // REQUIRES: parsed().
  Status run() const;

 private:
  static Result<StoreResults> measure(const StoreBenchPlan& plan);
  static Status tell(const StoreBenchPlan& plan, const StoreResults& results,
                     const BenchOutput& output);

  CLI::App* store_;
  StoreBenchWords words_;
  BenchOutput output_;
};

}  // namespace mayfly
