// SPDX-License-Identifier: Apache-2.0
// What to say about words that the program does not understand.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace mayfly {

// The commands below `app` that its help shows, and the one of that name; null if there is none.
std::vector<const CLI::App*> commands_below(const CLI::App& app);
const CLI::App* command_named(const CLI::App& app, const std::string& name);

// What was written for `app` and is nothing that it knows.
std::vector<std::string> unknown_words(const CLI::App& app);

// The command that the user got to, before a word was wrong or at the end.
const CLI::App& reached(const CLI::App& app);

// "mayfly cf create".
std::string full_name(const CLI::App& app);

// Of a word that `app` does not know, with the one that was probably meant.
std::string unknown_word(const CLI::App& app, const std::string& word);

// Of words that the parser refused.
std::string explanation(const CLI::App& app, const CLI::ParseError& wrong);

}  // namespace mayfly
