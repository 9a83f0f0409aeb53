// SPDX-License-Identifier: Apache-2.0
#include "cli/rdb/rdb_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/rdb/rdb_check.h"
#include "cli/rdb/rdb_dump.h"
#include "cli/rdb/rdb_report.h"
#include "cli/rdb/rdb_summary.h"
#include "mayfly/clock.h"
#include "persist/disk/disk.h"
#include "tools/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kLargeFile = 64 << 20;  // 64 MiB: a fraction of a second

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly rdb dump.rdb                      what is in it: types, sizes, deadlines\n"
    "  mayfly rdb dump.rdb --json               the same as data\n"
    "  mayfly rdb dump.rdb --dump               a line of JSON for every key\n"
    "  mayfly rdb dump.rdb --dump --keys 'user:*' | jq .key\n"
    "  mayfly rdb dump.rdb --check              is it sound? if not, which key, and where\n"
    "\n"
    "It reads files of Redis 6 to 8, Valkey 8 and 9, and Mayfly; none is ever changed. Deadlines\n"
    "are in milliseconds since 1970. Bytes that are not UTF-8 are printed as {\"base64\": ...}.\n"
    "--dump prints the values of strings and hashes; of lists, sets, sorted sets and streams it\n"
    "prints how many elements they have.\n"
    "Exit code 0: sound; 1: damaged, or it could not be read.";

}  // namespace

void add_rdb_command(Program& program) {
  CliCommand rdb = program.add("rdb", "Look into an RDB file, or check it", kExamples);
  const auto command = program.keep<RdbCommand>(rdb);
  program.on(rdb, [command] { return command->run(); });
}

RdbCommand::RdbCommand(CliCommand rdb) {
  rdb.add_option("FILE", path_, "An RDB file").required();
  rdb.add_option("--keys", keys_, "Only keys whose names match (default *)").type_name("GLOB");
  rdb.add_flag("--json", as_json_, "What is in it, or what --check says, as JSON");
  const CliOption dump =
      rdb.add_flag("--dump", dumps_, "Each key, with the value of strings and hashes, as JSON");
  rdb.add_flag("--check", checks_, "Only say whether it is sound").excludes(dump);
}

Result<Exit> RdbCommand::run() const {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    return Error{Code::invalid, fmt::format("{} is a directory, not an RDB file", path_)};
  }
  SystemDisk disk;
  const Result<std::unique_ptr<ByteSource>> source = disk.open(path_);
  if (!source) return source.error();
  if (checks_) return check(**source);
  return exit_of(dumps_ ? dump(**source) : summarize(**source));
}

Status RdbCommand::walk(RdbParser& parser, ByteSource& source) const {
  const bool is_watched = source.size() > kLargeFile && is_terminal(STDERR_FILENO) &&
                          !(dumps_ && is_terminal(STDOUT_FILENO));
  Progress progress(stderr, is_watched, static_cast<double>(source.size()));
  progress.begin(path_);
  std::uint64_t shown = 0;
  for (;;) {
    const Result<bool> ended = parser.step();
    if (!ended) {
      return Error{ended.error().code, fmt::format("{}: {}", path_, ended.error().message)};
    }
    if (*ended) return Done{};
    if (parser.offset() - shown < kLargeFile / 64) continue;
    progress.add(static_cast<double>(parser.offset() - shown));
    shown = parser.offset();
  }
}

Status RdbCommand::summarize(ByteSource& source) const {
  RdbCounter counter(SystemClock().now());
  RdbFilter filter(keys_, counter);
  RdbParser parser(source, filter);
  counter.watch(parser);
  if (Status status = walk(parser, source); !status) return status;
  const RdbSummary summary = counter.summary();
  fmt::print("{}", as_json_ ? rdb_summary_to_json(path_, summary)
                            : render_rdb_summary(path_, summary, Colours(wants_colours())));
  return Done{};
}

Status RdbCommand::dump(ByteSource& source) const {
  RdbDump printer;
  RdbFilter filter(keys_, printer);
  RdbParser parser(source, filter);
  return walk(parser, source);
}

Result<Exit> RdbCommand::check(ByteSource& source) const {
  RdbCheck checker;
  RdbParser parser(source, checker);
  const Status status = walk(parser, source);
  if (!status && (!as_json_ || status.error().code != Code::corrupt)) return status.error();
  if (!as_json_) {
    fmt::print("{}: sound, {} keys, {} bytes\n", path_, checker.keys(), parser.offset());
    return Exit::ok;
  }
  // Damage is a finding, and not only a complaint.
  const std::string problem = status ? "null" : bytes_as_json(status.error().message);
  fmt::print(R"({{"file": {}, "ok": {}, "keys": {}, "bytes": {}, "problem": {}}})",
             bytes_as_json(path_), status.ok(), checker.keys(), parser.offset(), problem);
  fmt::print("\n");
  return status ? Exit::ok : Exit::failed;
}

}  // namespace mayfly
