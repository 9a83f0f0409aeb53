// SPDX-License-Identifier: Apache-2.0
// shell: a prompt for a store, or a script of lines for it.

#include "cli/store/store_shell.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "cli/import/imported_keys.h"
#include "cli/other_words.h"
#include "cli/store/store_answers.h"
#include "cli/store/store_commands.h"
#include "tools/terminal/input_lines.h"
#include "tools/terminal/output.h"
#include "tools/terminal/terminal.h"

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
    "exit code 1; the lines behind it are done all the same, unless --stop is said. A store that "
    "is\n"
    "not there is made by the first line that writes.";

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
    flush_output();
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
    flush_output();  // so that it is in order with what is complained of
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

// Whether there is no such store, but could be one: a family that is named has to be there.
bool can_be_made(const StoreFile& file) {
  const std::filesystem::path path(file.path());
  std::error_code ignored;
  return !path.empty() && file.family_name() == "default" &&
         !std::filesystem::exists(std::filesystem::symlink_status(path, ignored)) &&
         std::filesystem::is_directory(std::filesystem::absolute(path).parent_path(), ignored);
}

Result<Exit> shell(bool is_stopping, const StoreFile& file) {
  const bool is_person = is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO);
  if (is_person) hold_interrupts();  // before the store has threads
  Shell shell(file);
  Status opened = shell.open(StoreFile::Use::read);
  const bool is_new = !opened && opened.error().code == Code::not_found && can_be_made(file);
  // A name that was mistyped must not make a store that nobody hears of.
  if (is_new && is_person) opened = shell.open(StoreFile::Use::write);
  if (!opened && (is_person || !is_new)) return opened.error();
  if (!is_person) return run_script(shell, is_stopping);
  fmt::print("{}: {}'help' says what can be asked, Ctrl-D ends.\n", file.path(),
             is_new ? "a new store, which was not there before. " : "");
  return talk(shell);
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
    if (!applied->is_found) return change_imported(operation, txn);
    report(operation, *applied, txn.now());
    return Exit::ok;
  });
}

// What is done to a key that is not there, but may be one that was imported.
Result<Exit> Shell::change_imported(const Operation& operation, WriteTxn& txn) const {
  const std::string name = operation.family.empty() ? family_name_ : operation.family;
  if (operation.verb != Verb::del) return refuse_imported(txn, operation.key, name, file_);
  const Result<bool> erased = erase_imported(txn, operation.key, name);
  if (!erased) return erased.error();
  if (!*erased) return not_found(operation.key, file_);
  print_done(operation.key, "deleted", file_);
  return Exit::ok;
}

void Shell::report(const Operation& operation, const Applied& applied, Time now) const {
  const std::string& key = operation.key;
  switch (operation.verb) {
    case Verb::put:
      return print_done(key, "stored", file_);
    case Verb::del:
      return print_done(key, "deleted", file_);
    case Verb::set_if_absent:
      return print_inserted(key, applied.is_changed, file_);
    case Verb::incr:
      return print_sum(key, applied.sum, file_);
    case Verb::expire:
    case Verb::touch:
    case Verb::persist:
      return print_changed(key, applied.is_changed, applied.deadline, now, file_);
  }
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
