// SPDX-License-Identifier: Apache-2.0
// list, scan and count: walks over the keys of a family.

#include <fmt/format.h>

#include "cli/import/imported_keys.h"
#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "cli/ttl_words.h"
#include "tools/option_words.h"

namespace mayfly {
namespace {

using Use = StoreFile::Use;

constexpr const char* kListExamples =
    "Examples:\n"
    "  mayfly list --db app.db                                all keys, in the order of their "
    "bytes\n"
    "  mayfly list --db app.db --prefix session: --ttl        with what they have still to live\n"
    "  mayfly list --db app.db --seek m --limit 10            ten, from 'm' on\n"
    "  mayfly list --db app.db --reverse --limit 1            the last one\n"
    "A key that is no text, or has a new line or a tab in it, is shown as <hex:...>.";

constexpr const char* kScanExamples =
    "Examples:\n"
    "  mayfly scan --db app.db                        KEY, a tab, VALUE; a line for each entry\n"
    "  mayfly scan --db app.db --prefix session: --json | jq .value\n"
    "  mayfly scan --db app.db --seek m --reverse     from 'm' on, backwards\n"
    "  mayfly scan --db app.db --cf hash              KEY, FIELD, VALUE of hashes that were "
    "imported\n"
    "What is no text, or has a new line or a tab in it, is shown as <hex:...>. For all of a "
    "store,\n"
    "to be loaded again, see 'mayfly dump'.";

constexpr const char* kCountExamples =
    "Examples:\n"
    "  mayfly count --db app.db                        entries that have not expired\n"
    "  mayfly count --db app.db --prefix session:      of these, those that begin so";

struct Words {
  std::string prefix;
  std::string seek;
  std::string limit;
  bool is_reverse = false;
  bool is_ttl = false;
  bool has_values = false;  // scan
};

// The same with all that was written understood.
struct Walk {
  std::string prefix;
  std::string seek;
  std::uint64_t limit = UINT64_MAX;
};

Result<Walk> walk_of(const Words& words, const StoreFile& file) {
  Walk walk;
  if (!words.limit.empty()) {
    const auto limit = parse_number<std::uint64_t>("--limit", words.limit, 0, INT64_MAX);
    if (!limit) return limit.error();
    walk.limit = *limit;
  }
  if (words.prefix == "-" && words.seek == "-") {
    return Error{Code::invalid, "the standard input cannot be both --prefix and --seek"};
  }
  const Result<std::string> prefix = file.bytes().read(words.prefix);
  if (!prefix) return prefix.error();
  const Result<std::string> seek = file.bytes().read(words.seek);
  if (!seek) return seek.error();
  walk.prefix = *prefix;
  walk.seek = *seek;
  return walk;
}

bool start(Cursor& cursor, const Walk& walk, bool is_reverse) {
  if (walk.seek.empty()) return is_reverse ? cursor.last() : cursor.first();
  return is_reverse ? cursor.seek_before(walk.seek) : cursor.seek(walk.seek);
}

void add_line(std::string& out, const Cursor& cursor, const Words& words, const EntryText& text,
              Time now) {
  out += words.has_values ? text.entry_line(cursor.key(), cursor.value())
                          : text.key_line(cursor.key());
  if (words.is_ttl) {
    const Time deadline = cursor.deadline();
    out += '\t';
    out += deadline == kNever ? "no ttl" : time_left_text(remaining(deadline, now));
  }
  out += '\n';
}

void add_object(std::string& out, const Cursor& cursor, const Words& words, const EntryText& text,
                Time now) {
  out += "{";
  out += words.has_values ? text.entry_json(cursor.key(), cursor.value())
                          : text.key_json(cursor.key());
  if (words.is_ttl) {
    out += ", ";
    out += deadline_json(cursor.deadline(), now);
  }
  out += "}\n";
}

// Whoever has written `keys 'user:*'` in redis-cli does so here.
void explain_pattern(std::string_view prefix, const StoreFile& file) {
  if (prefix.find('*') == prefix.npos) return;
  fmt::print(stderr,
             "mayfly: no key begins with '{}'; a prefix is no pattern, so leave the '*' out\n",
             file.bytes().text(prefix));
}

Result<Exit> show(const Words& words, const StoreFile& file) {
  const Result<Walk> walk = walk_of(words, file);
  if (!walk) return walk.error();
  const Result<StoreFile::Opened> opened = file.open_family(Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  Result<Cursor> cursor = txn->cursor({.prefix = walk->prefix}, opened->family);
  if (!cursor) return cursor.error();

  Lines lines;
  const EntryText text(file, file.family_name());
  std::uint64_t left = walk->limit;
  const auto add = file.is_json() ? add_object : add_line;
  for (bool on = left > 0 && start(*cursor, *walk, words.is_reverse); on;
       on = --left > 0 && (words.is_reverse ? cursor->prev() : cursor->next())) {
    add(lines.text(), *cursor, words, text, txn->now());
    if (!lines.go_on()) break;
  }
  const bool is_none = left == walk->limit;
  const Status written = lines.finish();
  if (const Status read = cursor->status(); !read) return read.error();
  if (is_none) explain_pattern(walk->prefix, file);
  return exit_of(written);
}

Result<std::uint64_t> count_prefix(const ReadTxn& txn, const std::string& prefix, Family family) {
  Result<Cursor> cursor = txn.cursor({.prefix = prefix}, family);
  if (!cursor) return cursor.error();
  std::uint64_t entries = 0;
  for (bool on = cursor->first(); on; on = cursor->next()) ++entries;
  if (const Status status = cursor->status(); !status) return status.error();
  return entries;
}

Result<Exit> count(const Words& words, const StoreFile& file) {
  const Result<Walk> walk = walk_of(words, file);
  if (!walk) return walk.error();
  const Result<StoreFile::Opened> opened = file.open_family(Use::read);
  if (!opened) return opened.error();
  const Result<ReadTxn> txn = opened->store.read();
  if (!txn) return txn.error();
  std::uint64_t entries = 0;
  if (walk->prefix.empty()) {
    const Result<FamilyCounts> counts = txn->count(opened->family);
    if (!counts) return counts.error();
    entries = counts->live;
  } else {
    const Result<std::uint64_t> counted = count_prefix(*txn, walk->prefix, opened->family);
    if (!counted) return counted.error();
    entries = *counted;
  }
  fmt::print(fmt::runtime(file.is_json() ? "{{\"count\": {}}}\n" : "{}\n"), entries);
  return Exit::ok;
}

Words* add(Program& program, StoreFile* file, const char* name, const char* what,
           const char* examples) {
  const auto words = program.keep<Words>();
  CliCommand command = program.add(name, what, examples);
  const CliOption prefix =
      command.add_option("--prefix", words->prefix, "Only keys that begin with this")
          .type_name("PREFIX");
  command.add_option("PREFIX", words->prefix, "The same").excludes(prefix);
  const bool is_count = std::string_view(name) == "count";
  if (!is_count) {
    command.add_option("--seek", words->seek, "Begin at this key, or the next one there is")
        .type_name("KEY");
    add_word(command, "--limit", words->limit, "N", "The most entries to show (all)");
    command.add_flag("--reverse", words->is_reverse, "From the last to the first");
    command.add_flag("--ttl", words->is_ttl, "Show what each has still to live");
  }
  file->add_options(command);
  file->add_byte_options(command);
  const auto work = is_count ? count : show;
  program.on(command, [words, file, work] { return work(*words, *file); });
  return words;
}

}  // namespace

void add_scan_commands(Program& program, StoreFile* file) {
  add(program, file, "list", "List keys", kListExamples);
  add(program, file, "scan", "List keys and values", kScanExamples)->has_values = true;
  add(program, file, "count", "Count the entries that have not expired", kCountExamples);
}

}  // namespace mayfly
