// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>
#include <system_error>

#include "cli/advice.h"
#include "cli/other_words.h"
#include "tools/terminal/output.h"
#include "tools/version.h"

namespace mayfly {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly serve                                  a server for any Redis or Valkey client\n"
    "  mayfly put --db app.db session:42 alice --ttl 30m\n"
    "  mayfly get --db app.db session:42             a store in a file; no server is needed\n"
    "  mayfly shell --db app.db                      the same, with a prompt\n"
    "  mayfly top                                    what a running server does\n"
    "  mayfly import redis://127.0.0.1:6379 --db app.db\n"
    "  mayfly bench expiry                           how fast it is on this machine\n"
    "  mayfly put --help                             each command has examples of its own\n"
    "\n"
    "Names that other tools have for them are understood: set, rm, ls, keys, delete, status, ...\n"
    "Exit codes: 0 done, 1 an error, which is explained on stderr, 2 there is no such key.";

constexpr const char* kHelpExamples =
    "Examples:\n"
    "  mayfly help put         the same as mayfly put --help\n"
    "  mayfly help cf create   of a command below another";

constexpr const char* kVersionExamples =
    "Examples:\n"
    "  mayfly version     the same as mayfly --version";

std::string version_line() { return fmt::format("mayfly {}", kVersion); }

// Lists commands by one name each; the others are told by the help of the command itself.
class Help : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* app) const override {
    std::stringstream out;
    CLI::detail::format_help(out, app->get_name(), app->get_description(), get_column_width());
    return out.str();
  }
  std::string make_description(const CLI::App* app) const override {
    std::string text = CLI::Formatter::make_description(app);
    if (app->get_aliases().empty()) return text;
    return text + fmt::format("Also called {}\n", fmt::join(app->get_aliases(), ", "));
  }
};

// Words that no option or subcommand wants are collected, so that what is said about them is ours.
void collect_unknown_words(CLI::App& app) {
  app.allow_extras();
  for (CLI::App* const below : app.get_subcommands({})) collect_unknown_words(*below);
}

}  // namespace

Program::Program()
    : app_(
          std::make_unique<CLI::App>("Mayfly: a home for data that knows when to die.", "mayfly")) {
  app_->set_version_flag("-v,-V,--version", version_line(), "Show the version");
  app_->footer(kExamples);
  app_->formatter(std::make_unique<Help>());
  app_->require_subcommand(0, 1);  // so that a key may be called as a command is
}

Program::~Program() = default;

CliCommand Program::add(const std::string& name, const std::string& what, const char* examples) {
  return add(whole(), name, what, examples);
}

CliCommand Program::add(CliCommand above, const std::string& name, const std::string& what,
                        const char* examples) {
  CLI::App* const command = above.app()->add_subcommand(name, what);
  command->footer(examples);
  command->ignore_case();  // GET is get
  command->group(above.is_program() ? group_ : "Commands");
  above.app()->require_subcommand(0, 1);
  return CliCommand(command);
}

void Program::on(CliCommand command, Run run) {
  if (command.app()->get_group() == "Subcommands") command.app()->group(group_);  // not our add()
  commands_.emplace_back(command.app(), std::move(run));
}

int Program::fail(const std::string& message) const {
  std::fputs(fmt::format("mayfly: {}\n", message).c_str(), stderr);  // which may be closed itself
  return static_cast<int>(Exit::failed);
}

int Program::misused(const std::string& message) const {
  fmt::print(stderr, "mayfly: {}\nTry '{} --help'.\n", message, full_name(reached(*app_)));
  return static_cast<int>(Exit::failed);
}

int Program::run(int argc, char** argv) {
  try {
    const int code = run_words(argc, argv);
    if (code != static_cast<int>(Exit::failed)) flush_output();  // the disk below may be full
    return code;
  } catch (const std::system_error& failure) {
    if (std::ferror(stdout) == 0) throw;
    if (failure.code() == std::errc::broken_pipe) return static_cast<int>(Exit::ok);
    return fail(fmt::format("cannot write the output: {}", failure.code().message()));
  }
}

int Program::run_words(int argc, char** argv) {
  collect_unknown_words(*app_);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    std::ostringstream text;
    const int code = app_->exit(asked, text, text);
    write_output(text.str());
    return code;
  } catch (const CLI::ParseError& wrong) {
    return misused(explanation(*app_, wrong));
  }
  return run_chosen();
}

// A command above may run all that are below it.
const Program::Run* Program::runner_of(const CLI::App& command) const {
  for (const auto& [app, run] : commands_) {
    if (app == &command) return &run;
  }
  return command.get_parent() == nullptr ? nullptr : runner_of(*command.get_parent());
}

int Program::run_chosen() {
  const CLI::App& chosen = reached(*app_);
  const std::vector<std::string> unknown = unknown_words(chosen);
  if (!unknown.empty() && !chosen.get_prefix_command()) {
    return misused(unknown_word(chosen, unknown.front()));
  }
  const Run* const run = runner_of(chosen);
  if (run == nullptr) {
    write_output(app_->help());  // of the command that was reached
    return static_cast<int>(Exit::ok);
  }
  const Result<Exit> result = (*run)();
  if (!result) return fail(result.error().message);
  return static_cast<int>(*result);
}

Result<Exit> Program::show_help(const std::vector<std::string>& words) const {
  const CLI::App* shown = app_.get();
  for (const std::string& word : words) {
    const CLI::App* const below = command_named(*shown, word);
    if (below == nullptr) return Error{Code::invalid, unknown_word(*shown, word)};
    shown = below;
  }
  // help() goes down to the command that was asked for, which is the one that shows it.
  write_output(
      shown->get_formatter()->make_help(shown, full_name(*shown), CLI::AppFormatMode::Normal));
  return Exit::ok;
}

void Program::add_help_command() {
  CliCommand help = add("help", "Show what a command does", kHelpExamples);
  const auto words = keep<std::vector<std::string>>();
  help.add_option("COMMAND", *words, "The command; none: all of them");
  on(help, [this, words] { return show_help(*words); });
  on(add("version", "Show the version", kVersionExamples), []() -> Result<Exit> {
    write_output(version_line() + "\n");
    return Exit::ok;
  });
}

void Program::add_other_names() {
  for (const OtherWord& other : other_words()) {
    if (other.command.empty()) continue;
    app_->get_subcommand(std::string(other.command))->alias(std::string(other.word));
  }
  CLI::App* const families = app_->get_subcommand("cf");
  families->get_subcommand("list")->alias("ls");
  families->get_subcommand("drop")->alias("rm")->alias("delete")->alias("del");
}

}  // namespace mayfly
