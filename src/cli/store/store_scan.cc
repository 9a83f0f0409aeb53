// SPDX-License-Identifier: Apache-2.0
// list, scan and count: the keys of a column family in order.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/ttl_words.h"
#include "tools/option_words.h"

namespace mayfly {
namespace {

constexpr const char* kListKeysExamples =
    "Examples:\n"
    "  mayfly list --db app.db                                all keys, in byte order\n"
    "  mayfly list --db app.db --prefix session: --ttl        with their remaining TTL\n"
    "  mayfly list --db app.db --seek m --limit 10            ten keys, starting at 'm'\n"
    "  mayfly list --db app.db --reverse --limit 1            the last key\n"
    "A key that is not UTF-8, or contains a newline or a tab, is printed as <hex:...>.";

constexpr const char* kScanExamples =
    "Examples:\n"
    "  mayfly scan --db app.db                        KEY, a tab, VALUE; one line per entry\n"
    "  mayfly scan --db app.db --prefix session: --json | jq .value\n"
    "  mayfly scan --db app.db --seek m --reverse     backwards, starting at 'm'\n"
    "  mayfly scan --db app.db --cf hash              KEY, FIELD, VALUE of imported hashes\n"
    "Bytes that are not UTF-8, or contain a newline or a tab, are printed as <hex:...>.\n"
    "To export a store so that it can be loaded again use 'mayfly dump'.";

constexpr const char* kCountExamples =
    "Examples:\n"
    "  mayfly count --db app.db                        unexpired entries\n"
    "  mayfly count --db app.db --prefix session:      those with this prefix";

struct ScanArgs {
  Walk walk;  // prefix and seek as they were given
  std::string limit;
};

Result<Walk> walk_of(const ScanArgs& args, const StoreFile& file) {
  Walk walk = args.walk;
  if (!args.limit.empty()) {
    const auto limit = parse_number<std::uint64_t>("--limit", args.limit, 0, INT64_MAX);
    if (!limit) return limit.error();
    walk.limit = *limit;
  }
  if (walk.prefix == "-" && walk.seek == "-") {
    return Error{Code::invalid, "cannot read both --prefix and --seek from standard input"};
  }
  for (std::string* const word : {&walk.prefix, &walk.seek}) {
    Result<std::string> bytes = file.bytes().read(*word);
    if (!bytes) return bytes.error();
    *word = std::move(*bytes);
  }
  return walk;
}

bool start(Cursor& cursor, const Walk& walk) {
  if (walk.seek.empty()) return walk.is_reverse ? cursor.last() : cursor.first();
  return walk.is_reverse ? cursor.seek_before(walk.seek) : cursor.seek(walk.seek);
}

std::string walk_line(const Cursor& cursor, const Walk& walk, Time now, const EntryText& text,
                      bool is_json) {
  std::string line = is_json ? "{" : "";
  if (walk.has_values) {
    line += is_json ? text.entry_json(cursor.key(), cursor.value())
                    : text.entry_line(cursor.key(), cursor.value());
  } else {
    line += is_json ? text.key_json(cursor.key()) : text.key_line(cursor.key());
  }
  if (walk.has_ttl) {
    const Time deadline = cursor.deadline();
    line += is_json              ? ", " + deadline_json(deadline, now)
            : deadline == kNever ? "\tno ttl"
                                 : "\t" + time_left_text(remaining(deadline, now));
  }
  return line + (is_json ? "}\n" : "\n");
}

Result<Exit> run_walk(const ScanArgs& args, const StoreFile& file) {
  const Result<Walk> walk = walk_of(args, file);
  if (!walk) return walk.error();
  const Result<StoreFile::Opened> opened = file.open_family(StoreFile::Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  const Result<std::uint64_t> printed =
      print_walk(*walk, *txn, opened->family, file.family_name(), file, nullptr);
  if (!printed) return printed.error();
  // Someone may write a pattern, as in redis-cli: keys 'user:*'.
  if (*printed == 0 && walk->prefix.find('*') != std::string::npos) {
    fmt::print(stderr,
               "mayfly: no key starts with '{}' (a prefix is not a pattern: leave out the '*')\n",
               file.bytes().text(walk->prefix));
  }
  return Exit::ok;
}

Result<Exit> run_count(const ScanArgs& args, const StoreFile& file) {
  const Result<Walk> walk = walk_of(args, file);
  if (!walk) return walk.error();
  const Result<StoreFile::Opened> opened = file.open_family(StoreFile::Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  return exit_of(print_count(walk->prefix, *txn, opened->family, file));
}

}  // namespace

Result<std::uint64_t> print_walk(const Walk& walk, const ReadTxn& txn, Family family,
                                 std::string_view family_name, const StoreFile& file,
                                 IsStopped is_stopped) {
  Result<Cursor> cursor = txn.cursor({.prefix = walk.prefix}, family);
  if (!cursor) return cursor.error();
  Lines lines;
  const EntryText text(file, family_name);
  std::uint64_t printed = 0;
  for (bool on = walk.limit > 0 && start(*cursor, walk); on;
       on = printed < walk.limit && (walk.is_reverse ? cursor->prev() : cursor->next())) {
    lines.text() += walk_line(*cursor, walk, txn.now(), text, file.is_json());
    ++printed;
    if (!lines.go_on() || (is_stopped != nullptr && is_stopped())) break;
  }
  const Status written = lines.finish();
  if (const Status read = cursor->status(); !read) return read.error();
  if (!written) return written.error();
  return printed;
}

Status print_count(const std::string& prefix, const ReadTxn& txn, Family family,
                   const StoreFile& file) {
  std::uint64_t entries = 0;
  if (prefix.empty()) {
    const Result<FamilyCounts> counts = txn.count(family);
    if (!counts) return counts.error();
    entries = counts->live;
  } else {
    Result<Cursor> cursor = txn.cursor({.prefix = prefix}, family);
    if (!cursor) return cursor.error();
    for (bool on = cursor->first(); on; on = cursor->next()) ++entries;
    if (const Status status = cursor->status(); !status) return status;
  }
  fmt::print(fmt::runtime(file.is_json() ? "{{\"count\": {}}}\n" : "{}\n"), entries);
  return Done{};
}

void add_scan_commands(Program& program, StoreFile* file) {
  const auto add = [&](const char* name, const char* what, const char* examples, auto run) {
    ScanArgs* const args = program.keep<ScanArgs>();
    const CliCommand command = file->add_command(program, name, what, examples, args, run);
    const CliOption prefix =
        command.add_option("--prefix", args->walk.prefix, "Only keys that start with PREFIX")
            .type_name("PREFIX");
    command.add_option("PREFIX", args->walk.prefix, "Same as --prefix").excludes(prefix);
    if (run != run_count) {
      command.add_option("--seek", args->walk.seek, "Start at this key, or at the next one")
          .type_name("KEY");
      command.add_text("--limit", args->limit, "N", "Maximum number of entries (default: all)");
      command.add_flag("--reverse", args->walk.is_reverse, "In reverse order");
      command.add_flag("--ttl", args->walk.has_ttl, "Show the remaining TTL of each");
    }
    file->add_byte_options(command);
    return args;
  };
  add("list", "List keys", kListKeysExamples, run_walk);
  add("scan", "List keys and values", kScanExamples, run_walk)->walk.has_values = true;
  add("count", "Count unexpired entries", kCountExamples, run_count);
}

}  // namespace mayfly
