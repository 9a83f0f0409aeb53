// SPDX-License-Identifier: Apache-2.0
// `mayfly rdb FILE`: summarizes, prints or checks an RDB file.

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/rdb/rdb_check.h"
#include "cli/rdb/rdb_dump.h"
#include "cli/rdb/rdb_summary.h"
#include "mayfly/clock.h"
#include "persist/disk/disk.h"
#include "text/byte_text.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kLargeFile = 64 << 20;  // 64 MiB: a fraction of a second

constexpr const char* kRdbExamples =
    "Examples:\n"
    "  mayfly rdb dump.rdb                      summary: types, sizes, expiry times\n"
    "  mayfly rdb dump.rdb --json               the summary as JSON\n"
    "  mayfly rdb dump.rdb --dump               one line of JSON per key\n"
    "  mayfly rdb dump.rdb --dump --keys 'user:*' | jq .key\n"
    "  mayfly rdb dump.rdb --check              check for damage; names the key and the offset\n"
    "\n"
    "Reads files of Redis 6 to 8, Valkey 8 and 9, and Mayfly, and never changes them. Expiry\n"
    "times are in milliseconds since 1970. Bytes that are not UTF-8 become {\"base64\": ...}.\n"
    "--dump prints keys of every type with all that they hold, also the groups of streams.\n"
    "Exit code 0: no damage found; 1: damaged or unreadable.";

class RdbCommand {
 public:
  // Adds its options to `rdb`.
  explicit RdbCommand(CliCommand rdb);

  Result<Exit> run() const;

 private:
  Status summarize(ByteSource& source) const;
  Status dump(ByteSource& source) const;
  Result<Exit> check(ByteSource& source) const;
  Status walk(RdbParser& parser, ByteSource& source) const;

  std::string path_;
  std::string keys_ = "*";
  bool as_json_ = false;
  bool dumps_ = false;
  bool checks_ = false;
};

RdbCommand::RdbCommand(CliCommand rdb) {
  rdb.add_option("FILE", path_, "The RDB file").required();
  rdb.add_option("--keys", keys_, "Only keys that match a pattern (default *)").type_name("GLOB");
  rdb.add_flag("--json", as_json_, "Print the summary or the result of --check as JSON");
  const CliOption dump = rdb.add_flag("--dump", dumps_, "Print one line of JSON per key");
  rdb.add_flag("--check", checks_, "Only check for damage").excludes(dump);
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
  const bool is_visible = source.size() > kLargeFile && is_terminal(STDERR_FILENO) &&
                          !(dumps_ && is_terminal(STDOUT_FILENO));
  Progress progress(stderr, is_visible, static_cast<double>(source.size()));
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
    fmt::print("{}: ok, {} keys, {} bytes\n", path_, checker.keys(), parser.offset());
    return Exit::ok;
  }
  // With --json, damage is a result, not an error message.
  const std::string problem = status ? "null" : bytes_as_json(status.error().message);
  fmt::print(R"({{"file": {}, "ok": {}, "keys": {}, "bytes": {}, "problem": {}}})",
             bytes_as_json(path_), status.ok(), checker.keys(), parser.offset(), problem);
  fmt::print("\n");
  return status ? Exit::ok : Exit::failed;
}

}  // namespace

void add_rdb_command(Program& program) {
  CliCommand rdb = program.add("rdb", "Inspect or check an RDB file", kRdbExamples);
  const auto command = program.keep<RdbCommand>(rdb);
  program.on(rdb, [command] { return command->run(); });
}

}  // namespace mayfly
