// SPDX-License-Identifier: Apache-2.0
// The tables of directives: those with an effect, and those of Valkey and Redis whose values are
// only kept.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/config.h"
#include "server/config/config_values.h"

namespace mayfly {

// Marks of a directive.
namespace mark {
inline constexpr unsigned fixed = 1 << 0;         // not to be changed while the server runs
inline constexpr unsigned is_protected = 1 << 1;  // only if enable-protected-configs says so
inline constexpr unsigned secret = 1 << 2;        // never shown but by CONFIG GET
inline constexpr unsigned several = 1 << 3;       // takes more words than one
inline constexpr unsigned hidden = 1 << 5;        // CONFIG GET shows it by its exact name only
inline constexpr unsigned loaded = 1 << 6;        // not to be changed while data is loaded
inline constexpr unsigned safety = 1 << 4;  // inert, and another value than the default matters
inline constexpr unsigned encrypts = 1
                                     << 7;  // inert, and another value than the default is refused
}  // namespace mark

// How a value gets into a Config and out of it.
struct Field {
  Status (*set)(Config& config, Values values, bool at_start);
  std::string (*show)(const Config& config);
};

struct Directive {
  std::string_view name;
  std::string_view alias;  // or empty
  Field field;
  unsigned marks = 0;
};

// What an inert value must look like.
enum class Form { text, words, boolean, number, memory, signed_memory, oom_scores };

struct InertDirective {
  std::string_view name;
  std::string_view alias;  // or empty
  Form form;
  std::string_view value;  // Valkey's default, as CONFIG GET shows it
  unsigned marks = 0;
};

// A directive that must not be ignored: it restricts access, or adds something.
struct RefusedDirective {
  std::string_view name;
  std::string_view why;
};

std::span<const Directive> directives();  // all of them, the next four included
std::span<const Directive> persistence_directives();
std::span<const Directive> replication_directives();
std::span<const Directive> http_directives();
std::span<const Directive> cluster_directives();
std::span<const InertDirective> inert_directives();
std::span<const RefusedDirective> refused_directives();

// By name or alias, in any case; null if there is none.
const Directive* find_directive(std::string_view name);
const InertDirective* find_inert(std::string_view name);

// The marks of either kind; 0 if there is no such directive.
unsigned marks_of(std::string_view name);

// ---- Fields of the usual kinds, made from a pointer to a member of Config ----
//
//   constexpr Directive kPort{"port", "", number<&Config::port, 0, 65'535>, mark::fixed};

template <std::int64_t Config::*field, std::int64_t least, std::int64_t most>
Status set_number(Config& config, Values values, bool) {
  const auto word = only_word(values);
  if (!word) return word.error();
  const auto number = read_number(*word, least, most);
  if (!number) return number.error();
  config.*field = *number;
  return Done{};
}

template <std::int64_t Config::*field>
std::string show_number(const Config& config) {
  return std::to_string(config.*field);
}

template <std::uint64_t Config::*field, std::uint64_t least, std::uint64_t most>
Status set_memory(Config& config, Values values, bool) {
  const auto word = only_word(values);
  if (!word) return word.error();
  const auto bytes = read_memory(*word, least, most);
  if (!bytes) return bytes.error();
  config.*field = *bytes;
  return Done{};
}

template <std::uint64_t Config::*field>
std::string show_memory(const Config& config) {
  return std::to_string(config.*field);
}

template <bool Config::*field>
Status set_bool(Config& config, Values values, bool) {
  const auto word = only_word(values);
  if (!word) return word.error();
  const auto is = read_bool(*word);
  if (!is) return is.error();
  config.*field = *is;
  return Done{};
}

template <bool Config::*field>
std::string show_bool(const Config& config) {
  return config.*field ? "yes" : "no";
}

template <std::string Config::*field>
Status set_text(Config& config, Values values, bool) {
  auto word = only_word(values);
  if (!word) return word.error();
  config.*field = std::move(*word);
  return Done{};
}

template <std::string Config::*field>
std::string show_text(const Config& config) {
  return config.*field;
}

template <std::string Config::*field, const auto& choices>
Status set_choice(Config& config, Values values, bool) {
  const auto word = only_word(values);
  if (!word) return word.error();
  const auto chosen = read_choice(*word, choices);
  if (!chosen) return chosen.error();
  config.*field = *chosen;
  return Done{};
}

template <std::vector<std::string> Config::*field>
Status set_words(Config& config, Values values, bool) {
  config.*field = split_words(values);
  return Done{};
}

template <std::vector<std::string> Config::*field>
std::string show_words(const Config& config) {
  std::string text;
  for (const std::string& word : config.*field) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

template <std::int64_t Config::*field, std::int64_t least, std::int64_t most>
inline constexpr Field number{set_number<field, least, most>, show_number<field>};

template <std::uint64_t Config::*field, std::uint64_t least = 0, std::uint64_t most = kMemoryMost>
inline constexpr Field memory{set_memory<field, least, most>, show_memory<field>};

template <bool Config::*field>
inline constexpr Field boolean{set_bool<field>, show_bool<field>};

template <std::string Config::*field>
inline constexpr Field text{set_text<field>, show_text<field>};

// Marked `several`.
template <std::vector<std::string> Config::*field>
inline constexpr Field words{set_words<field>, show_words<field>};

template <std::string Config::*field, const auto& choices>
inline constexpr Field choice{set_choice<field, choices>, show_text<field>};

}  // namespace mayfly
