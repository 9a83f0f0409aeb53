// SPDX-License-Identifier: Apache-2.0
#include "bench/report/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/cache/bench_gets.h"
#include "bench/cache/bench_runner.h"
#include "bench/report/bench_charts.h"
#include "bench/report/bench_json.h"
#include "bench/report/bench_report.h"
#include "bench/report/machine.h"
#include "tools/files.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kBenchExamples =
    "Examples:\n"
    "  mayfly bench expiry              compare the expiry strategies, in under a minute\n"
    "  mayfly bench cache               how fast reads are, with one thread and with more\n"
    "  mayfly bench store               the store beside LMDB, SQLite and RocksDB\n"
    "  mayfly bench server              the server beside redis-server";

constexpr const char* kCacheExamples =
    "Examples:\n"
    "  mayfly bench cache               reads against a bare hash map, and with more threads\n"
    "  mayfly bench cache --json        the same as data";

constexpr const char* kExpiryExamples =
    "Examples:\n"
    "  mayfly bench expiry                                   all strategies, under a minute\n"
    "  mayfly bench expiry --strategies wheel,heap           only these two\n"
    "  mayfly bench expiry --sizes 50k --rounds 9            one size, nine rounds\n"
    "  mayfly bench expiry --distributions same-deadline     everything due at one moment\n"
    "  mayfly bench expiry --charts charts --json all.json   pictures, and everything as data\n"
    "  mayfly bench expiry --json | jq .bars                 data alone, for another program\n"
    "  mayfly bench expiry --full                            10 M entries too; some minutes, 4 GB\n"
    "\n"
    "It measures each index alone and inside a cache: what an operation costs, how fast\n"
    "everything is removed that is due at once, memory, and how late entries are removed.";

void add_options(CLI::App& expiry, BenchWords& words, BenchOutput& output) {
  expiry.add_option("--sizes", words.sizes, "How many entries (default 100k,1m)")
      ->type_name("N,...");
  expiry
      .add_option("--strategies", words.strategies,
                  "lazy, heap, sampling, windows, wheel, volatile-set, tree (default all)")
      ->type_name("NAME,...");
  expiry
      .add_option("--distributions", words.distributions,
                  "How TTLs are spread: uniform, same-deadline, long-tailed (default all)")
      ->type_name("NAME,...");
  expiry
      .add_option("--rounds", words.rounds,
                  "Rounds to take medians of (default up to 3, within the minute)")
      ->type_name("N");
  expiry.add_option("--seed", words.seed, "Another number, other entries (default 1)")
      ->type_name("N");
  expiry
      .add_option("--json", output.json,
                  "Everything as JSON, into a file, or alone on the standard output")
      ->type_name("[FILE]")
      ->expected(0, 1);
  expiry.add_option("--charts", output.charts, "Five charts as SVG files")->type_name("DIRECTORY");
  expiry.add_flag("--full", words.full, "10 M entries too");
  expiry.add_flag("--quick", words.quick, "A few thousand entries, one round: only to try it out");
}

}  // namespace

BenchCommand::BenchCommand(CLI::App& program)
    : bench_(program.add_subcommand("bench", "Measure Mayfly on this machine")),
      expiry_(bench_->add_subcommand("expiry", "Compare the expiry strategies")),
      cache_(bench_->add_subcommand("cache", "Measure reads of the cache")),
      store_(*bench_),
      server_(*bench_) {
  bench_->footer(kBenchExamples);
  // Said twice, the last one counts: so a habit in an alias can be overridden.
  expiry_->option_defaults()->take_last();
  expiry_->footer(kExpiryExamples);
  add_options(*expiry_, words_, output_);
  cache_->footer(kCacheExamples);
  cache_->add_flag("--json", cache_json_, "As JSON on the standard output");
}

Status BenchCommand::run() const {
  if (expiry_->parsed()) return run_expiry();
  if (cache_->parsed()) return run_cache();
  if (store_.parsed()) return store_.run();
  if (server_.parsed()) return server_.run();
  if (bench_->parsed()) fmt::print("{}", bench_->help("mayfly"));
  return Done{};
}

Status BenchCommand::run_cache() const {
  GetsPlan plan;
  plan.threads = std::max(2u, this_machine().cores);
  const std::vector<GetsResult> results = measure_gets(plan);
  fmt::print("{}", cache_json_ ? gets_to_json(plan, results) : render_gets(plan, results));
  return Done{};
}

Status BenchCommand::run_expiry() const {
  BenchOutput output = output_;
  if (expiry_->count("--json") > 0 && output.json.empty()) output.json = "-";
  const Result<BenchPlan> plan = make_plan(words_);
  if (!plan) return plan.error();
  if (const Status status = check_output(output); !status) return status;

  const BenchResults results = [&] {
    Progress progress(stderr, is_terminal(STDERR_FILENO), total_work(*plan));
    return run_plan(*plan, progress);
  }();
  const Machine machine = this_machine();

  const bool is_data_only = output.json == "-";
  if (is_data_only) {
    fmt::print("{}", to_json(*plan, results, machine));
  } else {
    fmt::print("{}", render_report(*plan, results, machine, Colours(wants_colours())));
    if (!output.json.empty()) {
      const Status status = write_file(output.json, to_json(*plan, results, machine));
      if (!status) return status;
      fmt::print("\nData:   {}\n", output.json);
    }
  }
  std::FILE* const log = is_data_only ? stderr : stdout;
  if (!output.charts.empty()) return write_charts(output.charts, make_charts(results), log);
  if (!is_data_only) fmt::print("\nFor charts, add --charts DIRECTORY; for data, --json FILE.\n");
  return Done{};
}

}  // namespace mayfly
