// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/advice.h"
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
    "Exit codes: 0 done, 1 an error, which is explained on stderr, 2 there is no such key.";

// Words that no option or subcommand wants are collected, so that what is said about them is ours.
void collect_unknown_words(CLI::App& app) {
  app.allow_extras();
  for (CLI::App* const below : app.get_subcommands({})) collect_unknown_words(*below);
}

}  // namespace

Program::Program()
    : app_(
          std::make_unique<CLI::App>("Mayfly: a home for data that knows when to die.", "mayfly")) {
  app_->set_version_flag("--version", fmt::format("mayfly {}", kVersion), "Show the version");
  app_->footer(kExamples);
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
  command->group(above.is_program() ? group_ : "Commands");
  above.app()->require_subcommand(0, 1);
  return CliCommand(command);
}

void Program::on(CliCommand command, Run run) {
  if (command.app()->get_group() == "Subcommands") command.app()->group(group_);  // not our add()
  commands_.emplace_back(command.app(), std::move(run));
}

int Program::fail(const std::string& message) const {
  fmt::print(stderr, "mayfly: {}\n", message);
  return static_cast<int>(Exit::failed);
}

int Program::misused(const std::string& message) const {
  fmt::print(stderr, "mayfly: {}\nTry '{} --help'.\n", message, full_name(reached(*app_)));
  return static_cast<int>(Exit::failed);
}

int Program::run(int argc, char** argv) {
  collect_unknown_words(*app_);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    return app_->exit(asked);
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
    fmt::print("{}", chosen.help());
    return static_cast<int>(Exit::ok);
  }
  const Result<Exit> result = (*run)();
  if (!result) return fail(result.error().message);
  // What is printed may wait in a buffer, and the disk below it be full.
  if (std::fflush(stdout) != 0 && errno != EPIPE) {
    return fail(fmt::format("cannot write the output: {}", std::strerror(errno)));
  }
  return static_cast<int>(*result);
}

}  // namespace mayfly
