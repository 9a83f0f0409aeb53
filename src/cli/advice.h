// SPDX-License-Identifier: Apache-2.0
// What the program says about arguments that it does not know: guesses, and the names that other
// tools (redis-cli, sqlite3, etcdctl, the shell) have for our commands.
//
//   set, rm, ls       aliases of our commands put, del, list
//   setex, decr       not aliases; the error suggests what to write instead

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mayfly {

// The visible subcommands of `app`, and the one of that name; null if there is none.
std::vector<const CLI::App*> commands_below(const CLI::App& app);
const CLI::App* command_named(const CLI::App& app, const std::string& name);

// Arguments of `app` that it does not know.
std::vector<std::string> unknown_words(const CLI::App& app);

// The innermost command that was parsed.
const CLI::App& reached(const CLI::App& app);

// "mayfly cf create".
std::string full_name(const CLI::App& app);

// The error message for an unknown argument, with a guess.
std::string unknown_word(const CLI::App& app, const std::string& word);

// The error message for arguments that the parser refused.
std::string explanation(const CLI::App& app, const CLI::ParseError& wrong);

struct Alias {
  std::string_view name;
  std::string_view command;  // of ours, with the same arguments; empty if there is none
  std::string_view advice;   // what to write instead, if there is no command
};

std::span<const Alias> aliases();

// The command that `word` is an alias of, or `word` itself; in lower case.
std::string command_meant(std::string_view word);

// "use 'put KEY VALUE --ttl TIME'"; empty if there is no advice for `word`.
std::string_view advice_for(std::string_view word);

}  // namespace mayfly
