// SPDX-License-Identifier: Apache-2.0
// `mayfly bench`: its words, its help, and what it does.

#pragma once

#include <optional>
#include <string>

#include "bench/cache/bench_plan.h"
#include "bench/report/bench_output.h"
#include "bench/server/bench_server_command.h"
#include "bench/store/bench_store_command.h"
#include "mayfly/result.h"

namespace CLI {
class App;
}

namespace mayfly {

class BenchCommand {
 public:
  // Adds `bench` and what is below it to the program. The command must outlive the parsing.
  explicit BenchCommand(CLI::App& program);

  CLI::App& app() const { return *bench_; }

  // Does what was parsed. Nothing, if it was another command.
  Status run() const;

 private:
  Status run_expiry() const;
  Status run_cache() const;

  CLI::App* bench_;
  CLI::App* expiry_;
  CLI::App* cache_;
  BenchWords words_;
  BenchOutput output_;
  bool cache_json_ = false;
  BenchStoreCommand store_;
  BenchServerCommand server_;
};

}  // namespace mayfly
