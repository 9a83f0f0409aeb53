// SPDX-License-Identifier: Apache-2.0
#include "cli/cli_command.h"

#include <CLI/CLI.hpp>

namespace mayfly {

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

CliOption CliCommand::add_option(const std::string& name, std::string& value,
                                 const std::string& what) const {
  return CliOption(app_->add_option(name, value, what));
}

CliOption CliCommand::add_option(const std::string& name, std::vector<std::string>& values,
                                 const std::string& what) const {
  return CliOption(app_->add_option(name, values, what));
}

CliOption CliCommand::add_option(const std::string& name, std::int64_t& value,
                                 const std::string& what) const {
  return CliOption(app_->add_option(name, value, what));
}

CliOption CliCommand::add_option(const std::string& name, std::size_t& value,
                                 const std::string& what) const {
  return CliOption(app_->add_option(name, value, what));
}

CliOption CliCommand::add_option(const std::string& name, int& value,
                                 const std::string& what) const {
  return CliOption(app_->add_option(name, value, what));
}

CliOption CliCommand::add_option(const std::string& name, double& value,
                                 const std::string& what) const {
  return CliOption(app_->add_option(name, value, what));
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
