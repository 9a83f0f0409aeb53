// SPDX-License-Identifier: Apache-2.0
// The first line of a script or a library, which says what it needs.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "commands/words.h"
#include "resp/inline_words.h"
#include "server/scripting/scripting.h"

namespace mayfly {
namespace {

struct NamedFlag {
  std::string_view name;
  std::uint32_t flag;
};
constexpr NamedFlag kFlagNames[] = {
    {"no-writes", script_flag::no_writes},
    {"allow-oom", script_flag::allow_oom},
    {"allow-stale", script_flag::allow_stale},
    {"no-cluster", script_flag::no_cluster},
    {"allow-cross-slot-keys", script_flag::allow_cross_slot_keys},
};

Error wrong(std::string text) { return {Code::invalid, std::move(text)}; }

// "no-writes,allow-oom"
Result<std::uint32_t> read_flags(std::string_view list) {
  std::uint32_t flags = 0;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    const std::optional<std::uint32_t> flag = parse_script_flag(name);
    if (!flag) return wrong(fmt::format("Unexpected flag in script shebang: {}", name));
    flags |= *flag;
  }
  return flags;
}

bool is_library_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

}  // namespace

std::optional<std::uint32_t> parse_script_flag(std::string_view name) {
  const auto* const found = std::ranges::find(kFlagNames, name, &NamedFlag::name);
  if (found == std::end(kFlagNames)) return std::nullopt;
  return found->flag;
}

std::vector<std::string_view> script_flag_names(std::uint32_t flags) {
  std::vector<std::string_view> names;
  for (const NamedFlag& one : kFlagNames) {
    if ((flags & one.flag) != 0) names.push_back(one.name);
  }
  return names;
}

Result<Shebang> take_shebang(std::string_view& code, bool is_library) {
  Shebang shebang;
  if (!code.starts_with("#!")) {
    if (is_library) return wrong("Missing library metadata");
    return shebang;
  }
  const std::size_t end = code.find('\n');
  if (end == code.npos) {
    return wrong(is_library ? "Invalid library metadata" : "Invalid script shebang");
  }
  std::vector<std::string_view> words;
  std::string unquoted;
  const bool is_split = split_inline(code.substr(0, end), words, unquoted);
  code.remove_prefix(end);
  if (!is_split) return wrong(is_library ? "Invalid library metadata" : "Invalid script shebang");
  const std::string_view engine = words[0].substr(2);
  if (!equals(engine, "lua")) {
    if (is_library) return wrong(fmt::format("Engine '{}' not found", engine));
    return wrong(fmt::format("Could not find scripting engine '{}'", engine));
  }
  shebang.flags = 0;
  for (const std::string_view word : std::span(words).subspan(1)) {
    if (!is_library && word.starts_with("flags=")) {
      const Result<std::uint32_t> flags = read_flags(word.substr(6));
      if (!flags) return flags.error();
      shebang.flags |= *flags;
    } else if (is_library && word.starts_with("name=")) {
      if (!shebang.name.empty())
        return wrong("Invalid metadata value, name argument was given multiple times");
      shebang.name = word.substr(5);
    } else if (is_library) {
      return wrong(fmt::format("Invalid metadata value given: {}", word));
    } else {
      return wrong(fmt::format("Unknown lua shebang option: {}", word));
    }
  }
  if (is_library && shebang.name.empty()) return wrong("Library name was not given");
  if (is_library && !is_library_name(shebang.name)) {
    return wrong(
        "Library names can only contain letters, numbers, or underscores(_) and must be at "
        "least one character long");
  }
  return shebang;
}

}  // namespace mayfly
