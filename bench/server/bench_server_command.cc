// SPDX-License-Identifier: Apache-2.0
#include "bench/server/bench_server_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "bench/report/machine.h"
#include "bench/server/bench_server_report.h"
#include "bench/server/bench_server_runner.h"
#include "tools/files.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kServerExamples =
    "Examples:\n"
    "  mayfly bench server                                    everything; some 13 minutes\n"
    "  mayfly bench server --only speed --repeat 9            speed alone, more carefully\n"
    "  mayfly bench server --only ontime,hlen                 is it exact, and on time?\n"
    "  mayfly bench server --only stall --full                growth to 10 M keys; takes 2 GB\n"
    "  mayfly bench server --only persist --repeat 1          files and replicas, at a glance\n"
    "  mayfly bench server --charts charts --json all.json    pictures, and everything as data\n"
    "  mayfly bench server --json | jq .bars                  data alone, for another program\n"
    "\n"
    "  speed    redis-benchmark: SET, GET, HSET, HGET, HSETEX; alone and with -P 32\n"
    "  memory   bytes a field, in hashes of 10, of 100, and in one of 500,000\n"
    "  ontime   how late 1,000 entries are removed, among up to 1 M that are not due\n"
    "  stall    what other clients wait while 1 M fields expire, and while a database grows\n"
    "  hlen     HLEN of a hash of which half is due, but not removed\n"
    "  persist  5 M fields saved, loaded and sent to a replica; clients meanwhile; the AOF\n"
    "\n"
    "It starts Mayfly's own server and, if it is installed, redis-server, both on this machine\n"
    "alone and at ports that are free, and ends them with itself. A server that runs already is\n"
    "left alone. Files go to a fresh directory in TMPDIR, or else in /tmp: up to 2 GB of them. "
    "Speed\n"
    "and persist need redis-benchmark. Let nothing else run meanwhile.";

}  // namespace

BenchServerCommand::BenchServerCommand(CLI::App& bench)
    : server_(bench.add_subcommand("server", "Compare the server with redis-server")) {
  server_->option_defaults()->take_last();
  server_->footer(kServerExamples);
  server_
      ->add_option("--only", words_.only,
                   "Only these parts: speed, memory, ontime, stall, hlen, persist (default all)")
      ->type_name("NAME,...");
  server_
      ->add_option("--repeat", words_.repeats, "Repeats of speed, stalls and persist (default 3)")
      ->type_name("N");
  server_
      ->add_option("--requests", words_.requests,
                   "Requests of a run of redis-benchmark (default 100k; with -P 32 ten times that)")
      ->type_name("N");
  server_
      ->add_option("--keys", words_.keys,
                   "How far the database grows (default 2m), how many fields are saved (5m)")
      ->type_name("N");
  server_
      ->add_option("--wait", words_.wait,
                   "How many seconds to wait for entries that are late (default 10)")
      ->type_name("N");
  server_
      ->add_option("--json", output_.json,
                   "Everything as JSON, into a file, or alone on the standard output")
      ->type_name("[FILE]")
      ->expected(0, 1);
  server_->add_option("--charts", output_.charts, "Charts as SVG files")->type_name("DIRECTORY");
  server_->add_flag("--full", words_.full, "The database grows to 10 M keys");
  server_->add_flag("--quick", words_.quick, "A few thousand of everything: only to try it out");
}

bool BenchServerCommand::parsed() const { return server_->parsed(); }

Status BenchServerCommand::run() const {
  BenchOutput output = output_;
  if (server_->count("--json") > 0 && output.json.empty()) output.json = "-";
  Result<ServerBenchPlan> plan = make_server_plan(words_);
  if (!plan) return plan.error();
  if (const Status status = find_programs(*plan); !status) return status;
  if (const Status status = check_output(output); !status) return status;
  const Result<ServerResults> results = [&] {
    Progress progress(stderr, is_terminal(STDERR_FILENO), total_work(*plan));
    return run_server_plan(*plan, progress);
  }();
  if (!results) return results.error();
  return tell(*plan, *results, output);
}

Status BenchServerCommand::tell(const ServerBenchPlan& plan, const ServerResults& results,
                                const BenchOutput& output) {
  const Machine machine = this_machine();
  const bool is_data_only = output.json == "-";
  if (is_data_only) {
    fmt::print("{}", server_to_json(plan, results, machine));
  } else {
    fmt::print("{}", render_server_report(plan, results, machine, Colours(wants_colours())));
    if (!output.json.empty()) {
      const Status status = write_file(output.json, server_to_json(plan, results, machine));
      if (!status) return status;
      fmt::print("\nData:   {}\n", output.json);
    }
  }
  if (output.charts.empty()) return Done{};
  return write_charts(output.charts, make_server_charts(plan, results),
                      is_data_only ? stderr : stdout);
}

}  // namespace mayfly
