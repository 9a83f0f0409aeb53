// SPDX-License-Identifier: Apache-2.0
// load: stores the entries of a dump (store_dump.cc).

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/store/entry_json.h"
#include "cli/store/store_file.h"
#include "text/byte_text.h"
#include "tools/files.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kLoadExamples =
    "Examples:\n"
    "  mayfly load --db app.db app.jsonl                load a file written by 'mayfly dump'\n"
    "  gzip -dc app.jsonl.gz | mayfly load --db app.db\n"
    "  mayfly load --db app.db app.jsonl --if-absent    keep existing keys\n"
    "  mayfly load --db app.db app.jsonl --cf sessions  only one column family\n"
    "  mayfly load --db app.db app.jsonl --dry-run      check the file, change nothing\n"
    "Each line is a JSON object:\n"
    "  {\"key\":\"a\",\"value\":\"b\"}                          does not expire\n"
    "  {\"key\":\"a\",\"value\":\"b\",\"ttl\":90}                 seconds, or \"ttl\":\"15m\"\n"
    "  "
    "{\"cf\":\"sessions\",\"key\":{\"base64\":\"/"
    "w==\"},\"value\":\"b\",\"deadline_ms\":4102444740000}\n"
    "Existing keys are replaced. Expired entries are skipped. Missing families are created.\n"
    "Loading stops at an invalid line; the error says how many lines were loaded before.";

// A transaction ends after so many lines or bytes.
constexpr std::size_t kBatchLines = 4096;
constexpr std::size_t kBatchBytes = std::size_t{16} << 20;

struct LoadArgs {
  std::string path;
  bool is_replacing = false;  // the default
  bool is_if_absent = false;
  bool is_dry_run = false;
};

// One line: an entry.
struct DumpLine {
  std::uint64_t number = 0;
  std::string family;
  std::string key;
  std::string value;
  Expiry expires = Expiry::never();
};
struct DumpedFamily {
  std::string name;
  std::optional<Millis> default_ttl;
};
struct LoadBatch {
  std::vector<DumpedFamily> families;
  std::vector<DumpLine> lines;
  std::size_t bytes = 0;
};

struct Loaded {
  std::uint64_t entries = 0;
  std::uint64_t expired = 0;
  std::uint64_t kept = 0;    // existed, with --if-absent
  std::uint64_t others = 0;  // in families that were not selected
  std::vector<std::string> made;
};

Result<std::vector<DumpedFamily>> read_header(const JsonValue& header) {
  constexpr std::string_view kKnown[] = {"mayfly_dump", "families"};
  constexpr std::string_view kOfFamily[] = {"name", "default_ttl_ms"};
  JsonMembers members(header, kKnown);
  const std::optional<std::int64_t> version = members.whole_number("mayfly_dump");
  if (!members.status()) return members.status().error();
  if (version != 1) {
    return Error{Code::unsupported, fmt::format("dump version {} is newer than this program, which "
                                                "reads version 1 (use a newer mayfly)",
                                                *version)};
  }
  std::vector<DumpedFamily> families;
  const JsonValue* const listed = header.find("families");
  if (listed == nullptr) return families;
  for (const JsonValue& each : listed->values) {
    JsonMembers family(each, kOfFamily);
    DumpedFamily& read = families.emplace_back();
    read.name = family.needed_bytes("name");
    const JsonValue* const ttl = each.find("default_ttl_ms");
    if (ttl != nullptr && !ttl->is(JsonValue::Kind::null)) {
      if (const auto ms = family.whole_number("default_ttl_ms")) read.default_ttl = Millis(*ms);
    }
    if (!family.status()) return family.status().error();
  }
  return families;
}

// Collects batches of lines and stores each in one transaction. The store is opened for the first
// batch, so that an invalid first line does not create a file.
class Loader {
 public:
  Loader(const LoadArgs& args, const StoreFile& file) : args_(args), file_(file) {}

  Status take(std::uint64_t number, std::string_view text) {
    if (text.find_first_not_of(" \t\r") == text.npos) return Done{};
    const Result<JsonValue> value = read_json(text);
    if (!value) return value.error();
    if (value->find("mayfly_dump") != nullptr) return take_header(*value);
    JsonMembers members(*value, kEntryMembers);
    DumpLine line;
    line.number = number;
    line.family = members.bytes("cf").value_or(file_.family_name());
    line.key = members.needed_bytes("key");
    line.value = members.needed_bytes("value");
    line.expires = members.expires(file_.now()).value_or(Expiry::never());
    if (!members.status()) return members.status();
    if (!is_selected(line.family)) {
      ++loaded_.others;
      return Done{};
    }
    batch_.bytes += line.key.size() + line.value.size();
    batch_.lines.push_back(std::move(line));
    return Done{};
  }

  bool is_full() const { return batch_.lines.size() >= kBatchLines || batch_.bytes >= kBatchBytes; }

  // Commits the batch. `wrong_line` is the line that could not be stored, if it is known.
  Status flush(std::uint64_t& wrong_line) {
    Status status = Done{};
    if (args_.is_dry_run) {
      check_batch();
    } else {
      status = store_batch(wrong_line);
    }
    batch_ = {};
    return status;
  }

  const Loaded& loaded() const { return loaded_; }

 private:
  bool is_selected(const std::string& family) const {
    return !file_.has_family() || family == file_.family_name();
  }

  Status take_header(const JsonValue& header) {
    Result<std::vector<DumpedFamily>> families = read_header(header);
    if (!families) return families.error();
    for (DumpedFamily& family : *families) {
      if (is_selected(family.name)) batch_.families.push_back(std::move(family));
    }
    return Done{};
  }

  // Counts the entries without storing them.
  void check_batch() {
    const Time now = file_.now();
    for (const DumpLine& line : batch_.lines) {
      ++(is_due(line.expires.deadline(now, kNever, Millis::max()), now) ? loaded_.expired
                                                                        : loaded_.entries);
    }
  }

  Status store_batch(std::uint64_t& wrong_line) {
    if (!store_) {
      Result<Store> opened = file_.open(StoreFile::Use::write);
      if (!opened) return opened.error();
      store_.emplace(std::move(*opened));
    }
    Result<WriteTxn> txn = store_->write();
    if (!txn) return txn.error();
    Loaded loaded = loaded_;  // counted if the commit succeeds
    for (const DumpedFamily& family : batch_.families) {
      if (const Status status = make(*txn, family, loaded); !status) return status;
    }
    for (const DumpLine& line : batch_.lines) {
      wrong_line = line.number;
      if (const Status status = store(*txn, line, loaded); !status) return status;
    }
    wrong_line = 0;
    if (const Status status = txn->commit(); !status) return status;
    loaded_ = std::move(loaded);
    return Done{};
  }

  // The family of that name, created if it does not exist.
  static Result<Family> family_of(WriteTxn& txn, const std::string& name, Loaded& loaded) {
    if (name == "default") return Family();
    const Result<Family> found = txn.family(name);
    if (found || found.error().code != Code::not_found) return found;
    const Result<Family> made = txn.create_family(name);
    if (made) loaded.made.push_back(name);
    return made;
  }

  // Sets the default TTL of the dump, unless the family has one.
  static Status make(WriteTxn& txn, const DumpedFamily& dumped, Loaded& loaded) {
    const Result<Family> family = family_of(txn, dumped.name, loaded);
    if (!family) return family.error();
    const Result<std::optional<Millis>> present = txn.default_ttl(*family);
    if (!present) return present.error();
    if (*present || !dumped.default_ttl) return Done{};
    return txn.set_default_ttl(dumped.default_ttl, *family);
  }

  Status store(WriteTxn& txn, const DumpLine& line, Loaded& loaded) {
    const Time deadline = line.expires.deadline(txn.now(), kNever, Millis::max());
    if (is_due(deadline, txn.now())) {
      ++loaded.expired;
      return Done{};
    }
    if (line.family != last_name_ || !last_family_) {
      const Result<Family> family = family_of(txn, line.family, loaded);
      if (!family) return family.error();
      last_name_ = line.family;
      last_family_ = *family;
    }
    if (!args_.is_if_absent) {
      txn.put(line.key, line.value, deadline, *last_family_);
      ++loaded.entries;
    } else {
      const bool is_new = txn.put_if_absent(line.key, line.value, deadline, *last_family_);
      ++(is_new ? loaded.entries : loaded.kept);
    }
    return txn.status();
  }

  const LoadArgs& args_;
  const StoreFile& file_;
  std::optional<Store> store_;
  LoadBatch batch_;
  Loaded loaded_;
  std::string last_name_;  // of the last line: most lines are of the same family
  std::optional<Family> last_family_;
};

// The error with its line, and how many lines were loaded before it.
Error stopped_at(const Error& error, const InputLines& input, std::uint64_t line,
                 std::uint64_t committed, bool is_dry_run) {
  std::string message = input.name();
  if (line > 0) message += fmt::format(", line {}", line);
  message += ": " + error.message;
  if (is_dry_run) return {error.code, message};
  message += committed == 0 ? " (nothing was loaded)"
                            : fmt::format(" (the {} lines before line {} were loaded)", committed,
                                          committed + 1);
  return {error.code, message};
}

void print_loaded(const Loaded& loaded, bool is_dry_run, const StoreFile& file) {
  if (file.is_json()) {
    std::string made;
    for (const std::string& name : loaded.made) {
      made += (made.empty() ? "" : ", ") + bytes_as_json(name);
    }
    fmt::print(
        "{{\"loaded\": {}, \"expired\": {}, \"kept\": {}, \"other_families\": {}, "
        "\"families_made\": [{}], \"dry_run\": {}}}\n",
        loaded.entries, loaded.expired, loaded.kept, loaded.others, made, is_dry_run);
    return;
  }
  std::string text = fmt::format("{} {} {}", is_dry_run ? "dry run: would load" : "loaded",
                                 loaded.entries, loaded.entries == 1 ? "entry" : "entries");
  const auto add = [&text](std::uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format("; {} {}", count, what);
  };
  add(loaded.expired, "expired");
  add(loaded.kept, "already exist");
  add(loaded.others, "in other families");
  if (!loaded.made.empty()) {
    text += loaded.made.size() == 1 ? "; created column family" : "; created column families";
    for (const std::string& name : loaded.made) text += " " + file.bytes().line(name);
  }
  fmt::print("{}\n", text);
}

Result<Loaded> load_lines(const LoadArgs& args, const StoreFile& file) {
  Result<InputLines> input = InputLines::open(args.path);
  if (!input) return input.error();
  Loader loader(args, file);
  Progress progress(stderr, is_terminal(STDERR_FILENO) && input->size() > 0,
                    static_cast<double>(input->size()));
  std::uint64_t committed = 0;  // lines
  std::uint64_t shown = 0;      // bytes
  const auto fail = [&](const Error& error, std::uint64_t line) {
    return stopped_at(error, *input, line, committed, args.is_dry_run);
  };
  while (true) {
    const bool is_more = input->next();
    if (!is_more && !input->status()) return fail(input->status().error(), 0);
    if (is_more) {
      const Status taken = loader.take(input->number(), input->line());
      if (!taken) return fail(taken.error(), input->number());
      if (!loader.is_full()) continue;
    }
    std::uint64_t wrong_line = 0;
    if (const Status status = loader.flush(wrong_line); !status) {
      return fail(status.error(), wrong_line);
    }
    committed = input->number();
    progress.begin(fmt::format("{} entries, {}", loader.loaded().entries,
                               rate_text(static_cast<double>(committed) / progress.seconds())));
    progress.add(static_cast<double>(input->bytes_read() - shown));
    shown = input->bytes_read();
    if (!is_more) return loader.loaded();
  }
}

Result<Exit> run_load(const LoadArgs& args, const StoreFile& file) {
  if (file.path().empty()) return file.open(StoreFile::Use::read).error();  // no store given
  const Result<Loaded> loaded = load_lines(args, file);
  if (!loaded) return loaded.error();
  print_loaded(*loaded, args.is_dry_run, file);
  return Exit::ok;
}

}  // namespace

void add_load_command(Program& program, StoreFile* file) {
  const auto args = program.keep<LoadArgs>();
  const CliCommand command =
      file->add_command(program, "load", "Load entries from a dump", kLoadExamples, args, run_load);
  command.add_option("FILE", args->path, "Dump file (default: standard input)");
  const CliOption replace =
      command.add_flag("--replace", args->is_replacing, "Replace existing keys (default)");
  command.add_flag("--if-absent", args->is_if_absent, "Keep existing keys").excludes(replace);
  command.add_flag("--dry-run", args->is_dry_run, "Check all lines, change nothing");
}

}  // namespace mayfly
