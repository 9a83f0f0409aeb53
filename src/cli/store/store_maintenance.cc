// SPDX-License-Identifier: Apache-2.0
// stat, check, compact, backup, sync, checkpoint and clear: the store file as a whole.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>
#include <optional>

#include "cli/commands.h"
#include "cli/store/store_answers.h"
#include "cli/ttl_words.h"
#include "text/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kStatExamples =
    "Examples:\n"
    "  mayfly stat --db app.db\n"
    "  mayfly stat --db app.db --json | jq .free_pages\n"
    "  mayfly stat --db app.db --watch 1s        a line every second; Ctrl-C ends it\n"
    "  mayfly stat --db app.db --ttl             how many entries expire when\n"
    "  mayfly stat --db app.db --prometheus > mayfly.prom     for its textfile collector\n"
    "Shows the file size, and for each column family the number of entries, entries with a\n"
    "TTL, expired entries not yet removed (see 'mayfly purge'), and the next expiry. While other\n"
    "processes have the store open, also its log: the last changes, of which those that are\n"
    "'pending' are not in the file yet. With --watch: bytes per second that all processes log,\n"
    "and that checkpoints apply to the file. With --ttl or --prometheus it reads the deadline of\n"
    "each entry that has one; --bytes takes longer.";

constexpr const char* kCheckExamples =
    "Examples:\n"
    "  mayfly check --db app.db && echo ok\n"
    "Reads the whole file and its log, checks the page tree, and compares entries with the expiry\n"
    "index. Changes nothing. Exit code 1: the file is damaged; every problem is listed on stderr.";

constexpr const char* kCompactExamples =
    "Examples:\n"
    "  mayfly compact --db app.db     '40.1 MB -> 12.3 MB'\n"
    "No other process may have the store open. Expired entries take space until they are removed;\n"
    "run 'mayfly purge --all' first.";

constexpr const char* kBackupExamples =
    "Examples:\n"
    "  mayfly backup --db app.db app-$(date +%F).db\n"
    "Writes a compact snapshot while others read and write. The copy is a normal store file, and\n"
    "needs no other file: what is in the log is in it. An existing file is not overwritten.";

constexpr const char* kSyncExamples =
    "Examples:\n"
    "  mayfly sync --db app.db     after this, a power failure loses no committed data";

constexpr const char* kCheckpointExamples =
    "Examples:\n"
    "  mayfly checkpoint --db app.db                     '120 of 120 transactions'\n"
    "  mayfly checkpoint --db app.db --mode truncate     also removes FILE-wal until the next "
    "write\n"
    "Writes what is in the log of a store in use to the file, on disk. It happens by itself when\n"
    "the log is full, and when the last process closes the store. passive waits for no writer and\n"
    "does what it can; the others wait for --timeout. restart is the same as full.";

constexpr const char* kClearExamples =
    "Examples:\n"
    "  mayfly clear --db app.db                    deletes all entries and prints their number\n"
    "  mayfly clear --db app.db --cf sessions      only one column family\n"
    "Does not ask for confirmation.";

struct MaintenanceArgs {
  std::string file;
  std::string mode = "full";
  std::string interval;
  StatOptions stat;
  std::string ignored;  // options of SNKV's tool without a meaning here
  bool is_ignored = false;
};

constexpr Millis kWatchLeast{100};

Result<Exit> run_stat(const MaintenanceArgs& args, const StoreFile& file) {
  const bool watches = !args.interval.empty();
  StatOptions options = args.stat;
  options.has_histogram = options.has_histogram || options.has_bytes || options.is_prometheus;
  if (watches && options.has_histogram) {
    return Error{Code::invalid,
                 "--watch shows no deadlines (leave out --ttl, --bytes and "
                 "--prometheus, or --watch)"};
  }
  if (options.is_prometheus && file.is_json()) {
    return Error{Code::invalid, "give either --json or --prometheus"};
  }
  const Result<Millis> interval = watches ? parse_duration(args.interval) : Millis(0);
  if (!interval) return interval.error();
  if (watches && *interval < kWatchLeast) {
    return Error{Code::invalid, "--watch takes at least 100ms"};
  }
  std::optional<StopSignals> stop;
  if (watches) stop.emplace();  // before the store has threads
  const Result<Store> store = file.open(Use::read);
  if (!store) return store.error();
  return exit_of(watches ? watch_stat(*store, file, *interval, *stop)
                         : print_stat(*store, file, options));
}

void print_report(const CheckReport& report, const StoreFile& file) {
  if (file.is_json()) {
    std::string problems;
    for (const std::string& problem : report.problems) {
      problems += (problems.empty() ? "" : ", ") + bytes_as_json(problem);
    }
    fmt::print("{{\"ok\": {}, \"pages\": {}, \"rows\": {}, \"problems\": [{}]}}\n", report.ok(),
               report.pages, report.entries, problems);
  } else if (report.ok()) {
    fmt::print("ok: {} pages and {} rows checked\n", report.pages, report.entries);
  } else {
    for (const std::string& problem : report.problems) fmt::print(stderr, "mayfly: {}\n", problem);
    fmt::print(stderr, "mayfly: {} is damaged: {} {} in {} pages and {} rows\n", file.path(),
               report.problems.size(), report.problems.size() == 1 ? "problem" : "problems",
               report.pages, report.entries);
  }
}

// Damage that prevents opening the store is a problem in the report, too. It is opened read-only:
// otherwise closing it would write its log to a file that may be damaged. One that a power cut has
// left in an old format must be recovered first.
Result<CheckReport> check_file(const StoreFile& file) {
  Result<Store> store = file.open(Use::look);
  if (!store && store.error().code == Code::denied) store = file.open(Use::read);
  if (store) return store->check();
  if (store.error().code != Code::corrupt) return store.error();
  CheckReport report;
  report.problems.push_back(store.error().message);
  return report;
}

Result<Exit> run_check(const MaintenanceArgs&, const StoreFile& file) {
  const Result<CheckReport> report = check_file(file);
  if (!report) return report.error();
  print_report(*report, file);
  return report->ok() ? Exit::ok : Exit::failed;
}

Result<Exit> run_compact(const MaintenanceArgs&, const StoreFile& file) {
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  const Result<StoreStats> before = store->stats();
  if (!before) return before.error();
  if (const Status status = store->compact(); !status) return status.error();
  const Result<StoreStats> after = store->stats();
  if (!after) return after.error();
  if (file.is_json()) {
    fmt::print("{{\"before_bytes\": {}, \"after_bytes\": {}}}\n", before->file_bytes,
               after->file_bytes);
  } else {
    fmt::print("{} -> {}\n", size_text(before->file_bytes), size_text(after->file_bytes));
  }
  return Exit::ok;
}

std::uint64_t file_bytes(const std::string& path) {
  std::error_code problem;
  const std::uintmax_t bytes = std::filesystem::file_size(path, problem);
  return problem ? 0 : bytes;
}

// While the copy is written it is called PATH.part; its size is the progress.
Status backup_with_progress(const Store& store, const std::string& path) {
  const Result<StoreStats> stats = store.stats();
  if (!stats) return stats.error();
  const std::uint64_t total = (stats->pages - stats->free_pages) * stats->page_bytes;
  Progress progress(stderr, is_terminal(STDERR_FILENO), static_cast<double>(total));
  auto copied = std::async(std::launch::async, [&] { return store.backup(path); });
  std::uint64_t seen = 0;
  while (copied.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) {
    const std::uint64_t bytes = std::max(seen, file_bytes(path + ".part"));
    progress.begin(size_text(bytes));
    progress.add(static_cast<double>(bytes - seen));
    seen = bytes;
  }
  return copied.get();
}

Result<Exit> run_backup(const MaintenanceArgs& args, const StoreFile& file) {
  const Result<Store> store = file.open(Use::read);
  if (!store) return store.error();
  if (const Status status = backup_with_progress(*store, args.file); !status) return status.error();
  const std::uint64_t bytes = file_bytes(args.file);
  if (file.is_json()) {
    fmt::print("{{\"file\": {}, \"bytes\": {}}}\n", bytes_as_json(args.file), bytes);
  } else {
    fmt::print("{}: {}\n", args.file, size_text(bytes));
  }
  return Exit::ok;
}

Result<Exit> run_sync(const MaintenanceArgs&, const StoreFile& file) {
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  if (const Status status = store->sync(); !status) return status.error();
  if (file.is_json()) fmt::print("{{\"synced\": true}}\n");
  return Exit::ok;
}

Result<Exit> run_checkpoint(const MaintenanceArgs& args, const StoreFile& file) {
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  const CheckpointMode mode = args.mode == "passive"    ? CheckpointMode::passive
                              : args.mode == "truncate" ? CheckpointMode::truncate
                                                        : CheckpointMode::full;
  const Result<Checkpointed> done = store->checkpoint(mode);
  if (!done) return done.error();
  if (file.is_json()) {
    fmt::print("{{\"pending\": {}, \"applied\": {}}}\n", done->pending, done->applied);
  } else {
    fmt::print("{} of {} {}\n", done->applied, done->pending,
               done->pending == 1 ? "transaction" : "transactions");
  }
  return Exit::ok;
}

Result<Exit> run_clear(const MaintenanceArgs&, const StoreFile& file) {
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  Result<WriteTxn> txn = opened->store.write();
  if (!txn) return txn.error();
  const Result<FamilyCounts> counts = txn->count(opened->family);
  if (!counts) return counts.error();
  txn->clear(opened->family);
  if (const Status status = txn->commit(); !status) return status.error();
  fmt::print(fmt::runtime(file.is_json() ? "{{\"removed\": {}}}\n" : "{}\n"), counts->live);
  return Exit::ok;
}

}  // namespace

void add_maintenance_commands(Program& program, StoreFile* file) {
  constexpr const char* kIgnored = "Ignored; accepted for compatibility with SNKV";
  const auto args = program.keep<MaintenanceArgs>();
  const auto add = [&](const char* name, const char* what, const char* examples, auto run) {
    CliCommand command = file->add_command(program, name, what, examples, args, run);
    if (run != run_clear) command.remove_option("--cf");  // it is about all families
    return command;
  };
  CliCommand stat = add("stat", "Show statistics of the store file", kStatExamples, run_stat);
  stat.add_option("--watch", args->interval, "Print a line every TIME until interrupted")
      .type_name("TIME");
  stat.add_flag("--ttl", args->stat.has_histogram, "Show how many entries expire when");
  stat.add_flag("--bytes", args->stat.has_bytes, "The same, and the bytes of keys and values");
  stat.add_flag("--prometheus", args->stat.is_prometheus,
                "Print all of it in the text format of Prometheus");
  stat.add_flag("--reset", args->is_ignored, kIgnored).group("");
  add("check", "Check the file for damage", kCheckExamples, run_check);
  add("compact", "Shrink the file", kCompactExamples, run_compact)
      .add_option("--pages", args->ignored, kIgnored)
      .group("");
  add("backup", "Copy the store to a new file", kBackupExamples, run_backup)
      .add_text("FILE", args->file, "", "The new file")
      .required();
  add("sync", "Flush committed data to disk", kSyncExamples, run_sync)
      .add_option("--mode", args->ignored, kIgnored)
      .group("");
  add("checkpoint", "Write the log to the file", kCheckpointExamples, run_checkpoint)
      .add_option("--mode", args->mode, "What to wait for (default full)")
      .type_name("MODE")
      .one_of({"passive", "full", "restart", "truncate"});
  add("clear", "Delete all entries of a column family", kClearExamples, run_clear);
}

}  // namespace mayfly
