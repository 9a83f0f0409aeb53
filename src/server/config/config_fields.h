// SPDX-License-Identifier: Apache-2.0
// Fields of the usual kinds, made from a pointer to a member of Config.
//
//   constexpr Directive kPort{"port", "", number<&Config::port, 0, 65'535>, mark::fixed};

#pragma once

#include <cstdint>
#include <string>

#include "server/config/config_table.h"
#include "server/config/config_values.h"

namespace mayfly {

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

template <std::int64_t Config::*field, std::int64_t least, std::int64_t most>
inline constexpr Field number{set_number<field, least, most>, show_number<field>};

template <std::uint64_t Config::*field, std::uint64_t least = 0, std::uint64_t most = kMemoryMost>
inline constexpr Field memory{set_memory<field, least, most>, show_memory<field>};

template <bool Config::*field>
inline constexpr Field boolean{set_bool<field>, show_bool<field>};

template <std::string Config::*field>
inline constexpr Field text{set_text<field>, show_text<field>};

template <std::string Config::*field, const auto& choices>
inline constexpr Field choice{set_choice<field, choices>, show_text<field>};

}  // namespace mayfly
