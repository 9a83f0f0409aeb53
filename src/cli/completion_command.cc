// SPDX-License-Identifier: Apache-2.0
// `mayfly completion SHELL` prints a completion script; the script runs `mayfly complete`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/completion_scripts.h"
#include "mayfly/clock.h"
#include "mayfly/store.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr const char* kCompletionExamples =
    "Examples:\n"
    "  source <(mayfly completion bash)                         for this shell only\n"
    "  mayfly completion bash >~/.local/share/bash-completion/completions/mayfly\n"
    "  mayfly completion zsh >\"${fpath[1]}/_mayfly\"\n"
    "  mayfly completion fish >~/.config/fish/completions/mayfly.fish\n"
    "Completes commands, options and their values, file names, column families and keys.";

constexpr std::size_t kMostKeys = 50;
constexpr const char* kFiles = ":files\n";

// The option `word` of `app`; null if there is none.
const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  return word.starts_with("-") ? app.get_option_no_throw(word) : nullptr;
}

bool option_takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Whether it fits on a line of a shell and of the answer.
bool is_printable(std::string_view word) {
  const auto is_control = [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F;
  };
  return is_utf8(word) && std::ranges::none_of(word, is_control);
}

// Adds a line to the answer if `word` starts with what was typed.
void offer(std::string& answer, const std::string& begun, const std::string& word,
           const std::string& what) {
  if (word.starts_with(begun) && is_printable(word)) answer += fmt::format("{}\t{}\n", word, what);
}

// The values of an option with a type like "LEVEL:{off,normal,full}".
std::vector<std::string> choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

// The context of the word being typed.
struct Place {
  const CLI::App* app = nullptr;
  const CLI::Option* asks = nullptr;  // the option whose value is being typed
  bool is_behind_dashes = false;      // after '--' nothing is an option
  std::size_t positionals = 0;        // before the word being typed
  std::string file;                   // of --db
  std::string family;                 // of --cf
};

// The option and the value of "--db=FILE"; nothing if `word` has another form.
std::optional<std::pair<std::string, std::string>> halves(const std::string& word) {
  const std::size_t sign = word.find('=');
  if (!word.starts_with("--") || sign == std::string::npos) return std::nullopt;
  return std::pair(word.substr(0, sign), word.substr(sign + 1));
}

void record_value(Place& place, const CLI::Option& option, const std::string& value) {
  if (option.check_name("--db")) place.file = value;
  if (option.check_name("--cf")) place.family = value;
}

void pass_option(Place& place, const std::string& word) {
  const auto parts = halves(word);
  const CLI::Option* const option = option_named(*place.app, parts ? parts->first : word);
  if (word == "--") {
    place.is_behind_dashes = true;
  } else if (option != nullptr && parts) {
    record_value(place, *option, parts->second);
  } else if (option != nullptr && option_takes_value(*option)) {
    place.asks = option;
  }
}

void pass_word(Place& place, const CLI::App& program, const std::string& word) {
  if (place.asks != nullptr) {
    record_value(place, *place.asks, word);
    place.asks = nullptr;
    return;
  }
  if (word.starts_with("-") && !place.is_behind_dashes) return pass_option(place, word);
  const CLI::App* const below = place.is_behind_dashes ? nullptr : command_named(*place.app, word);
  if (below == nullptr) {
    ++place.positionals;
  } else {
    place.app = word == "help" ? &program : below;  // its arguments are commands
  }
}

Place place_of(const CLI::App& program, const std::vector<std::string>& words) {
  Place place;
  place.app = &program;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) pass_word(place, program, words[i]);
  return place;
}

// The next positional argument; null if there is none.
const CLI::Option* next_positional(const Place& place) {
  std::size_t left = place.positionals;
  for (const CLI::Option* option : place.app->get_options()) {
    if (!option->get_positional()) continue;
    if (left-- == 0) return option;
  }
  return nullptr;
}

Result<Store> open_to_read(const Place& place, const SystemClock& clock) {
  std::string path = place.file;
  if (const char* const named = std::getenv("MAYFLY_DB"); path.empty() && named != nullptr) {
    path = named;
  }
  if (path.empty()) return Error{Code::invalid, "no store given"};
  return Store::open(path, clock, {.read_only = true, .create = false});
}

// A key as an argument: a leading '@' is doubled, since it would name a file. Empty if it cannot
// be written, as a key that looks like an option.
std::string key_word(const std::string& key, const Place& place) {
  if (key == "-" || !is_printable(key)) return "";
  if (key.starts_with("-") && !place.is_behind_dashes) return "";
  return key.starts_with("@") ? "@" + key : key;
}

std::string keys_of_store(const Place& place, const std::string& begun) {
  std::string answer;
  const SystemClock clock;
  const Result<Store> store = open_to_read(place, clock);
  if (!store) return answer;
  const bool is_named = !place.family.empty() && place.family != "default";
  const Result<Family> family = is_named ? store->family(place.family) : Family();
  if (!family) return answer;
  const std::string prefix = begun.starts_with("@") ? begun.substr(1) : begun;
  Result<Cursor> cursor = store->cursor({.prefix = prefix}, *family);
  if (!cursor) return answer;
  std::size_t left = kMostKeys;
  for (bool on = cursor->first(); on && left > 0; on = cursor->next(), --left) {
    const std::string word = key_word(std::string(cursor->key()), place);
    if (!word.empty()) offer(answer, begun, word, "key");
  }
  return answer;
}

std::string families_of_store(const Place& place, const std::string& begun) {
  std::string answer;
  const SystemClock clock;
  const Result<Store> store = open_to_read(place, clock);
  if (!store) return answer;
  offer(answer, begun, "default", "column family");
  const Result<std::vector<std::string>> names = store->families();
  if (!names) return answer;
  for (const std::string& name : *names) offer(answer, begun, name, "column family");
  return answer;
}

// Completes the value of an option or a positional argument.
std::string values_of(const Place& place, const CLI::Option& option, const std::string& begun) {
  std::string answer;
  for (const std::string& choice : choices(option)) offer(answer, begun, choice, "");
  if (!answer.empty()) return answer;
  const std::string type = option.get_type_name();
  const std::string name = option.get_name(true);
  // `cf drop NAME` names an existing family, `cf create NAME` does not.
  const bool is_family = name == "NAME" && full_name(*place.app).starts_with("mayfly cf ") &&
                         place.app->get_name() != "create";
  if (is_family || option.check_name("--cf")) return families_of_store(place, begun);
  if (name == "KEY" || name == "PREFIX") return keys_of_store(place, begun);
  const bool is_file = type.starts_with("FILE") || type.starts_with("DIR") || name == "FILE";
  return is_file ? kFiles : "";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// For "--db=FI" the value is completed.
std::string complete_option(const Place& place, const std::string& begun) {
  std::string answer;
  if (const auto parts = halves(begun)) {
    const CLI::Option* const option = option_named(*place.app, parts->first);
    if (option == nullptr || !option_takes_value(*option)) return answer;
    const std::string values = values_of(place, *option, parts->second);
    if (values.starts_with(kFiles)) return values;
    for (const std::string& line : CLI::detail::split(values, '\n')) {
      if (!line.empty()) answer += fmt::format("{}={}\n", parts->first, line);
    }
    return answer;
  }
  for (const CLI::Option* option : place.app->get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      offer(answer, begun, "--" + name, first_line(option->get_description()));
    }
  }
  return answer;
}

// What the last of `words` could become, one per line: the word, a tab, what it is. The single line
// ":files" stands for file names. `words` are the arguments of `mayfly`.
std::string complete(const CLI::App& program, const std::vector<std::string>& words) {
  const std::string begun = words.empty() ? "" : words.back();
  const Place place = place_of(program, words);
  if (place.asks != nullptr) return values_of(place, *place.asks, begun);
  if (begun.starts_with("-") && !place.is_behind_dashes) return complete_option(place, begun);
  std::string answer;
  if (!place.is_behind_dashes && place.positionals == 0) {
    for (const CLI::App* below : commands_below(*place.app)) {
      offer(answer, begun, below->get_name(), first_line(below->get_description()));
    }
  }
  if (const CLI::Option* next = next_positional(place)) answer += values_of(place, *next, begun);
  return answer;
}

const char* completion_script(std::string_view shell) {
  return shell == "bash" ? kBashCompletion : shell == "zsh" ? kZshCompletion : kFishCompletion;
}

}  // namespace

void add_completion_commands(Program& program) {
  const CliCommand completion =
      program.add("completion", "Print a shell completion script", kCompletionExamples);
  const auto shell = program.keep<std::string>();
  completion.add_option("SHELL", *shell, "bash, zsh or fish")
      .required()
      .type_name("NAME")
      .one_of({"bash", "zsh", "fish"});
  program.on(completion, [shell]() -> Result<Exit> {
    fmt::print("{}", completion_script(*shell));
    return Exit::ok;
  });

  const CliCommand asked =
      program.add("complete", "Complete a word; called by the completion scripts", "");
  asked.app()->group("");
  asked.prefix_command();
  asked.app()->set_help_flag();  // --help may be the word to complete
  program.on(asked, [&program, asked]() -> Result<Exit> {
    fmt::print("{}", complete(program.app(), asked.remaining()));
    return Exit::ok;
  });
}

}  // namespace mayfly
