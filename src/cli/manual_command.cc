// SPDX-License-Identifier: Apache-2.0
#include "cli/manual_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/advice.h"
#include "tools/files.h"
#include "tools/version.h"

namespace mayfly {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly manual put | man -l -         read the page of a command\n"
    "  mayfly manual --write share/man1     all pages, as a package installs them";

constexpr const char* kAbout =
    "Mayfly is a home for data that knows when to die: every entry can carry its own deadline.\n"
    ".B mayfly serve\n"
    "is a server for clients of Redis and Valkey; the commands that take\n"
    ".B \\-\\-db\n"
    "work on a store in a file, without a server.\n";

// Dashes and backslashes as roff wants them, and no line that it would take for a request.
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

// "LEVEL:{off,normal,full}" and the like: only what stands for the value.
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

std::string options_of(const CLI::App& app) {
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

std::string commands_of(const CLI::App& app) {
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

// The end of --help: examples, and what is to be said about them.
std::string examples_of(const CLI::App& app) {
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

// This command's page and those of all below it. serve has one that was written by hand.
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

Result<Exit> run(const CLI::App& program, const std::vector<std::string>& names,
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

std::string manual_page(const CLI::App& app) {
  const bool is_program = app.get_parent() == nullptr;
  std::string text =
      fmt::format(".TH {} 1 \"\" \"mayfly {}\" \"Mayfly\"\n", upper(page_name(app)), kVersion);
  text += section(
      "NAME", fmt::format("{} \\- {}\n", escaped(page_name(app)), escaped(app.get_description())));
  text += section("SYNOPSIS", synopsis(app));
  text += section("DESCRIPTION", is_program ? kAbout : escaped(app.get_description()) + ".\n");
  text += section("COMMANDS", commands_of(app));
  text += section("OPTIONS", options_of(app));
  text += section("EXAMPLES", examples_of(app));
  text += section("EXIT STATUS",
                  "0: done. 1: an error, which is explained on stderr. 2: there is no such key.\n");
  return text + section("SEE ALSO", see_also(app));
}

void add_manual_command(Program& program) {
  const CliCommand manual =
      program.add("manual", "Print a manual page, or write all of them", kExamples);
  const auto names = program.keep<std::vector<std::string>>();
  const auto directory = program.keep<std::string>();
  manual.add_option("COMMAND", *names, "Whose page; without one, that of the program");
  manual.add_option("--write", *directory, "Write all pages into a directory").type_name("DIR");
  program.on(manual,
             [&program, names, directory] { return run(program.app(), *names, *directory); });
}

}  // namespace mayfly
