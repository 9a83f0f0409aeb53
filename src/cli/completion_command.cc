// SPDX-License-Identifier: Apache-2.0
#include "cli/completion_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/advice.h"
#include "mayfly/clock.h"
#include "mayfly/store.h"
#include "tools/byte_text.h"

namespace mayfly {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  source <(mayfly completion bash)                         for this shell\n"
    "  mayfly completion bash >~/.local/share/bash-completion/completions/mayfly\n"
    "  mayfly completion zsh >\"${fpath[1]}/_mayfly\"\n"
    "  mayfly completion fish >~/.config/fish/completions/mayfly.fish\n"
    "Commands, options, their values, files, families and keys of the store are completed.";

// The scripts know nothing: they ask the program, which knows its own words.
constexpr const char* kBash = R"(# bash completion of mayfly, made by `mayfly completion bash`
_mayfly() {
  local IFS=$'\n' line
  COMPREPLY=()
  for line in $(mayfly complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    if [[ $line == :files ]]; then
      compopt -o filenames
      COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}
complete -F _mayfly mayfly
)";
constexpr const char* kZsh = R"(#compdef mayfly
# zsh completion of mayfly, made by `mayfly completion zsh`
_mayfly() {
  local line
  local -a words_found
  for line in "${(@f)$(mayfly complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    if [[ $line == :files ]]; then
      _files
      continue
    fi
    words_found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  (( $#words_found )) && _describe mayfly words_found
}
if [[ $funcstack[1] == _mayfly ]]; then _mayfly "$@"; else compdef _mayfly mayfly; fi
)";
constexpr const char* kFish = R"(# fish completion of mayfly, made by `mayfly completion fish`
function __mayfly_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (mayfly complete $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c mayfly -f -a '(__mayfly_complete)'
)";

constexpr std::size_t kMostKeys = 50;  // more than anybody would read

using Words = std::vector<std::string>;

// The option that `word` names, of `app`; null if it names none.
const CLI::Option* option_named(const CLI::App& app, const std::string& word) {
  return word.starts_with("-") ? app.get_option_no_throw(word) : nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// One line of the answer, if it begins with what was written so far.
void offer(std::string& answer, const std::string& begun, const std::string& word,
           const std::string& what) {
  if (word.starts_with(begun)) answer += fmt::format("{}\t{}\n", word, what);
}

// Values that an option may have: "LEVEL:{off,normal,full}".
Words choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

// Where the user is: the command, what was given of it, and the word that is being written.
struct Place {
  const CLI::App* app = nullptr;
  const CLI::Option* asks = nullptr;  // the option whose value is being written
  std::size_t positionals = 0;        // before this one
  std::string file;                   // behind --db
  std::string family;                 // behind --cf
};

Place place_of(const CLI::App& program, const Words& words) {
  Place place;
  place.app = &program;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (place.asks != nullptr) {
      if (place.asks->check_name("--db")) place.file = words[i];
      if (place.asks->check_name("--cf")) place.family = words[i];
      place.asks = nullptr;
      continue;
    }
    if (const CLI::Option* option = option_named(*place.app, words[i])) {
      if (takes_value(*option)) place.asks = option;
    } else if (const CLI::App* below = command_named(*place.app, words[i])) {
      place.app = below;
    } else if (!words[i].starts_with("-")) {
      ++place.positionals;
    }
  }
  return place;
}

// The positional that comes next; null if there is none.
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
  if (path.empty()) return Error{Code::invalid, "no store is named"};
  return Store::open(path, clock, {.read_only = true, .create = false});
}

std::string keys_of_store(const Place& place, const std::string& begun) {
  std::string answer;
  const SystemClock clock;
  const Result<Store> store = open_to_read(place, clock);
  if (!store) return answer;
  const bool is_named = !place.family.empty() && place.family != "default";
  const Result<Family> family = is_named ? store->family(place.family) : Family();
  if (!family) return answer;
  Result<Cursor> cursor = store->cursor({.prefix = begun}, *family);
  if (!cursor) return answer;
  std::size_t left = kMostKeys;
  for (bool on = cursor->first(); on && left > 0; on = cursor->next(), --left) {
    if (is_utf8(cursor->key())) answer += fmt::format("{}\tkey\n", cursor->key());
  }
  return answer;
}

std::string families_of_store(const Place& place, const std::string& begun) {
  std::string answer;
  const SystemClock clock;
  const Result<Store> store = open_to_read(place, clock);
  if (!store) return answer;
  offer(answer, begun, "default", "column family");
  const Result<Words> names = store->families();
  if (!names) return answer;
  for (const std::string& name : *names) offer(answer, begun, name, "column family");
  return answer;
}

// What the value of an option, or a positional, could be.
std::string values_of(const Place& place, const CLI::Option& option, const std::string& begun) {
  std::string answer;
  for (const std::string& choice : choices(option)) offer(answer, begun, choice, "");
  if (!answer.empty()) return answer;
  if (option.check_name("--cf")) return families_of_store(place, begun);
  const std::string type = option.get_type_name();
  const std::string name = option.get_name(true);
  if (name == "KEY" || name == "PREFIX") return keys_of_store(place, begun);
  const bool is_file = type.starts_with("FILE") || type.starts_with("DIR") || name == "FILE";
  return is_file ? ":files\n" : "";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string complete(const CLI::App& program, const Words& words) {
  const std::string begun = words.empty() ? "" : words.back();
  const Place place = place_of(program, words);
  if (place.asks != nullptr) return values_of(place, *place.asks, begun);

  std::string answer;
  if (begun.starts_with("-")) {
    for (const CLI::Option* option : place.app->get_options()) {
      if (option->get_group().empty()) continue;
      for (const std::string& name : option->get_lnames()) {
        offer(answer, begun, "--" + name, first_line(option->get_description()));
      }
    }
    return answer;
  }
  for (const CLI::App* below : commands_below(*place.app)) {
    offer(answer, begun, below->get_name(), first_line(below->get_description()));
  }
  if (const CLI::Option* next = next_positional(place)) answer += values_of(place, *next, begun);
  return answer;
}

void add_completion_commands(Program& program) {
  const CliCommand completion =
      program.add("completion", "Print a script that completes words in a shell", kExamples);
  const auto shell = program.keep<std::string>();
  completion.add_option("SHELL", *shell, "bash, zsh or fish")
      .required()
      .type_name("NAME")
      .one_of({"bash", "zsh", "fish"});
  program.on(completion, [shell]() -> Result<Exit> {
    fmt::print("{}", *shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
    return Exit::ok;
  });

  const CliCommand asked = program.add("complete", "What a word could become; for the scripts", "");
  asked.app()->group("");
  asked.prefix_command();
  asked.app()->set_help_flag();  // the word to be completed may be --help
  program.on(asked, [&program, asked]() -> Result<Exit> {
    fmt::print("{}", complete(program.app(), asked.remaining()));
    return Exit::ok;
  });
}

}  // namespace mayfly
