// SPDX-License-Identifier: Apache-2.0
// stat, check, compact, backup, sync and clear: the file as a whole, and its upkeep.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>

#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "cli/store/store_stat.h"
#include "tools/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kStatExamples =
    "Examples:\n"
    "  mayfly stat --db app.db\n"
    "  mayfly stat --db app.db --json | jq .free_pages\n"
    "It tells of the file and of each column family: what lives, what has a TTL, what has expired\n"
    "and is still to be removed (see 'mayfly purge'), and what expires next.";

constexpr const char* kCheckExamples =
    "Examples:\n"
    "  mayfly check --db app.db && echo sound\n"
    "It reads all of the file: is the tree sound, and do data and deadlines agree? It changes\n"
    "nothing. Exit code 1: the file is damaged; all that is wrong is said on stderr.";

constexpr const char* kCompactExamples =
    "Examples:\n"
    "  mayfly compact --db app.db     '40.1 MB -> 12.3 MB'\n"
    "It needs the store for itself: nobody else may have it open. What has expired still takes\n"
    "room until it is removed; 'mayfly purge --all' does that.";

constexpr const char* kBackupExamples =
    "Examples:\n"
    "  mayfly backup --db app.db app-$(date +%F).db\n"
    "A compact copy of one moment, made while others read and write. It is a store like any\n"
    "other. A file that is there already is left alone.";

constexpr const char* kSyncExamples =
    "Examples:\n"
    "  mayfly sync --db app.db     when it returns, no power cut can undo what was committed";

constexpr const char* kClearExamples =
    "Examples:\n"
    "  mayfly clear --db app.db                    all entries; it prints how many\n"
    "  mayfly clear --db app.db --cf sessions      those of one column family\n"
    "It asks no question.";

struct Words {
  std::string file;
  std::string ignored;  // what SNKV's tool takes and has no meaning here
  bool is_ignored = false;
};

Result<Exit> stat(const Words&, const StoreFile& file) {
  const Result<Store> store = file.open(Use::read);
  if (!store) return store.error();
  const Result<StoreSummary> summary = summarize(*store);
  if (!summary) return summary.error();
  fmt::print("{}",
             file.is_json() ? stat_json(*summary) : stat_text(*summary, Colours(wants_colours())));
  return Exit::ok;
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
    fmt::print("ok: {} pages and {} rows looked at\n", report.pages, report.entries);
  } else {
    for (const std::string& problem : report.problems) fmt::print(stderr, "mayfly: {}\n", problem);
    fmt::print(stderr, "mayfly: {} is damaged: {} {} in {} pages and {} rows\n", file.path(),
               report.problems.size(), report.problems.size() == 1 ? "problem" : "problems",
               report.pages, report.entries);
  }
}

// Damage that keeps the store from being opened is a finding, too.
Result<CheckReport> checked(const StoreFile& file) {
  const Result<Store> store = file.open(Use::read);
  if (store) return store->check();
  if (store.error().code != Code::corrupt) return store.error();
  CheckReport report;
  report.problems.push_back(store.error().message);
  return report;
}

Result<Exit> check(const Words&, const StoreFile& file) {
  const Result<CheckReport> report = checked(file);
  if (!report) return report.error();
  print_report(*report, file);
  return report->ok() ? Exit::ok : Exit::failed;
}

Result<Exit> compact(const Words&, const StoreFile& file) {
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

std::uint64_t size_of(const std::string& path) {
  std::error_code problem;
  const std::uintmax_t bytes = std::filesystem::file_size(path, problem);
  return problem ? 0 : bytes;
}

// The copy gets its name when it is whole; while it grows, its size tells how far it is.
Status backup_watched(const Store& store, const std::string& path) {
  const Result<StoreStats> stats = store.stats();
  if (!stats) return stats.error();
  const std::uint64_t total = (stats->pages - stats->free_pages) * stats->page_bytes;
  Progress progress(stderr, is_terminal(STDERR_FILENO), static_cast<double>(total));
  auto copied = std::async(std::launch::async, [&] { return store.backup(path); });
  std::uint64_t seen = 0;
  while (copied.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) {
    const std::uint64_t bytes = std::max(seen, size_of(path + ".part"));
    progress.begin(size_text(bytes));
    progress.add(static_cast<double>(bytes - seen));
    seen = bytes;
  }
  return copied.get();
}

Result<Exit> backup(const Words& words, const StoreFile& file) {
  const Result<Store> store = file.open(Use::read);
  if (!store) return store.error();
  if (const Status status = backup_watched(*store, words.file); !status) return status.error();
  const std::uint64_t bytes = size_of(words.file);
  if (file.is_json()) {
    fmt::print("{{\"file\": {}, \"bytes\": {}}}\n", bytes_as_json(words.file), bytes);
  } else {
    fmt::print("{}: {}\n", words.file, size_text(bytes));
  }
  return Exit::ok;
}

Result<Exit> sync(const Words&, const StoreFile& file) {
  Result<Store> store = file.open(Use::change);
  if (!store) return store.error();
  if (const Status status = store->sync(); !status) return status.error();
  if (file.is_json()) fmt::print("{{\"synced\": true}}\n");
  return Exit::ok;
}

Result<Exit> clear(const Words&, const StoreFile& file) {
  Result<StoreFile::Opened> opened = file.open_family(Use::change);
  if (!opened) return opened.error();
  Result<WriteTxn> txn = opened->store.write();
  if (!txn) return txn.error();
  const Result<FamilyCounts> counts = txn->count(opened->family);
  if (!counts) return counts.error();
  txn->clear(opened->family);
  if (const Status status = txn->commit(); !status) return status.error();
  if (file.is_json()) {
    fmt::print("{{\"removed\": {}}}\n", counts->live);
  } else {
    fmt::print("{}\n", counts->live);
  }
  return Exit::ok;
}

using Work = Result<Exit> (*)(const Words&, const StoreFile&);

}  // namespace

void add_upkeep_commands(Program& program, StoreFile* file) {
  const auto words = program.keep<Words>();
  const auto add = [&](const char* name, const char* what, const char* examples,
                       Work work) -> CliCommand {
    CliCommand command = program.add(name, what, examples);
    file->add_options(command);
    if (work != clear) command.remove_option("--cf");  // it is about them all
    program.on(command, [words, file, work] { return work(*words, *file); });
    return command;
  };
  CliCommand stats = add("stat", "Tell what is in the file", kStatExamples, stat);
  stats.add_flag("--reset", words->is_ignored, "No effect; SNKV's tool has it").group("");
  add("check", "Look whether the file is sound", kCheckExamples, check);
  CliCommand compacting = add("compact", "Make the file smaller", kCompactExamples, compact);
  compacting.add_option("--pages", words->ignored, "No effect; SNKV's tool has it").group("");
  CliCommand copying = add("backup", "Copy the store to a new file", kBackupExamples, backup);
  add_word(copying, "FILE", words->file, "", "The new file").required();
  CliCommand syncing = add("sync", "Wait until all is on disk", kSyncExamples, sync);
  syncing.add_option("--mode", words->ignored, "No effect; SNKV's tool has it").group("");
  add("clear", "Remove all entries of a column family", kClearExamples, clear);
}

}  // namespace mayfly
