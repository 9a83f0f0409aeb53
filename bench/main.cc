// SPDX-License-Identifier: Apache-2.0
// mayfly-bench: measures Mayfly beside other systems, and shows the results.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>

#include "base/nearest.h"
#include "base/version.h"
#include "bench/cache/expiry_suite.h"
#include "bench/report/must.h"
#include "bench/report/report.h"
#include "bench/server/server_suite.h"
#include "bench/store/store_suite.h"
#include "tools/files.h"
#include "tools/terminal/terminal.h"

namespace mayfly::bench {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly-bench expiry                   compare the expiry strategies, in under a minute\n"
    "  mayfly-bench cache                    reads of the cache, with one thread and with more\n"
    "  mayfly-bench store                    the store beside LMDB, SQLite and RocksDB\n"
    "  mayfly-bench server                   the server beside redis-server\n"
    "  mayfly-bench report old.json          show results that were written with --json\n"
    "  bench/charts.py all.json --out charts draw them (needs python3-matplotlib)\n"
    "\n"
    "`make bench` runs all suites, shows the results and draws the charts.";

constexpr const char* kExpiryExamples =
    "Examples:\n"
    "  mayfly-bench expiry                                 all strategies, under a minute\n"
    "  mayfly-bench expiry --strategies wheel,heap         only these two\n"
    "  mayfly-bench expiry --sizes 50k --rounds 9          one size, nine rounds\n"
    "  mayfly-bench expiry --distributions same-deadline   everything due at one moment\n"
    "  mayfly-bench expiry --json all.json                 everything as data, for charts.py\n"
    "  mayfly-bench expiry --full                          10 M entries too; minutes, 4 GB\n"
    "\n"
    "It measures each index alone and in a cache: what an operation costs, how fast everything\n"
    "is removed that is due at once, memory, and how late entries are removed.";

constexpr const char* kCacheExamples =
    "Examples:\n"
    "  mayfly-bench cache           reads against a bare hash map, and with more threads\n"
    "  mayfly-bench cache --json    the same as data";

constexpr const char* kStoreExamples =
    "Examples:\n"
    "  mayfly-bench store                                   everything, 1 M keys; some 30 min\n"
    "  mayfly-bench store --keys 100k --values 60           less of it, in a minute or two\n"
    "  mayfly-bench store --only get,get-ttl --peers lmdb   reads, against LMDB alone\n"
    "  mayfly-bench store --only stream,overwrite,recovery  Mayfly alone: file, waits, opening\n"
    "  mayfly-bench store --only churn                      how large the file gets in an hour\n"
    "\n"
    "Workloads: put-seq, put-random, get, get-auto, scan, get-rest, scan-rest, put-single-seq,\n"
    "put-single, put-threads, put-long, put-ttl, get-ttl, scan-ttl, get-ttl-rest, scan-ttl-rest,\n"
    "put-single-ttl, put-long-ttl, mixed, purge; Mayfly alone: stream, overwrite, recovery, "
    "churn.\n"
    "All but churn by default. rest: after closing and opening. long: sustained single puts.\n"
    "SNKV is not among the peers: no package of it is known to the build.\n"
    "\n"
    "It makes databases of several GB below the temporary directory, or below --dir, and removes\n"
    "them at the end. Speed depends on the disk there; one in memory makes syncing free.";

constexpr const char* kServerExamples =
    "Examples:\n"
    "  mayfly-bench server                                    everything; some 20 minutes\n"
    "  mayfly-bench server --peer valkey=/usr/bin/valkey-server --peer redis=redis-server\n"
    "  mayfly-bench server --peer \"old=/opt/old/mayfly serve\"  an older Mayfly beside this one\n"
    "  mayfly-bench server --only speed --rounds 9            speed alone, with more rounds\n"
    "  mayfly-bench server --only stall --full                growth to 10 M keys; takes 2 GB\n"
    "\n"
    "  speed    redis-benchmark: SET, GET, HSET, HGET, HSETEX; alone and with -P 32\n"
    "  sets     the same on sets and sorted sets of 1 M: SADD to ZPOPMIN; SINTER, ZUNIONSTORE\n"
    "  memory   bytes a member, in hashes, sets and sorted sets of 10, of 100, and in one\n"
    "  ontime   how late 1,000 entries are removed, among up to 1 M that are not due\n"
    "  expired  how many expired entries are still in memory, over 80 seconds\n"
    "  expirylog  how fast 1 M keys expire without and with the expiry log\n"
    "  ttlstats  TTLSTATS with 1 M keys, beside SCAN and PTTL of all of them\n"
    "  stall    what other clients wait while 1 M members expire, and while a database grows\n"
    "  hlen     HLEN of a hash of which half is due, but not removed\n"
    "  persist  5 M fields saved, loaded and sent to a replica; clients meanwhile; the AOF\n"
    "\n"
    "It starts the servers on loopback at free ports, and stops them at the end. A peer is any\n"
    "program that takes the options of Valkey and Redis; without --peer it is redis-server, if\n"
    "that is installed. Files go to a fresh directory in TMPDIR or /tmp: up to 2 GB. speed,\n"
    "sets and persist need redis-benchmark. Run nothing else on the machine meanwhile.";

constexpr const char* kReportExamples =
    "Examples:\n"
    "  mayfly-bench report build/bench/store.json\n"
    "  mayfly-bench report build/bench/*.json";

// A command of the program, with the options that all suites have.
struct Command {
  CLI::App* app;
  std::string json = {};
  std::function<void(Results&)> run;

  Command(CLI::App& program, const char* name, const char* what, const char* examples)
      : app(program.add_subcommand(name, what)) {
    app->option_defaults()->take_last();  // given twice, the last one counts
    app->footer(examples);
    app->allow_extras();
  }

  void option(const char* name, std::string& value, const char* what, const char* type) {
    app->add_option(name, value, what)->type_name(type);
  }

  void add_json() {
    app->add_option("--json", json, "Everything as JSON, into a file, or to the standard output")
        ->type_name("[FILE]")
        ->expected(0, 1);
  }
};

void add_expiry(Command& command, ExpiryOptions& options) {
  command.option("--sizes", options.sizes, "How many entries (default 100k,1m)", "N,...");
  command.option("--strategies", options.strategies,
                 "lazy, heap, sampling, windows, wheel, volatile-set, tree (default all)",
                 "NAME,...");
  command.option("--distributions", options.distributions,
                 "How TTLs are spread: uniform, same-deadline, long-tailed (default all)",
                 "NAME,...");
  command.option("--rounds", options.rounds, "Rounds (default up to 3, within a minute)", "N");
  command.option("--seed", options.seed, "Another number, other entries (default 1)", "N");
  command.app->add_flag("--full", options.full, "10 M entries too");
  command.app->add_flag("--quick", options.quick, "A few thousand entries: only to try it out");
  command.run = [&](Results& results) { run_expiry(make_expiry_plan(options), results); };
}

void add_store(Command& command, StoreOptions& options) {
  command.option("--keys", options.keys, "How many keys (default 1m)", "N");
  command.option("--values", options.values, "Bytes of a value (default 60,1024)", "N,...");
  command.option("--rounds,--repeats", options.rounds, "Rounds (default 3)", "N");
  command.option("--peers", options.peers, "lmdb, sqlite, rocksdb (default all)", "NAME,...");
  command.option("--only", options.only, "Only these workloads (see below)", "NAME,...");
  command.option("--dir", options.directory, "Where the files go meanwhile", "DIRECTORY");
  command.app->add_flag("--quick", options.quick, "A few thousand keys: only to try it out");
  command.run = [&](Results& results) { run_store(make_store_plan(options), results); };
}

void add_server(Command& command, ServerOptions& options) {
  command.app->add_option("--peer", options.peers, "A server to compare with (repeatable)")
      ->type_name("NAME=PROGRAM")
      ->take_all();
  command.option("--mayfly", options.mayfly,
                 "Our program (default: mayfly beside this one, or in PATH)", "PROGRAM");
  command.option("--only", options.only, "Only these parts (see below)", "NAME,...");
  command.option("--rounds,--repeat", options.rounds, "Rounds (default 3)", "N");
  command.option("--requests", options.requests,
                 "Requests of a run of redis-benchmark (default 100k; with -P 32 ten times that)",
                 "N");
  command.option("--keys", options.keys,
                 "Entries of expired (default 1m), stall (2m) and persist (5m)", "N");
  command.option("--wait", options.wait, "Seconds to wait for late entries (default 10)", "N");
  command.app->add_flag("--full", options.full, "The database grows to 10 M keys");
  command.app->add_flag("--quick", options.quick, "A few thousand entries: only to try it out");
  command.run = [&](Results& results) {
    ServerPlan plan = make_server_plan(options);
    find_servers(options, plan, results);
    run_server(plan, results);
  };
}

// "'--ronds' is not an option of 'store'; did you mean '--rounds'?"
void check_words(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return;
  std::vector<std::string> known;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(below->get_name());
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view guess = nearest(words.front(), views);
  throw Failure(fmt::format("'{}' is unknown to '{}'; {}", words.front(), app.get_name(),
                            guess.empty() ? fmt::format("it takes {}", listed(views))
                                          : fmt::format("did you mean '{}'?", guess)));
}

void show(const Results& results) {
  fmt::print("{}", render_report(results, Colours(wants_colours())));
}

void run_suite(const Command& command) {
  const bool is_data_only = command.app->count("--json") > 0 && command.json.empty();
  // What would fail in the end fails before minutes of work.
  if (!command.json.empty()) must(check_writable(command.json));
  Results results = new_results();
  command.run(results);
  if (is_data_only) {
    fmt::print("{}", to_json(results));
    return;
  }
  show(results);
  if (command.json.empty()) return;
  must(write_file(command.json, to_json(results)));
  fmt::print("\nResults: {}\n", command.json);
}

void run_report(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const Result<Results> results = results_from_json(must(read_file(file)));
    if (!results) throw Failure(fmt::format("{}: {}", file, results.error().message));
    fmt::print("{}{}\n", &file == &files.front() ? "" : "\n", file);
    show(*results);
  }
}

int run(int argc, char** argv) {
  CLI::App program("Measures Mayfly beside other systems on this machine.", "mayfly-bench");
  program.footer(kExamples);
  program.set_version_flag("--version", fmt::format("mayfly-bench {}", kMayflyVersion));
  program.allow_extras();
  program.require_subcommand(0, 1);

  ExpiryOptions expiry_options;
  StoreOptions store_options;
  ServerOptions server_options;
  std::vector<std::string> files;
  Command expiry(program, "expiry", "Compare the expiry strategies", kExpiryExamples);
  Command cache(program, "cache", "Measure reads of the cache", kCacheExamples);
  Command store(program, "store", "Compare the store with LMDB, SQLite and RocksDB",
                kStoreExamples);
  Command server(program, "server", "Compare the server with other servers", kServerExamples);
  Command report(program, "report", "Show results that were written with --json", kReportExamples);
  add_expiry(expiry, expiry_options);
  cache.run = [](Results& results) {
    GetsPlan plan;
    plan.threads = std::max(2u, results.machine.cores);
    run_gets(plan, results);
  };
  add_store(store, store_options);
  add_server(server, server_options);
  report.app->add_option("FILE", files, "Results")->required();
  for (Command* const suite : {&expiry, &cache, &store, &server}) suite->add_json();

  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return program.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    throw Failure(wrong.what());
  }
  check_words(program);
  for (const Command* const command : {&expiry, &cache, &store, &server, &report}) {
    if (!command->app->parsed()) continue;
    check_words(*command->app);
    if (command == &report) {
      run_report(files);
    } else {
      run_suite(*command);
    }
    return 0;
  }
  fmt::print("{}", program.help());
  return 0;
}

}  // namespace
}  // namespace mayfly::bench

// Read by jemalloc, as in the program mayfly: a thread of its own gives pages back to the system.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true";
}

int main(int argc, char** argv) {
  try {
    return mayfly::bench::run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "mayfly-bench: {}\nTry 'mayfly-bench --help'.\n", failure.what());
    return 1;
  }
}
