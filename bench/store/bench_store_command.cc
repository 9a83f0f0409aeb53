// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bench_store_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include "bench/report/machine.h"
#include "bench/store/bench_store_report.h"
#include "bench/store/bench_store_runner.h"
#include "tools/files.h"
#include "tools/scratch_directory.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kStoreExamples =
    "Examples:\n"
    "  mayfly bench store                                   everything, with 1 M keys; some 20 "
    "min\n"
    "  mayfly bench store --keys 100k --values 60           less of it, in a minute or two\n"
    "  mayfly bench store --only get,get-ttl --peers lmdb   reads, against LMDB alone\n"
    "  mayfly bench store --only churn                      how large the file gets in an hour\n"
    "  mayfly bench store --charts charts --json all.json   pictures, and everything as data\n"
    "\n"
    "Workloads: put-seq, put-random, get, get-auto, scan, put-single-seq, put-single, put-ttl,\n"
    "get-ttl, scan-ttl, put-single-ttl, mixed, purge, churn. All but the last by default.\n"
    "\n"
    "It makes databases of several GB below the temporary directory, or below --dir, and removes\n"
    "them at the end. Speed depends on the disk there; one in memory makes syncing free.";

}  // namespace

BenchStoreCommand::BenchStoreCommand(CLI::App& bench)
    : store_(bench.add_subcommand("store", "Compare the store with LMDB, SQLite and RocksDB")) {
  store_->option_defaults()->take_last();
  store_->footer(kStoreExamples);
  store_->add_option("--keys", words_.keys, "How many keys (default 1m)")->type_name("N");
  store_->add_option("--values", words_.values, "Bytes of a value (default 60,1024)")
      ->type_name("N,...");
  store_->add_option("--repeats", words_.repeats, "Repeats to take medians of (default 3)")
      ->type_name("N");
  store_->add_option("--peers", words_.peers, "lmdb, sqlite, rocksdb (default all)")
      ->type_name("NAME,...");
  store_->add_option("--only", words_.only, "Only these workloads (see below)")
      ->type_name("NAME,...");
  store_->add_option("--dir", words_.directory, "Where the files go meanwhile")
      ->type_name("DIRECTORY");
  store_
      ->add_option("--json", output_.json,
                   "Everything as JSON, into a file, or alone on the standard output")
      ->type_name("[FILE]")
      ->expected(0, 1);
  store_->add_option("--charts", output_.charts, "Charts as SVG files")->type_name("DIRECTORY");
  store_->add_flag("--quick", words_.quick, "A few thousand keys, once: only to try it out");
}

bool BenchStoreCommand::parsed() const { return store_->parsed(); }

Status BenchStoreCommand::run() const {
  BenchOutput output = output_;
  if (store_->count("--json") > 0 && output.json.empty()) output.json = "-";
  const Result<StoreBenchPlan> plan = make_store_plan(words_);
  if (!plan) return plan.error();
  if (const Status status = check_output(output); !status) return status;
  const Result<StoreResults> results = measure(*plan);
  if (!results) return results.error();
  return tell(*plan, *results, output);
}

Result<StoreResults> BenchStoreCommand::measure(const StoreBenchPlan& plan) {
  const Result<ScratchDirectory> scratch = ScratchDirectory::make(plan.directory);
  if (!scratch) return scratch.error();
  const auto space = std::filesystem::space(scratch->path());
  if (const Status status = check_space(plan, space.available); !status) return status.error();
  Progress progress(stderr, is_terminal(STDERR_FILENO), total_work(plan));
  return run_store_plan(plan, scratch->path(), progress);
}

Status BenchStoreCommand::tell(const StoreBenchPlan& plan, const StoreResults& results,
                               const BenchOutput& output) {
  const Machine machine = this_machine();
  const bool is_data_only = output.json == "-";
  if (is_data_only) {
    fmt::print("{}", store_to_json(plan, results, machine));
  } else {
    fmt::print("{}", render_store_report(plan, results, machine, Colours(wants_colours())));
    if (!output.json.empty()) {
      const Status status = write_file(output.json, store_to_json(plan, results, machine));
      if (!status) return status;
      fmt::print("\nData:   {}\n", output.json);
    }
  }
  if (output.charts.empty()) return Done{};
  return write_charts(output.charts, make_store_charts(results), is_data_only ? stderr : stdout);
}

}  // namespace mayfly
