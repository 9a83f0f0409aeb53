// SPDX-License-Identifier: Apache-2.0
// Reading and showing the values of directives.

#include "server/config/config_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "commands/words.h"
#include "resp/inline_words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

// clang-format off
constexpr Unit kUnits[] = {
    {"",   1}, {"b", 1},
    {"k",  1'000}, {"kb", 1'024},
    {"m",  1'000'000}, {"mb", 1'048'576},
    {"g",  1'000'000'000}, {"gb", 1'073'741'824},
};
// clang-format on

OutputLimit* limit_of(Config& config, std::string_view client_class) {
  if (equals(client_class, "normal")) return &config.output_normal;
  if (equals(client_class, "replica") || equals(client_class, "slave")) {
    return &config.output_replica;
  }
  if (equals(client_class, "pubsub")) return &config.output_pubsub;
  return nullptr;
}

std::string show_output_limit(std::string_view name, const OutputLimit& limit) {
  return fmt::format("{} {} {} {}", name, limit.hard_bytes, limit.soft_bytes, limit.soft_seconds);
}

bool is_plain(char c) {
  return std::isgraph(static_cast<unsigned char>(c)) != 0 && c != '"' && c != '\'' && c != '\\';
}

}  // namespace

Error bad_value(std::string message) { return {Code::invalid, std::move(message)}; }

Result<std::string> only_word(Values values) {
  if (values.size() != 1) return bad_value("wrong number of arguments");
  return values.front();
}

std::vector<std::string> split_words(Values values) {
  std::vector<std::string> all;
  for (const std::string& value : values) {
    std::vector<std::string_view> words;
    std::string unquoted;
    if (split_inline(value, words, unquoted)) {
      all.insert(all.end(), words.begin(), words.end());
    } else {
      all.push_back(value);
    }
  }
  std::erase(all, std::string());
  return all;
}

Result<std::int64_t> read_number(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto number = parse_integer(text);
  if (!number) return bad_value("argument couldn't be parsed into an integer");
  if (*number < least || *number > most) {
    return bad_value(fmt::format("argument must be between {} and {} inclusive", least, most));
  }
  return *number;
}

Result<std::int64_t> read_octal(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, 8);
  if (error != std::errc() || stop != end || text.empty()) {
    return bad_value("argument couldn't be parsed as an octal number");
  }
  if (number < 0 || number > most) {
    return bad_value(fmt::format("argument must be between 0 and {:o} inclusive", most));
  }
  return number;
}

Result<std::uint64_t> read_memory(std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view name(stop, static_cast<std::size_t>(end - stop));
  const auto unit =
      std::ranges::find_if(kUnits, [&](const Unit& row) { return equals(name, row.name); });
  if (error != std::errc() || unit == std::end(kUnits) || number > UINT64_MAX / unit->bytes) {
    return bad_value("argument must be a memory value");
  }
  if (number * unit->bytes < least || number * unit->bytes > most) {
    return bad_value(fmt::format("argument must be between {} and {} inclusive", least, most));
  }
  return number * unit->bytes;
}

Result<bool> read_bool(std::string_view text) {
  if (equals(text, "yes")) return true;
  if (equals(text, "no")) return false;
  return bad_value("argument must be 'yes' or 'no'");
}

Result<std::string_view> read_choice(std::string_view text,
                                     std::span<const std::string_view> choices) {
  const auto found =
      std::ranges::find_if(choices, [&](std::string_view choice) { return equals(text, choice); });
  if (found != choices.end()) return *found;
  return bad_value(
      fmt::format("argument(s) must be one of the following: {}", fmt::join(choices, ", ")));
}

Result<std::vector<SaveRule>> read_save(Values values) {
  const std::vector<std::string> words = split_words(values);
  std::vector<SaveRule> rules;
  if (words.size() % 2 != 0) return bad_value("Invalid save parameters");
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto seconds = parse_integer(words[i]);
    const auto changes = parse_integer(words[i + 1]);
    if (!seconds || !changes || *seconds < 1 || *changes < 0) {
      return bad_value("Invalid save parameters");
    }
    rules.push_back({*seconds, *changes});
  }
  return rules;
}

std::string show_save(const std::vector<SaveRule>& rules) {
  std::string text;
  for (const SaveRule& rule : rules) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{} {}", rule.seconds, rule.changes);
  }
  return text;
}

Status read_output_limits(Config& config, Values values) {
  const std::vector<std::string> words = split_words(values);
  if (words.empty() || words.size() % 4 != 0) {
    return bad_value("Wrong number of arguments in buffer limit configuration.");
  }
  Config changed = config;
  for (std::size_t i = 0; i < words.size(); i += 4) {
    OutputLimit* const limit = limit_of(changed, words[i]);
    if (limit == nullptr) {
      return bad_value("Invalid client class specified in buffer limit configuration.");
    }
    const auto hard = read_memory(words[i + 1], 0);
    const auto soft = read_memory(words[i + 2], 0);
    const auto seconds = parse_integer(words[i + 3]);
    if (!hard || !soft || !seconds || *seconds < 0) {
      return bad_value(
          "Error in hard, soft or soft_seconds setting in buffer limit configuration.");
    }
    *limit = {*hard, *soft, *seconds};
  }
  config = std::move(changed);
  return Done{};
}

std::string show_output_limits(const Config& config) {
  return show_output_limit("normal", config.output_normal) + ' ' +
         show_output_limit("slave", config.output_replica) + ' ' +
         show_output_limit("pubsub", config.output_pubsub);
}

Status read_ttl_policy(Config& config, Values values, bool at_start) {
  std::vector<std::string> words(values.begin(), values.end());
  if (words.size() == 1) words = split_words(values);
  auto policy = TtlPolicy::parse(words);
  if (!policy) return policy.error();
  if (!at_start || policy->empty()) config.ttl_policy = {};
  for (const TtlRule& rule : policy->rules()) config.ttl_policy.set(rule);
  return Done{};
}

std::string show_ttl_policy(const Config& config) {
  std::string text;
  for (const TtlRule& rule : config.ttl_policy.rules()) {
    if (!text.empty()) text += " ; ";
    text += fmt::format("{} {}", rule.prefix.empty() ? "*" : quoted_word(rule.prefix),
                        options_text(rule));
  }
  return text;
}

std::string quoted_word(std::string_view word) {
  if (!word.empty() && word.front() != '#' && std::ranges::all_of(word, is_plain)) {
    return std::string(word);
  }
  std::string text = "\"";
  for (const char c : word) {
    if (c == ' ' || c == '\'' || is_plain(c)) {
      text += c;
    } else if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  text += '"';
  return text;
}

}  // namespace mayfly
