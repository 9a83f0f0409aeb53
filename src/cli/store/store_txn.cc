// SPDX-License-Identifier: Apache-2.0
// txn: applies the changes of store_lines.h in one transaction, all or none.

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "cli/commands.h"
#include "cli/store/store_lines.h"
#include "tools/files.h"

namespace mayfly {
namespace {

constexpr const char* kTxnExamples =
    "Examples:\n"
    "  mayfly cf create --db app.db counters\n"
    "  mayfly txn --db app.db <<'END'\n"
    "  # Empty lines and comments are ignored. A value is the rest of the line:\n"
    "  put user:7 Alice Liddell\n"
    "  put session:42 user:7 --ttl 30m\n"
    "  # Use quotes for other bytes:\n"
    "  put \"a key\" \"two\\nlines, \\x00\\xff\"\n"
    "  set-if-absent lock worker-3 --ttl 10s\n"
    "  # del and expire ignore missing keys:\n"
    "  del session:41\n"
    "  expire user:6 2099-12-31T23:59Z\n"
    "  {\"op\": \"put\", \"key\": {\"base64\": \"AP8=\"}, \"value\": \"x\", \"ttl\": \"15m\"}\n"
    "  # Switch to another column family:\n"
    "  cf counters\n"
    "  incr visits 5\n"
    "  END\n"
    "  mayfly txn --db app.db changes.txt --dry-run    check the lines, change nothing\n"
    "Commands: put, set-if-absent, del, expire, persist, touch, incr and cf. If a line is wrong,\n"
    "nothing is changed, and the error names the line. --hex and --base64 apply to all keys and\n"
    "values except those in JSON.";

struct TxnArgs {
  std::string path;
  bool is_dry_run = false;
};

struct TxnStep {
  std::uint64_t line = 0;
  Operation operation;
};

Error at_line(const Error& error, std::uint64_t line) {
  return {error.code, fmt::format("line {}: {} (nothing was changed)", line, error.message)};
}

// `family` is the current one.
Status take_line(std::string_view text, std::uint64_t number, const StoreFile& file,
                 std::string& family, std::vector<TxnStep>& steps) {
  LineWords words(text);
  if (words.at_end() || words.rest().starts_with('#')) return Done{};
  Result<std::optional<Operation>> operation = parse_operation(text, file);
  if (!operation) return operation.error();
  if (*operation) {
    if ((*operation)->family.empty()) (*operation)->family = family;
    steps.push_back({number, std::move(**operation)});
    return Done{};
  }
  const Result<std::string> verb = words.next("a command");
  if (!verb) return verb.error();
  if (*verb == "cf") {
    const Result<std::string> name = words.next("the column family name");
    if (!name) return name.error();
    family = *name;
    return words.finish();
  }
  std::vector<std::string_view> known = {"cf"};
  for (const VerbForm& form : verb_forms()) known.push_back(form.name);
  return unknown_verb(*verb, known);
}

Result<std::vector<TxnStep>> read_steps(const TxnArgs& args, const StoreFile& file) {
  Result<InputLines> input = InputLines::open(args.path);
  if (!input) return input.error();
  std::vector<TxnStep> steps;
  std::string family = file.family_name();
  while (input->next()) {
    const Status taken = take_line(input->line(), input->number(), file, family, steps);
    if (!taken) return at_line(taken.error(), input->number());
  }
  if (const Status status = input->status(); !status) return status.error();
  return steps;
}

// A dry run creates no file: without one it uses an empty temporary store.
Result<StoreFile::Opened> open_txn_store(const TxnArgs& args, const StoreFile& file) {
  if (!args.is_dry_run) return file.open_family(StoreFile::Use::write);
  std::error_code ignored;
  if (file.has_family() || file.path().empty() || std::filesystem::exists(file.path(), ignored)) {
    return file.open_family(StoreFile::Use::read);
  }
  Result<Store> store = file.open_scratch();
  if (!store) return store.error();
  return StoreFile::Opened{std::move(*store), Family()};
}

// Returns how many changed nothing.
Result<std::uint64_t> apply_all(const std::vector<TxnStep>& steps, WriteTxn& txn) {
  std::map<std::string, Family> families = {{"default", Family()}};
  std::uint64_t without_effect = 0;
  for (const TxnStep& step : steps) {
    auto place = families.find(step.operation.family);
    if (place == families.end()) {
      const Result<Family> found = txn.family(step.operation.family);
      if (!found) {
        return at_line({found.error().code, found.error().message + " (use 'mayfly cf create')"},
                       step.line);
      }
      place = families.emplace(step.operation.family, *found).first;
    }
    const Result<Applied> applied = apply(step.operation, txn, place->second);
    if (!applied) return at_line(applied.error(), step.line);
    if (!applied->is_changed) ++without_effect;
  }
  return without_effect;
}

Result<Exit> run_txn(const TxnArgs& args, const StoreFile& file) {
  if (file.path().empty()) return file.open(StoreFile::Use::read).error();  // no store given
  const Result<std::vector<TxnStep>> steps = read_steps(args, file);
  if (!steps) return steps.error();
  Result<StoreFile::Opened> opened = open_txn_store(args, file);
  if (!opened) return opened.error();
  Result<WriteTxn> txn = opened->store.write();
  if (!txn) return txn.error();
  const Result<std::uint64_t> without_effect = apply_all(*steps, *txn);
  if (!without_effect) return without_effect.error();
  if (args.is_dry_run) {
    txn->rollback();
  } else if (const Status status = txn->commit(); !status) {
    return status.error();
  }
  if (file.is_json()) {
    fmt::print("{{\"operations\": {}, \"without_effect\": {}, \"committed\": {}}}\n", steps->size(),
               *without_effect, !args.is_dry_run);
  } else {
    const std::string rest =
        *without_effect > 0 ? fmt::format(", {} without effect", *without_effect) : "";
    fmt::print("{} {} operations{}\n", args.is_dry_run ? "dry run:" : "committed", steps->size(),
               rest);
  }
  return Exit::ok;
}

}  // namespace

void add_txn_command(Program& program, StoreFile* file) {
  const auto args = program.keep<TxnArgs>();
  const CliCommand command = file->add_command(
      program, "txn", "Apply many changes in one transaction", kTxnExamples, args, run_txn);
  command.add_option("FILE", args->path, "File with commands (default: standard input)");
  command.add_flag("--dry-run", args->is_dry_run, "Check the lines, change nothing");
  file->add_byte_options(command);
}

}  // namespace mayfly
