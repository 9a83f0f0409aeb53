// SPDX-License-Identifier: Apache-2.0
// shell: a prompt for a store, or a script of lines for it.

#include "cli/store_shell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "cli/store_commands.h"
#include "tools/input_lines.h"
#include "tools/terminal.h"

namespace mayfly {
namespace {

constexpr std::size_t kKeysOffered = 50;  // by the Tab key

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly shell --db app.db                  a prompt; 'help' says what can be asked\n"
    "  app.db> put greeting hello world --ttl 15m\n"
    "  app.db> get greeting\n"
    "  app.db> begin                             then all until 'commit' is one transaction\n"
    "  app.db*> incr visits\n"
    "  app.db*> commit\n"
    "  mayfly shell --db app.db <script.txt      the same lines, without a prompt\n"
    "The Tab key completes commands and keys, the arrow up brings back what was typed before, "
    "Ctrl-C\n"
    "leaves a line and Ctrl-D the shell. What was typed is kept in ~/.local/state/mayfly/history "
    "(or\n"
    "in $MAYFLY_HISTORY), but for lines that begin with a space. In a script a wrong line makes "
    "the\n"
    "exit code 1; the lines behind it are done all the same, unless --stop is said.";

void complain(const Error& error) { fmt::print(stderr, "mayfly: {}\n", error.message); }

// Ctrl-C while something runs stops a long answer, and not the shell: see is_interrupted().
void hold_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void forget_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  const timespec at_once{};
  while (sigtimedwait(&signals, nullptr, &at_once) == SIGINT) continue;
}

void end_shell(const Shell& shell) {
  if (!shell.has_transaction()) return;
  fmt::print(stderr, "mayfly: the transaction was not committed, and is rolled back\n");
}

Exit talk(Shell& shell) {
  LineEditor editor([&shell](std::string_view before) { return shell.complete(before); },
                    history_path());
  while (!shell.is_done()) {
    const std::optional<std::string> line = editor.read(shell.prompt());
    if (!line) {
      fmt::print("\n");
      break;
    }
    forget_interrupts();
    if (const Result<Exit> exit = shell.run(*line); !exit) complain(exit.error());
    std::fflush(stdout);
  }
  end_shell(shell);
  return Exit::ok;
}

Result<Exit> run_script(Shell& shell, bool is_stopping) {
  Result<InputLines> input = InputLines::open("");
  if (!input) return input.error();
  Exit exit = Exit::ok;
  while (!shell.is_done() && input->next()) {
    const Result<Exit> done = shell.run(input->line());
    std::fflush(stdout);  // so that it is in order with what is complained of
    if (done) continue;
    complain(
        {done.error().code, fmt::format("line {}: {}", input->number(), done.error().message)});
    exit = Exit::failed;
    if (is_stopping) break;
  }
  end_shell(shell);
  if (const Status status = input->status(); !status) return status.error();
  return shell.has_transaction() ? Exit::failed : exit;
}

Result<Exit> shell(bool is_stopping, const StoreFile& file) {
  const bool is_person = is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO);
  if (is_person) hold_interrupts();  // before the store has threads
  Result<StoreFile::Opened> opened = file.open_family(StoreFile::Use::write);
  if (!opened) return opened.error();
  Shell shell(file, std::move(opened->store), opened->family);
  if (!is_person) return run_script(shell, is_stopping);
  fmt::print("{}: 'help' says what can be asked, Ctrl-D ends.\n", file.path());
  return talk(shell);
}

}  // namespace

Shell::Shell(const StoreFile& file, Store store, Family family)
    : file_(file), store_(std::move(store)), family_(family), family_name_(file.family_name()) {}

std::string Shell::prompt() const {
  std::string text = std::filesystem::path(file_.path()).filename().string();
  if (family_name_ != "default") text += "/" + file_.bytes().line(family_name_);
  return text + (txn_ ? "*> " : "> ");
}

Result<Exit> Shell::run(std::string_view line) {
  LineWords words(line);
  if (words.at_end() || words.rest().starts_with('#')) return Exit::ok;
  const Result<std::optional<Operation>> operation = parse_operation(line, file_);
  if (!operation) return operation.error();
  if (*operation) return change(**operation);
  const Result<std::string> name = words.next("a command");
  if (!name) return name.error();
  for (const Row& row : rows()) {
    if (row.name != *name) continue;
    const Result<Exit> exit = (this->*row.command)(words);
    if (exit || exit.error().code != Code::invalid) return exit;
    return Error{Code::invalid,
                 fmt::format("{}: {} ({})", row.name, exit.error().message, row.usage)};
  }
  return unknown_verb(*name, names());
}

Result<Exit> Shell::in_open_transaction(const Result<Exit>& exit) {
  const Status status = txn_->status();
  if (status) return exit;
  txn_.reset();
  find_family_again();
  return Error{status.error().code, status.error().message + "; the transaction is rolled back"};
}

Result<Exit> Shell::change(const Operation& operation) {
  return writing([&](WriteTxn& txn) -> Result<Exit> {
    Family family = family_;
    if (!operation.family.empty() && operation.family != "default") {
      const Result<Family> named = txn.family(operation.family);
      if (!named) return named.error();
      family = *named;
    } else if (!operation.family.empty()) {
      family = Family();
    }
    const Result<Applied> applied = apply(operation, txn, family);
    if (!applied) return applied.error();
    if (!applied->is_found) return not_found(operation.key, file_);
    report(operation, *applied);
    return Exit::ok;
  });
}

// What the program's own commands print.
void Shell::report(const Operation& operation, const Applied& applied) const {
  const auto print = [&](std::string_view member, std::string_view json, std::string_view text) {
    if (file_.is_json()) {
      fmt::print("{{\"key\": {}, \"{}\": {}}}\n", file_.bytes().json(operation.key), member, json);
    } else if (!text.empty()) {
      fmt::print("{}\n", text);
    }
  };
  const std::string_view truth = applied.is_changed ? "true" : "false";
  switch (operation.verb) {
    case Verb::put:
      return print("stored", "true", "");
    case Verb::del:
      return print("deleted", "true", "");
    case Verb::set_if_absent:
      return print("inserted", truth, applied.is_changed ? "inserted" : "already exists");
    case Verb::incr:
      return print("value", fmt::to_string(applied.sum), fmt::to_string(applied.sum));
    case Verb::expire:
    case Verb::touch:
    case Verb::persist:
      return print("changed", truth, applied.is_changed ? "changed" : "unchanged");
  }
}

Completion Shell::complete(std::string_view before) const {
  const std::size_t space = before.find_last_of(' ');
  const std::string_view typed = before.substr(space == before.npos ? 0 : space + 1);
  Completion completion;
  completion.typed = typed.size();
  LineWords words(before.substr(0, before.size() - typed.size()));
  const bool is_command = words.at_end();
  const Result<std::string> command = words.next("a command");
  if (is_command || (command && *command == "help" && words.at_end())) {
    for (const std::string_view name : names()) {
      if (name.starts_with(typed)) completion.words.emplace_back(name);
    }
    return completion;
  }
  // Only the first word behind a command is a key, or the beginning of some.
  if (!words.at_end() || !command || *command == "cf" || *command == "expiring") return completion;
  const bool has_quote = typed.starts_with('"');
  const auto offer_keys = [&](const ReadTxn& txn) -> Result<Exit> {
    Result<Cursor> cursor = txn.cursor({.prefix = std::string(typed.substr(has_quote))}, family_);
    if (!cursor) return cursor.error();
    for (bool on = cursor->first(); on && !completion.is_cut; on = cursor->next()) {
      completion.is_cut = completion.words.size() == kKeysOffered;
      if (completion.is_cut) break;
      completion.words.push_back(has_quote ? quoted(cursor->key())
                                           : quoted_if_needed(cursor->key()));
    }
    return Exit::ok;
  };
  (void)reading(offer_keys);
  return completion;
}

void add_shell_command(Program& program, StoreFile* file) {
  const auto is_stopping = program.keep<bool>(false);
  CliCommand command = program.add("shell", "Work on a store with a prompt", kExamples);
  command.add_flag("--stop", *is_stopping, "In a script: end at the first line that is wrong");
  file->add_options(command);
  file->add_byte_options(command);
  program.on(command, [is_stopping, file] { return shell(*is_stopping, *file); });
}

}  // namespace mayfly
