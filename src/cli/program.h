// SPDX-License-Identifier: Apache-2.0
// Program: the commands of `mayfly`, and what becomes of the words behind it.
//
//   Program program;
//   GetWords* const words = program.keep<GetWords>();
//   CliCommand get = program.add("get", "Print the value of a key", kExamples);
//   get.add_option("KEY", words->key, "...").required();
//   program.on(get, [words] { return print_value(*words); });
//   return program.run(argc, argv);
//
// What a command needs to keep between parsing and running is kept by the program.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli_command.h"
#include "mayfly/result.h"

namespace mayfly {

// What the program says to whoever started it. An Error is Exit::failed. not_found is the answer
// no: there is no such key, or with --exit-code, nothing was set.
enum class Exit { ok = 0, failed = 1, not_found = 2 };

// For commands that either do what they were asked or cannot.
inline Result<Exit> exit_of(const Status& status) {
  if (!status) return status.error();
  return Exit::ok;
}

class Program {
 public:
  using Run = std::function<Result<Exit>()>;

  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // A command of the program, or one below `above`. `examples` is what its --help ends with.
  CliCommand add(const std::string& name, const std::string& what, const char* examples);
  CliCommand add(CliCommand above, const std::string& name, const std::string& what,
                 const char* examples);

  // The title under which help lists the commands that are added from now on.
  void begin_group(const std::string& title) { group_ = title; }

  // What is done when the command was asked for. A command without that is a group of others, and
  // shows its help.
  void on(CliCommand command, Run run);

  // Makes something that lives as long as the program, for options to be bound to.
  template <class T, class... Arguments>
  T* keep(Arguments&&... arguments) {
    T* const made = new T(std::forward<Arguments>(arguments)...);
    kept_.emplace_back(made, [](void* kept) { delete static_cast<T*>(kept); });
    return made;
  }

  // `help [COMMAND...]`, which knows the commands that are there when it is asked, and `version`.
  void add_help_command();

  // The names that our commands have elsewhere (other_words.h), for all commands that were added.
  void add_other_names();

  CLI::App& app() { return *app_; }
  CliCommand whole() { return CliCommand(app_.get()); }  // for options before any command

  // Parses, runs what was asked for, and says what is wrong: also if the output cannot be written,
  // be it at the end or before (see tools/output.h). That nobody reads it any more is not wrong.
  // Returns the exit code.
  int run(int argc, char** argv);

 private:
  int run_words(int argc, char** argv);
  int run_chosen();
  Result<Exit> show_help(const std::vector<std::string>& words) const;
  const Run* runner_of(const CLI::App& command) const;
  int misused(const std::string& message) const;
  int fail(const std::string& message) const;

  std::vector<std::unique_ptr<void, void (*)(void*)>> kept_;  // options of app_ point into them
  std::unique_ptr<CLI::App> app_;
  std::string group_ = "Commands";
  std::vector<std::pair<CLI::App*, Run>> commands_;
};

}  // namespace mayfly
