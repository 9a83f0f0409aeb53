// SPDX-License-Identifier: Apache-2.0
// The tables of directives: those that do something here, and those that only Valkey or Redis
// know, whose values are kept.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/config/config.h"
#include "server/config/config_values.h"

namespace mayfly {

// Marks of a directive.
namespace mark {
inline constexpr unsigned fixed = 1 << 0;         // not to be changed while the server runs
inline constexpr unsigned is_protected = 1 << 1;  // only if enable-protected-configs says so
inline constexpr unsigned secret = 1 << 2;        // never shown but by CONFIG GET
inline constexpr unsigned several = 1 << 3;       // takes more words than one
inline constexpr unsigned safety = 1 << 4;  // inert, and another value than the default matters
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
enum class Form { text, words, boolean, number, memory };

struct InertDirective {
  std::string_view name;
  std::string_view alias;  // or empty
  Form form;
  std::string_view value;  // Valkey's default, as CONFIG GET shows it
  unsigned marks = 0;
};

// A directive that would open what it closes, or leave out what it brings in, were it ignored.
struct RefusedDirective {
  std::string_view name;
  std::string_view why;
};

std::span<const Directive> directives();  // all of them, the next two included
std::span<const Directive> persistence_directives();
std::span<const Directive> replication_directives();
std::span<const InertDirective> inert_directives();
std::span<const RefusedDirective> refused_directives();

// By name or alias, in any case; null if there is none.
const Directive* find_directive(std::string_view name);
const InertDirective* find_inert(std::string_view name);

// The marks of either kind; 0 if there is no such directive.
unsigned marks_of(std::string_view name);

}  // namespace mayfly
