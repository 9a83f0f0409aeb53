// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>
#include <system_error>

#include "base/version.h"
#include "cli/advice.h"
#include "text/byte_text.h"
#include "tools/terminal/terminal.h"

namespace mayfly {
namespace {

constexpr const char* kProgramExamples =
    "Examples:\n"
    "  mayfly serve                                  start a server for Redis and Valkey clients\n"
    "  mayfly put --db app.db session:42 alice --ttl 30m\n"
    "  mayfly get --db app.db session:42             read from a store file; no server needed\n"
    "  mayfly shell --db app.db                      open a shell on a store file\n"
    "  mayfly top                                    monitor a running server\n"
    "  mayfly import redis://127.0.0.1:6379 --db app.db\n"
    "  mayfly bench expiry                           how fast it is on this machine\n"
    "  mayfly put --help                             show options and examples of a command\n"
    "\n"
    "Command names of other tools work as aliases: set, rm, ls, keys, delete, status, ...\n"
    "Exit codes: 0 success, 1 error (explained on stderr), 2 key not found.";

constexpr const char* kHelpExamples =
    "Examples:\n"
    "  mayfly help put         same as mayfly put --help\n"
    "  mayfly help cf create   help for a subcommand";

constexpr const char* kVersionExamples =
    "Examples:\n"
    "  mayfly version     same as mayfly --version";

std::string version_line() { return fmt::format("mayfly {}", kMayflyVersion); }

// Lists each command by one name; its aliases are in its own help.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* app) const override {
    std::stringstream out;
    CLI::detail::format_help(out, app->get_name(), app->get_description(), get_column_width());
    return out.str();
  }
  std::string make_description(const CLI::App* app) const override {
    std::string text = CLI::Formatter::make_description(app);
    if (app->get_aliases().empty()) return text;
    return text + fmt::format("Aliases: {}\n", fmt::join(app->get_aliases(), ", "));
  }
};

// Collects unknown arguments, so that the error message is ours.
void collect_unknown_words(CLI::App& app) {
  app.allow_extras();
  for (CLI::App* const below : app.get_subcommands({})) collect_unknown_words(*below);
}

}  // namespace

Program::Program()
    : app_(std::make_unique<CLI::App>("Mayfly stores data that expires.", "mayfly")) {
  app_->set_version_flag("-v,-V,--version", version_line(), "Print the version");
  app_->footer(kProgramExamples);
  app_->formatter(std::make_unique<HelpFormatter>());
  app_->require_subcommand(0, 1);  // so that a key may have the name of a command
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
  if (command.app()->get_group() == "Subcommands")
    command.app()->group(group_);  // added without add()
  commands_.emplace_back(command.app(), std::move(run));
}

int Program::fail(const std::string& message) const {
  // A message may quote a server or a file. stderr may be closed.
  std::fputs(fmt::format("mayfly: {}\n", escape_controls(message, "\n\t")).c_str(), stderr);
  return static_cast<int>(Exit::failed);
}

int Program::misused(const std::string& message) const {
  fmt::print(stderr, "mayfly: {}\nTry '{} --help'.\n", message, full_name(reached(*app_)));
  return static_cast<int>(Exit::failed);
}

int Program::run(int argc, char** argv) {
  try {
    const int code = run_words(argc, argv);
    if (code != static_cast<int>(Exit::failed)) flush_output();  // the disk may be full
    return code;
  } catch (const std::system_error& failure) {
    if (std::ferror(stdout) == 0) throw;
    if (failure.code() == std::errc::broken_pipe) return static_cast<int>(Exit::ok);
    return fail(fmt::format("cannot write to standard output: {}", failure.code().message()));
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

// A command may run all its subcommands.
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
    write_output(app_->help());  // of the command that was given
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
  // Not help(), which shows the help of the command that was parsed: this one.
  write_output(
      shown->get_formatter()->make_help(shown, full_name(*shown), CLI::AppFormatMode::Normal));
  return Exit::ok;
}

void Program::add_help_command() {
  CliCommand help = add("help", "Show help for a command", kHelpExamples);
  const auto words = keep<std::vector<std::string>>();
  help.add_option("COMMAND", *words, "The command (default: list all commands)");
  on(help, [this, words] { return show_help(*words); });
  on(add("version", "Print the version", kVersionExamples), []() -> Result<Exit> {
    write_output(version_line() + "\n");
    return Exit::ok;
  });
}

void Program::add_aliases() {
  for (const Alias& alias : aliases()) {
    if (alias.command.empty()) continue;
    app_->get_subcommand(std::string(alias.command))->alias(std::string(alias.name));
  }
  CLI::App* const families = app_->get_subcommand("cf");
  families->get_subcommand("list")->alias("ls");
  families->get_subcommand("drop")->alias("rm")->alias("delete")->alias("del");
}

CliOption CliOption::type_name(const std::string& name) const {
  return CliOption(option_->type_name(name));
}

CliOption CliOption::group(const std::string& title) const {
  return CliOption(option_->group(title));
}

CliOption CliOption::required() const { return CliOption(option_->required()); }

CliOption CliOption::take_last() const { return CliOption(option_->take_last()); }

CliOption CliOption::excludes(CliOption other) const {
  return CliOption(option_->excludes(other.option_));
}

CliOption CliOption::one_of(const std::vector<std::string>& words) const {
  return CliOption(option_->check(CLI::IsMember(words)));
}

CliOption CliOption::range(int least, int most) const {
  return CliOption(option_->check(CLI::Range(least, most)));
}

CliOption CliOption::range(double least, double most) const {
  return CliOption(option_->check(CLI::Range(least, most)));
}

CliOption CliOption::check(std::function<std::string(const std::string&)> complaint) const {
  return CliOption(option_->check(std::move(complaint)));
}

CliOption CliOption::each(std::function<void(const std::string&)> use) const {
  return CliOption(option_->each(use));
}

template <class Value>
CliOption CliCommand::add_option(const std::string& name, Value& value,
                                 const std::string& what) const {
  return CliOption(app_->add_option(name, value, what));
}
template CliOption CliCommand::add_option(const std::string&, std::string&,
                                          const std::string&) const;
template CliOption CliCommand::add_option(const std::string&, std::vector<std::string>&,
                                          const std::string&) const;
template CliOption CliCommand::add_option(const std::string&, std::size_t&,
                                          const std::string&) const;
template CliOption CliCommand::add_option(const std::string&, int&, const std::string&) const;
template CliOption CliCommand::add_option(const std::string&, double&, const std::string&) const;

CliOption CliCommand::add_text(const std::string& name, std::string& value, const char* type,
                               const std::string& what) const {
  return add_option(name, value, what).type_name(type).check([](const std::string& text) {
    return text.empty() ? "the value is empty" : "";
  });
}

CliOption CliCommand::add_flag(const std::string& name, bool& value,
                               const std::string& what) const {
  return CliOption(app_->add_flag(name, value, what));
}

void CliCommand::remove_option(const std::string& name) const {
  app_->remove_option(app_->get_option(name));
}

CliCommand CliCommand::alias(const std::string& name) const {
  return CliCommand(app_->alias(name));
}

CliCommand CliCommand::prefix_command() const { return CliCommand(app_->prefix_command()); }

std::vector<std::string> CliCommand::remaining() const { return app_->remaining(); }

bool CliCommand::is_program() const { return app_->get_parent() == nullptr; }

}  // namespace mayfly
