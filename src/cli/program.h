// SPDX-License-Identifier: Apache-2.0
// Program: the commands of `mayfly`, and what becomes of the words behind it.
//
//   Program program;
//   auto words = std::make_shared<GetWords>();
//   CLI::App& get = program.add("get", "Print the value of a key", kExamples);
//   get.add_option("KEY", words->key, "...")->required();
//   program.on(get, [words] { return print_value(*words); });
//   return program.run(argc, argv);
//
// What a command needs to keep between parsing and running is captured by its function.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mayfly/result.h"

namespace mayfly {

// What the program says to whoever started it. An Error is Exit::failed.
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
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // A command of the program, or one below `above`. `examples` is what its --help ends with.
  CLI::App& add(const std::string& name, const std::string& what, const char* examples);
  CLI::App& add(CLI::App& above, const std::string& name, const std::string& what,
                const char* examples);

  // What is done when the command was asked for. A command without that is a group of others, and
  // shows its help.
  void on(CLI::App& command, Run run);

  CLI::App& app() { return app_; }

  // Parses, runs what was asked for, and says what is wrong. Returns the exit code.
  int run(int argc, char** argv);

 private:
  int run_chosen();
  const Run* runner_of(const CLI::App& command) const;
  int misused(const std::string& message) const;
  int fail(const Error& error) const;

  CLI::App app_;
  std::vector<std::pair<CLI::App*, Run>> commands_;
};

}  // namespace mayfly
