// SPDX-License-Identifier: Apache-2.0
// Program, CliCommand, CliOption: the command line of `mayfly`.
//
//   Program program;
//   GetArgs* const args = program.keep<GetArgs>();
//   CliCommand get = program.add("get", "Print the value of a key", kGetExamples);
//   get.add_option("KEY", args->key, "The key").required();
//   get.add_option("--out", args->out, "Write the bytes to a file").type_name("FILE");
//   program.on(get, [args] { return print_value(*args); });
//   return program.run(argc, argv);
//
// A thin wrapper of CLI11, whose header takes seconds to compile, so that only a few files include
// it. CliCommand and CliOption are handles: a copy refers to the same command or option.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mayfly/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mayfly {

class CliOption {
 public:
  explicit CliOption(CLI::Option* option) : option_(option) {}

  CliOption type_name(const std::string& name) const;  // stands for its value in help
  CliOption group(const std::string& title) const;     // "": hidden
  CliOption required() const;
  CliOption take_last() const;  // if it is given several times
  CliOption excludes(CliOption other) const;
  CliOption one_of(const std::vector<std::string>& words) const;
  CliOption range(int least, int most) const;
  CliOption range(double least, double most) const;

  // Returns what is wrong with a value; empty if it is valid.
  CliOption check(std::function<std::string(const std::string&)> complaint) const;

  // Called with each value given.
  CliOption each(std::function<void(const std::string&)> use) const;

 private:
  CLI::Option* option_;
};

class CliCommand {
 public:
  explicit CliCommand(CLI::App* app) : app_(app) {}

  // `value` must live as long as the program: see Program::keep(). Instantiated for std::string,
  // std::vector<std::string>, std::size_t, int and double.
  template <class Value>
  CliOption add_option(const std::string& name, Value& value, const std::string& what) const;

  // An option that refuses an empty value: with an unset variable, --ttl "$TTL" must not store a
  // key that never expires. `type` stands for the value in help.
  CliOption add_text(const std::string& name, std::string& value, const char* type,
                     const std::string& what) const;
  CliOption add_flag(const std::string& name, bool& value, const std::string& what) const;

  void remove_option(const std::string& name) const;

  CliCommand alias(const std::string& name) const;

  // Does not parse arguments from the first unknown one on: remaining() returns them.
  CliCommand prefix_command() const;
  std::vector<std::string> remaining() const;

  bool is_program() const;  // the program itself, not a command
  CLI::App* app() const { return app_; }

 private:
  CLI::App* app_;
};

// The exit code. An Error is Exit::failed. not_found: the key does not exist or, with --exit-code,
// nothing was set. problems: `mayfly cluster check` has found some.
enum class Exit { ok = 0, failed = 1, not_found = 2, problems = 3 };

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

  // Adds a command, or a subcommand of `above`. `examples` is the end of its --help.
  CliCommand add(const std::string& name, const std::string& what, const char* examples);
  CliCommand add(CliCommand above, const std::string& name, const std::string& what,
                 const char* examples);

  // The heading in help of the commands added from now on.
  void begin_group(const std::string& title) { group_ = title; }

  // What the command does. A command without it is a group of others and shows its help.
  void on(CliCommand command, Run run);

  // Creates an object that lives as long as the program, for the values of options.
  template <class T, class... Arguments>
  T* keep(Arguments&&... arguments) {
    T* const made = new T(std::forward<Arguments>(arguments)...);
    kept_.emplace_back(made, [](void* kept) { delete static_cast<T*>(kept); });
    return made;
  }

  // Adds `help [COMMAND...]` and `version`.
  void add_help_command();

  // Adds the aliases of advice.h to the commands added so far.
  void add_aliases();

  CLI::App& app() { return *app_; }
  CliCommand whole() { return CliCommand(app_.get()); }  // for options before the command

  // Parses, runs the command and prints errors, also of standard output (tools/terminal). A closed
  // pipe is not an error. Returns the exit code.
  int run(int argc, char** argv);

 private:
  int run_words(int argc, char** argv);
  int run_chosen();
  Result<Exit> show_help(const std::vector<std::string>& words) const;
  const Run* runner_of(const CLI::App& command) const;
  int misused(const std::string& message) const;
  int fail(const std::string& message) const;

  std::vector<std::unique_ptr<void, void (*)(void*)>> kept_;  // options of app_ point into it
  std::unique_ptr<CLI::App> app_;
  std::string group_ = "Commands";
  std::vector<std::pair<CLI::App*, Run>> commands_;
};

}  // namespace mayfly
