// SPDX-License-Identifier: Apache-2.0
// CliCommand: the words that one command of the program takes.
//
//   CliCommand get = program.add("get", "Print the value of a key", kExamples);
//   get.add_option("KEY", words->key, "The key").required();
//   get.add_option("--out", words->out, "Write it to a file").type_name("FILE");
//
// A thin cover of CLI11, whose one header costs some seconds in every file that includes it: so
// only a few do. Both classes are handles; a copy means the same option or command.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mayfly {

class CliOption {
 public:
  explicit CliOption(CLI::Option* option) : option_(option) {}

  CliOption type_name(const std::string& name) const;  // what stands for its value in help
  CliOption group(const std::string& title) const;     // "": help does not show it
  CliOption required() const;
  CliOption take_last() const;  // of several
  CliOption excludes(CliOption other) const;
  CliOption one_of(const std::vector<std::string>& words) const;
  CliOption range(int least, int most) const;
  CliOption range(double least, double most) const;

  // Says what is wrong with a value; nothing if it is right.
  CliOption check(std::function<std::string(const std::string&)> complaint) const;

  // Called with each value that is written.
  CliOption each(std::function<void(const std::string&)> use) const;

 private:
  CLI::Option* option_;
};

class CliCommand {
 public:
  explicit CliCommand(CLI::App* app) : app_(app) {}

  // Where the words go must live as long as the program: see Program::keep().
  CliOption add_option(const std::string& name, std::string& value, const std::string& what) const;
  CliOption add_option(const std::string& name, std::vector<std::string>& values,
                       const std::string& what) const;
  CliOption add_option(const std::string& name, std::int64_t& value, const std::string& what) const;
  CliOption add_option(const std::string& name, std::size_t& value, const std::string& what) const;
  CliOption add_option(const std::string& name, int& value, const std::string& what) const;
  CliOption add_option(const std::string& name, double& value, const std::string& what) const;
  CliOption add_flag(const std::string& name, bool& value, const std::string& what) const;

  void remove_option(const std::string& name) const;

  CliCommand alias(const std::string& name) const;

  // All words from the first one that it does not know are its own business: see remaining().
  CliCommand prefix_command() const;
  std::vector<std::string> remaining() const;

  bool is_program() const;  // not a command of it
  CLI::App* app() const { return app_; }

 private:
  CLI::App* app_;
};

}  // namespace mayfly
