// SPDX-License-Identifier: Apache-2.0
// The program `mayfly`: which subcommand is meant, and good advice when none is.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "bench/bench_command.h"
#include "tools/nearest.h"
#include "cli/rdb_command.h"
#include "cli/serve_command.h"
#include "tools/version.h"
#include "mayfly/result.h"

namespace mayfly {
namespace {

constexpr int kFailure = 1;

constexpr const char* kExamples =
    "Examples:\n"
    "  mayfly serve                     start a server for any Redis or Valkey client\n"
    "  mayfly rdb dump.rdb              what is in an RDB file, and whether it is sound\n"
    "  mayfly bench expiry              compare the expiry strategies on this machine\n"
    "  mayfly bench cache               how fast reads of the cache are\n"
    "  mayfly bench store               the store beside LMDB, SQLite and RocksDB\n"
    "  mayfly bench server              the server beside redis-server\n"
    "  mayfly bench expiry --help       what it measures, and how to ask for less or more";

// Words that no option or subcommand wants are collected, so that what is said about them is ours.
void collect_unknown_words(CLI::App& app) {
  app.allow_extras();
  for (CLI::App* const below : app.get_subcommands({})) collect_unknown_words(*below);
}

// The command of ours that the user got to, before a word was wrong or at the end.
const CLI::App& deepest(const CLI::App& app) {
  if (!app.remaining().empty()) return app;
  const auto below = app.get_subcommands();
  return below.empty() ? app : deepest(*below.front());
}

std::string full_name(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name();
  return full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> right_words(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  } else {
    for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
      words.push_back(below->get_name());
    }
  }
  return words;
}

// What to say about a word that `app` does not know.
Error unknown_word(const CLI::App& app, const std::string& word) {
  const bool is_option = word.starts_with("-");
  const std::vector<std::string> words = right_words(app, is_option);
  const std::vector<std::string_view> views(words.begin(), words.end());
  const std::string name = word.substr(0, word.find('='));
  const std::string_view guess = nearest(name, views);

  std::string message = fmt::format("'{}' is not {} of '{}'", name,
                                    is_option ? "an option" : "a command", full_name(app));
  if (!guess.empty()) {
    message += fmt::format("; did you mean '{}'?", guess);
  } else if (views.empty()) {
    message += ", which takes options only";
  } else {
    message += fmt::format("; it knows {}", listed(views));
  }
  return {Code::invalid, message};
}

int fail(const CLI::App& app, const std::string& message) {
  fmt::print(stderr, "mayfly: {}\nTry '{} --help'.\n", message, full_name(deepest(app)));
  return kFailure;
}

int run(int argc, char** argv) {
  CLI::App app("Mayfly: a home for data that knows when to die.", "mayfly");
  app.set_version_flag("--version", fmt::format("mayfly {}", kVersion), "Show the version");
  app.footer(kExamples);
  const ServeCommand serve(app);
  const RdbCommand rdb(app);
  const BenchCommand bench(app);
  collect_unknown_words(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    return app.exit(asked);
  } catch (const CLI::ArgumentMismatch& wrong) {
    const std::string_view message = wrong.what();  // "--sizes: 1 required N,... missing"
    return fail(app, fmt::format("{} needs a value", message.substr(0, message.find(':'))));
  } catch (const CLI::ParseError& wrong) {
    return fail(app, wrong.what());
  }
  if (serve.is_chosen()) {
    const Status status = serve.run();
    return status ? 0 : fail(app, status.error().message);
  }
  const CLI::App& reached = deepest(app);
  if (!reached.remaining().empty()) {
    return fail(app, unknown_word(reached, reached.remaining().front()).message);
  }
  if (app.get_subcommands().empty()) fmt::print("{}", app.help());

  const Status status = rdb.is_chosen() ? rdb.run() : bench.run();
  return status ? 0 : fail(app, status.error().message);
}

}  // namespace
}  // namespace mayfly

// Read by jemalloc: pages are given back to the system by a thread of its own, not in the middle of
// a request.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf = "background_thread:true";
}

int main(int argc, char** argv) {
  try {
    return mayfly::run(argc, argv);
  } catch (const std::exception& failure) {  // memory has run out, or the output is closed
    fmt::print(stderr, "mayfly: {}\n", failure.what());
    return mayfly::kFailure;
  }
}
