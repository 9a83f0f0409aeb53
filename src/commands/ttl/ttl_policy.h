// SPDX-License-Identifier: Apache-2.0
// The rules of the directive ttl-policy: which TTLs the keys of a prefix have.
//
//   ttl-policy session: default 30m max 1d required yes jitter 10
//
//   default    a key that is made without a TTL gets this one
//   max        a longer TTL is refused, and so is none unless there is a default
//   required   no TTL is refused, unless there is a default
//   jitter     of TTLs that are set without a JITTER of their own
//
// The rule with the longest prefix of a key is the one for that key. Rules are about keys, not
// about members. Only a primary judges, and only what clients send.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "commands/ttl/jitter.h"
#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

struct TtlRule {
  std::string prefix;
  std::optional<Millis> default_ttl;
  std::optional<Millis> max_ttl;
  bool is_required = false;
  double jitter = 0;  // percent

  // Whether a key may be made without a TTL: it stays without, or gets the default.
  bool takes_none() const { return default_ttl || (!is_required && !max_ttl); }
  // Whether a key may be left without a TTL.
  bool allows_none() const { return !is_required && !max_ttl; }
};

class TtlPolicy {
 public:
  bool empty() const { return rules_.empty(); }
  const std::vector<TtlRule>& rules() const { return rules_; }  // in the order of their prefixes

  // The rule for a key; null if there is none. O(length of the key * log rules).
  const TtlRule* find(std::string_view key) const;

  // Replaces the rule of the same prefix, if there is one.
  void set(TtlRule rule);

  // Whether there was such a rule.
  bool remove(std::string_view prefix);

  // Rules, separated by the word `;`: session: max 1d ; cache: jitter 10. The prefix `*` is that
  // of all keys.
  static Result<TtlPolicy> parse(std::span<const std::string> words);
  static Result<TtlRule> parse_rule(std::span<const std::string> words);

 private:
  std::vector<TtlRule> rules_;
};

// The words of a rule after its prefix, as parse_rule() reads them: default 30m max 1d.
std::string options_text(const TtlRule& rule);

// The deadline that a key gets if a request gives it `deadline`, kNever for none: with jitter, or
// the default. An error reply and nothing if the rule for the key forbids it. A key that is `late`
// longer than that (its stale window) must be within the maximum, too.
std::optional<Time> ruled_deadline(Call& call, std::string_view key, Time deadline,
                                   const Jitter& jitter, Millis late = Millis(0));

// The same for a key that comes with its deadline, as by RENAME: there is no jitter, unless it gets
// the default.
std::optional<Time> ruled_kept(Call& call, std::string_view key, Time deadline);

// Whether the key may lose its TTL; if not, there is an error reply.
bool may_persist(Call& call, std::string_view key);

// An error reply: the key would have no TTL.
void refuse_no_ttl(Call& call, std::string_view key, const TtlRule& rule);

}  // namespace mayfly
