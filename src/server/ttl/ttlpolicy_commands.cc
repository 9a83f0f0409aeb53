// SPDX-License-Identifier: Apache-2.0
// TTLPOLICY: shows and changes the rules of ttl-policy one by one. CONFIG does so with all of them.

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "commands/ttl/ttl_policy.h"
#include "server/core/server_call.h"

namespace mayfly {
namespace {

void reply_ttl(Reply& reply, std::string_view name, const std::optional<Millis>& ttl) {
  reply.bulk(name);
  if (ttl) {
    reply.integer(ttl->count());
  } else {
    reply.null();
  }
}

void reply_rule(Reply& reply, const TtlRule& rule) {
  reply.map(5);
  reply.bulk("prefix");
  reply.bulk(rule.prefix.empty() ? "*" : rule.prefix);
  reply_ttl(reply, "default-ms", rule.default_ttl);
  reply_ttl(reply, "max-ms", rule.max_ttl);
  reply.bulk("required");
  reply.bulk(rule.is_required ? "yes" : "no");
  reply.bulk("jitter-percent");
  reply.bulk(fmt::format("{}", rule.jitter));
}

// TTLPOLICY LIST
void ttlpolicy_list(Call& call) {
  const std::vector<TtlRule>& rules = parts_of(call).config.ttl_policy.rules();
  call.reply().array(rules.size());
  for (const TtlRule& rule : rules) reply_rule(call.reply(), rule);
}

// TTLPOLICY GET key: the rule for the key, or null.
void ttlpolicy_get(Call& call) {
  const TtlRule* const rule = parts_of(call).config.ttl_policy.find(call.word(2));
  if (rule == nullptr) return call.reply().null();
  reply_rule(call.reply(), *rule);
}

// TTLPOLICY SET prefix option value [option value ...]
void ttlpolicy_set(Call& call) {
  const std::vector<std::string> words(call.words().begin() + 2, call.words().end());
  auto rule = TtlPolicy::parse_rule(words);
  if (!rule) return call.fail("ERR " + rule.error().message);
  parts_of(call).config.ttl_policy.set(std::move(*rule));
  call.reply().ok();
}

// TTLPOLICY DEL prefix: 1 if there was such a rule.
void ttlpolicy_del(Call& call) {
  const std::string_view prefix = call.word(2) == "*" ? std::string_view() : call.word(2);
  call.reply().integer(parts_of(call).config.ttl_policy.remove(prefix));
}

constexpr std::uint64_t kRuleRead = flag::loading | flag::stale;
constexpr std::uint64_t kRuleAdmin = flag::admin | flag::noscript | flag::loading | flag::stale;

// clang-format off
constexpr Command kTtlpolicyRows[] = {
    {"list", ttlpolicy_list, 2, kRuleRead, {}, "server", kOnlyHere, "",
     "Returns the rules about TTLs.", {}, "ttlpolicy"},
    {"get", ttlpolicy_get, 3, kRuleRead, {}, "server", kOnlyHere, "name",
     "Returns the rule for a key of this name.", {}, "ttlpolicy"},
    {"set", ttlpolicy_set, -5, kRuleAdmin, {}, "server", kOnlyHere,
     "prefix (option value)...",
     "Sets the rule for keys with a prefix: default, max, required, jitter.", {}, "ttlpolicy"},
    {"del", ttlpolicy_del, 3, kRuleAdmin, {}, "server", kOnlyHere, "prefix",
     "Removes the rule for a prefix.", {}, "ttlpolicy"},
    {"help", reply_help, 2, kRuleRead, {}, "server", kOnlyHere, "", "Prints this help.", {},
     "ttlpolicy"},
};

constexpr Command kTtlpolicyCommands[] = {
    {"ttlpolicy", nullptr, -2, 0, {}, "server", kOnlyHere, "",
     "Shows and changes the rules about TTLs.", kTtlpolicyRows},
};
// clang-format on

}  // namespace

std::span<const Command> ttlpolicy_commands() { return kTtlpolicyCommands; }

}  // namespace mayfly
