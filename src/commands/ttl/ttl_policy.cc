// SPDX-License-Identifier: Apache-2.0
#include "commands/ttl/ttl_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "commands/ttl/duration.h"
#include "commands/words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr Millis kLongestTtl = 1000 * std::chrono::years(1);

Error bad_rule(std::string message) { return {Code::invalid, std::move(message)}; }

// 30s, 5m, 2h, 1d, 1w, 500ms; seconds without a unit.
Result<Millis> read_ttl(std::string_view text) {
  const bool has_unit = text.find_first_not_of("0123456789") != text.npos;
  const auto ttl = duration_of(has_unit ? std::string(text) : fmt::format("{}s", text));
  if (!ttl || *ttl < Millis(1) || *ttl > kLongestTtl) {
    return bad_rule(fmt::format("'{}' is no TTL: write 30s, 5m, 2h, 1d, 1w or 500ms", text));
  }
  return *ttl;
}

Status read_rule_option(TtlRule& rule, std::string_view name, std::string_view value) {
  if (equals(name, "default") || equals(name, "max")) {
    const auto ttl = read_ttl(value);
    if (!ttl) return ttl.error();
    (equals(name, "max") ? rule.max_ttl : rule.default_ttl) = *ttl;
  } else if (equals(name, "required")) {
    if (!equals(value, "yes") && !equals(value, "no")) {
      return bad_rule("required must be 'yes' or 'no'");
    }
    rule.is_required = equals(value, "yes");
  } else if (equals(name, "jitter")) {
    const std::optional<double> percent = parse_double(value);
    if (!percent || !(*percent >= 0 && *percent <= 100)) {
      return bad_rule("jitter must be a percentage from 0 to 100");
    }
    rule.jitter = *percent;
  } else {
    return bad_rule(
        fmt::format("'{}' is no option of a rule: default, max, required or jitter", name));
  }
  return Done{};
}

// As a rule is named in errors.
std::string_view shown_prefix(const TtlRule& rule) {
  return rule.prefix.empty() ? std::string_view("*") : std::string_view(rule.prefix);
}

Time with_rule(Call& call, const TtlRule& rule, Time deadline, const Jitter& jitter, Millis late) {
  const Jitter own{.percent = rule.jitter, .is_given = true};
  const Time spread = (jitter.is_given ? jitter : own).apply(call, deadline);
  if (!rule.max_ttl) return spread;
  return std::min(spread, std::max(deadline, call.now() + *rule.max_ttl - late));
}

}  // namespace

const TtlRule* TtlPolicy::find(std::string_view key) const {
  // The last rule up to the key begins with every prefix of the key that is a rule. So does what
  // both have in common.
  std::string_view rest = key;
  while (true) {
    auto at = std::ranges::upper_bound(
        rules_, rest, {}, [](const TtlRule& rule) { return std::string_view(rule.prefix); });
    if (at == rules_.begin()) return nullptr;
    --at;
    if (key.starts_with(at->prefix)) return &*at;
    const auto [differs, unused] = std::ranges::mismatch(rest, at->prefix);
    rest = rest.substr(0, static_cast<std::size_t>(differs - rest.begin()));
  }
}

void TtlPolicy::set(TtlRule rule) {
  const auto at = std::ranges::lower_bound(rules_, rule.prefix, {}, &TtlRule::prefix);
  if (at != rules_.end() && at->prefix == rule.prefix) {
    *at = std::move(rule);
  } else {
    rules_.insert(at, std::move(rule));
  }
}

bool TtlPolicy::remove(std::string_view prefix) {
  return std::erase_if(rules_, [&](const TtlRule& rule) { return rule.prefix == prefix; }) > 0;
}

Result<TtlRule> TtlPolicy::parse_rule(std::span<const std::string> words) {
  if (words.empty() || words.size() < 3 || words.size() % 2 == 0) {
    return bad_rule(
        "a rule is a prefix and options with values: session: default 30m max 1d required yes "
        "jitter 10");
  }
  TtlRule rule;
  rule.prefix = words[0] == "*" ? "" : words[0];
  if (rule.prefix.ends_with('*') || rule.prefix == ";") {
    return bad_rule(fmt::format(
        "'{}' is no prefix: a prefix is plain text without a * at its end, and * alone means all "
        "keys",
        rule.prefix));
  }
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const Status status = read_rule_option(rule, words[i], words[i + 1]);
    if (!status) return status.error();
  }
  if (rule.default_ttl && rule.max_ttl && *rule.default_ttl > *rule.max_ttl) {
    return bad_rule("the default is longer than max");
  }
  return rule;
}

Result<TtlPolicy> TtlPolicy::parse(std::span<const std::string> words) {
  TtlPolicy policy;
  while (!words.empty()) {
    const auto end = static_cast<std::size_t>(std::ranges::find(words, ";") - words.begin());
    const auto rule = parse_rule(words.first(end));
    if (!rule) return rule.error();
    policy.set(*rule);
    words = words.subspan(std::min(end + 1, words.size()));
  }
  return policy;
}

std::string options_text(const TtlRule& rule) {
  std::string text;
  if (rule.default_ttl) text += " default " + duration_text(*rule.default_ttl);
  if (rule.max_ttl) text += " max " + duration_text(*rule.max_ttl);
  if (rule.is_required) text += " required yes";
  if (rule.jitter > 0) text += fmt::format(" jitter {}", rule.jitter);
  return text.empty() ? "required no" : text.substr(1);
}

void refuse_no_ttl(Call& call, std::string_view key, const TtlRule& rule) {
  call.host().count_ttl_violation();
  call.fail(fmt::format(
      "TTLPOLICY key '{}' must have a TTL{}: the rule for '{}' says so (give one "
      "with SET ... EX or the like)",
      key, rule.max_ttl ? fmt::format(" of at most {}", duration_text(*rule.max_ttl)) : "",
      shown_prefix(rule)));
}

std::optional<Time> ruled_deadline(Call& call, std::string_view key, Time deadline,
                                   const Jitter& jitter, Millis late) {
  const TtlRule* const rule = call.ttl_rule(key);
  if (rule == nullptr) return jitter.apply(call, deadline);
  if (deadline == kNever) {
    if (rule->default_ttl) {
      return with_rule(call, *rule, call.now() + *rule->default_ttl, {}, Millis(0));
    }
    if (rule->allows_none()) return kNever;
    refuse_no_ttl(call, key, *rule);
    return std::nullopt;
  }
  const bool is_future = !is_due(deadline, call.now());
  if (rule->max_ttl && is_future && deadline - call.now() > *rule->max_ttl - late) {
    call.host().count_ttl_violation();
    call.fail(fmt::format("TTLPOLICY the TTL of key '{}' is too long: the rule for '{}' allows {}",
                          key, shown_prefix(*rule), duration_text(*rule->max_ttl)));
    return std::nullopt;
  }
  return with_rule(call, *rule, deadline, jitter, late);
}

std::optional<Time> ruled_kept(Call& call, std::string_view key, Time deadline) {
  return ruled_deadline(call, key, deadline, {.percent = 0, .is_given = true});
}

bool may_persist(Call& call, std::string_view key) {
  const TtlRule* const rule = call.ttl_rule(key);
  if (rule == nullptr || rule->allows_none()) return true;
  refuse_no_ttl(call, key, *rule);
  return false;
}

}  // namespace mayfly
