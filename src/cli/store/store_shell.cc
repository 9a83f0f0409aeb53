// SPDX-License-Identifier: Apache-2.0
// shell: a prompt for a store, or a script of lines for it.

#include "cli/store/store_shell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/store/store_answers.h"
#include "tools/files.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr std::size_t kKeysOffered = 50;  // as completions

constexpr const char* kShellExamples =
    "Examples:\n"
    "  mayfly shell --db app.db                  interactive; 'help' lists the commands\n"
    "  app.db> put greeting hello world --ttl 15m\n"
    "  app.db> get greeting\n"
    "  app.db> begin                             start a transaction\n"
    "  app.db*> incr visits\n"
    "  app.db*> commit\n"
    "  mayfly shell --db app.db <script.txt      run commands from a file\n"
    "Tab completes commands and keys, the up arrow recalls earlier lines, Ctrl-C cancels a line\n"
    "and Ctrl-D leaves the shell. The history is kept in ~/.local/state/mayfly/history (or\n"
    "$MAYFLY_HISTORY), except lines that start with a space. In a script, an error makes the exit\n"
    "code 1, and later lines still run unless --stop is given. The first line that writes creates\n"
    "the store if it does not exist.";

void print_error(const Error& error) { fmt::print(stderr, "mayfly: {}\n", error.message); }

// Ctrl-C stops a long answer, not the shell: see is_interrupted().
void block_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void discard_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  const timespec at_once{};
  while (sigtimedwait(&signals, nullptr, &at_once) == SIGINT) continue;
}

void warn_of_rollback(const Shell& shell) {
  if (!shell.has_transaction()) return;
  fmt::print(stderr, "mayfly: the open transaction was rolled back\n");
}

Exit run_interactive(Shell& shell) {
  LineEditor editor([&shell](std::string_view before) { return shell.complete(before); },
                    history_path());
  while (!shell.is_done()) {
    const std::optional<std::string> line = editor.read(shell.prompt());
    if (!line) {
      fmt::print("\n");
      break;
    }
    discard_interrupts();
    if (const Result<Exit> exit = shell.run(*line); !exit) print_error(exit.error());
    flush_output();
  }
  warn_of_rollback(shell);
  return Exit::ok;
}

Result<Exit> run_script(Shell& shell, bool is_stopping) {
  Result<InputLines> input = InputLines::open("");
  if (!input) return input.error();
  Exit exit = Exit::ok;
  while (!shell.is_done() && input->next()) {
    const Result<Exit> done = shell.run(input->line());
    flush_output();  // so that output and errors are in order
    if (done) continue;
    print_error(
        {done.error().code, fmt::format("line {}: {}", input->number(), done.error().message)});
    exit = Exit::failed;
    if (is_stopping) break;
  }
  warn_of_rollback(shell);
  if (const Status status = input->status(); !status) return status.error();
  return shell.has_transaction() ? Exit::failed : exit;
}

// Whether the store does not exist but can be created. A family other than default must exist.
bool can_be_created(const StoreFile& file) {
  const std::filesystem::path path(file.path());
  std::error_code ignored;
  return !path.empty() && file.family_name() == "default" &&
         !std::filesystem::exists(std::filesystem::symlink_status(path, ignored)) &&
         std::filesystem::is_directory(std::filesystem::absolute(path).parent_path(), ignored);
}

Result<Exit> run_shell(const bool& is_stopping, const StoreFile& file) {
  const bool is_interactive = is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO);
  if (is_interactive) block_interrupts();  // before the store starts threads
  Shell shell(file);
  Status opened = shell.open(StoreFile::Use::read);
  const bool is_new = !opened && opened.error().code == Code::not_found && can_be_created(file);
  // A mistyped name must not create a store silently: an interactive shell says so.
  if (is_new && is_interactive) opened = shell.open(StoreFile::Use::write);
  if (!opened && (is_interactive || !is_new)) return opened.error();
  if (!is_interactive) return run_script(shell, is_stopping);
  fmt::print("{}: {}Type 'help' for commands, Ctrl-D to leave.\n", file.path(),
             is_new ? "created a new store. " : "");
  return run_interactive(shell);
}

}  // namespace

Status Shell::open(StoreFile::Use use) {
  if (store_) return Done{};
  Result<StoreFile::Opened> opened = file_.open_family(use);
  if (!opened) return opened.error();
  store_.emplace(std::move(opened->store));
  family_ = opened->family;
  return Done{};
}

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
  const std::string meant = command_meant(*name);
  for (const Row& row : rows()) {
    if (row.name != meant) continue;
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
  refresh_family();
  return Error{status.error().code, status.error().message + "; the transaction was rolled back"};
}

Result<Exit> Shell::change(const Operation& operation) {
  Applied applied;
  Time now;
  const Result<Exit> done = writing([&](WriteTxn& txn) -> Result<Exit> {
    Family family = family_;
    if (!operation.family.empty() && operation.family != "default") {
      const Result<Family> named = txn.family(operation.family);
      if (!named) return named.error();
      family = *named;
    } else if (!operation.family.empty()) {
      family = Family();
    }
    const std::string& name = operation.family.empty() ? family_name_ : operation.family;
    const Result<Applied> result = apply_to_key(operation, txn, family, name, file_);
    if (!result) return result.error();
    applied = *result;
    now = txn.now();
    return Exit::ok;
  });
  if (!done) return done;
  return print_applied(operation, applied, now, file_);
}

Completion Shell::complete(std::string_view before) {
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
  // Only the first argument of a command is a key or a prefix.
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
  const CliCommand command =
      file->add_command(program, "shell", "Open an interactive shell on a store", kShellExamples,
                        is_stopping, run_shell);
  command.add_flag("--stop", *is_stopping, "In a script, stop at the first error");
  file->add_byte_options(command);
}

}  // namespace mayfly
