// SPDX-License-Identifier: Apache-2.0
// `mayfly manual`: manual pages, generated from the texts of --help.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/version.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "tools/files.h"

namespace mayfly {
namespace {

constexpr const char* kManualExamples =
    "Examples:\n"
    "  mayfly manual put | man -l -         read the manual page of a command\n"
    "  mayfly manual --write share/man1     write all pages, as a package installs them";

constexpr const char* kAbout =
    "Mayfly stores data that expires. Every key can have its own TTL.\n"
    ".B mayfly serve\n"
    "starts a server for Redis and Valkey clients. Commands with the option\n"
    ".B \\-\\-db\n"
    "work on a store file and need no server.\n";

// Escapes dashes, backslashes and leading dots for roff.
std::string escaped(std::string_view text) {
  std::string result;
  bool begins = true;
  for (const char letter : text) {
    if (begins && (letter == '.' || letter == '\'')) result += "\\&";
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else {
      result += letter;
    }
    begins = letter == '\n';
  }
  return result;
}

std::string page_name(const CLI::App& app) {
  std::string name = full_name(app);
  for (char& letter : name) {
    if (letter == ' ') letter = '-';
  }
  return name;
}

std::string upper(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

// "LEVEL" of a type like "LEVEL:{off,normal,full}".
std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));
  return " \\fI" + (type.empty() ? "VALUE" : escaped(type)) + "\\fR";
}

std::string synopsis(const CLI::App& app) {
  std::string text = fmt::format(".B {}\n", escaped(full_name(app)));
  if (!commands_below(app).empty()) return text + ".I COMMAND\n[\\fIOPTIONS\\fR]\n";
  text += "[\\fIOPTIONS\\fR]\n";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = escaped(option->get_name(true));
    text += option->get_required() ? fmt::format("\\fI{}\\fR\n", name)
                                   : fmt::format("[\\fI{}\\fR]\n", name);
  }
  return text;
}

std::string options_section(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      text += fmt::format(".TP\n\\fI{}\\fR\n", escaped(option->get_name(true)));
    } else {
      text += fmt::format(".TP\n\\fB{}\\fR{}\n", escaped(option->get_name(false, true)),
                          value_name(*option));
    }
    text += escaped(option->get_description()) + "\n";
  }
  return text;
}

std::string commands_section(const CLI::App& app) {
  std::string text;
  for (const CLI::App* below : commands_below(app)) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(below->get_name()),
                        escaped(below->get_description()));
  }
  return text;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string examples_section(const CLI::App& app) {
  std::string text = app.get_footer();
  constexpr std::string_view kTitle = "Examples:\n";
  if (text.starts_with(kTitle)) text.erase(0, kTitle.size());
  return text.empty() ? "" : ".nf\n" + escaped(text) + "\n.fi\n";
}

std::string see_also(const CLI::App& app) {
  std::string text;
  if (app.get_parent() != nullptr) text += ".BR mayfly (1)";
  for (const CLI::App* below : commands_below(app)) {
    text += fmt::format("{}.BR {} (1)", text.empty() ? "" : ",\n", escaped(page_name(*below)));
  }
  return text + "\n";
}

std::string manual_page(const CLI::App& app) {
  const bool is_program = app.get_parent() == nullptr;
  std::string text = fmt::format(".TH {} 1 \"\" \"mayfly {}\" \"Mayfly\"\n", upper(page_name(app)),
                                 kMayflyVersion);
  text += section(
      "NAME", fmt::format("{} \\- {}\n", escaped(page_name(app)), escaped(app.get_description())));
  text += section("SYNOPSIS", synopsis(app));
  text += section("DESCRIPTION", is_program ? kAbout : escaped(app.get_description()) + ".\n");
  text += section("COMMANDS", commands_section(app));
  text += section("OPTIONS", options_section(app));
  text += section("EXAMPLES", examples_section(app));
  text += section("EXIT STATUS", "0: success. 1: error, explained on stderr. 2: key not found.\n");
  return text + section("SEE ALSO", see_also(app));
}

// Writes the page of this command and of its subcommands. The page of serve is share/man.
Status write_pages(const CLI::App& app, const std::filesystem::path& directory) {
  if (app.get_name() != "serve") {
    const Status status = write_file(directory / (page_name(app) + ".1"), manual_page(app));
    if (!status) return status;
  }
  for (const CLI::App* below : commands_below(app)) {
    if (const Status status = write_pages(*below, directory); !status) return status;
  }
  return Done{};
}

Result<Exit> run_manual(const CLI::App& program, const std::vector<std::string>& names,
                        const std::string& directory) {
  if (!directory.empty()) {
    if (const Status status = make_directory(directory); !status) return status.error();
    return exit_of(write_pages(program, directory));
  }
  const CLI::App* app = &program;
  for (const std::string& name : names) {
    const CLI::App* const below = command_named(*app, name);
    if (below == nullptr) return Error{Code::invalid, unknown_word(*app, name)};
    app = below;
  }
  fmt::print("{}", manual_page(*app));
  return Exit::ok;
}

}  // namespace

void add_manual_command(Program& program) {
  const CliCommand manual =
      program.add("manual", "Print a manual page, or write all of them", kManualExamples);
  const auto names = program.keep<std::vector<std::string>>();
  const auto directory = program.keep<std::string>();
  manual.add_option("COMMAND", *names, "The command (default: the page of mayfly itself)");
  manual.add_option("--write", *directory, "Write all pages to a directory").type_name("DIR");
  program.on(manual, [&program, names, directory] {
    return run_manual(program.app(), *names, *directory);
  });
}

}  // namespace mayfly
