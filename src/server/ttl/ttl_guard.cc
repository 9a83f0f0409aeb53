// SPDX-License-Identifier: Apache-2.0
#include "server/ttl/ttl_guard.h"

#include <optional>
#include <string_view>
#include <vector>

#include "commands/ttl/ttl_policy.h"
#include "server/expiry/log_protection.h"

namespace mayfly {
namespace {

// A key that the command may make, as it was before.
struct Judged {
  std::string_view key;
  const TtlRule* rule;
  bool is_there;
  bool has_deadline;
  bool is_replaced;  // the command makes it anew, even if it is there
};

// What the command does to the key at this word.
std::uint32_t access_at(const Command& command, std::size_t position) {
  const auto at = static_cast<int>(position);
  const bool is_stored = (command.flags & flag::store_option) != 0 && at != command.keys.first;
  const bool is_target = command.keys.target > 0 && at == command.keys.target;
  return is_target || is_stored ? command.keys.target_access : command.keys.access;
}

std::vector<Judged> judged_keys(ServerCall& call) {
  std::vector<Judged> keys;
  for (const std::size_t position : key_positions(call.command(), call.words())) {
    const std::uint32_t access = access_at(call.command(), position);
    if ((access & (access::rw | access::ow)) == 0) continue;
    if ((access & (access::update | access::insert)) == 0) continue;
    const std::string_view key = call.word(position);
    const TtlRule* const rule = call.ttl_rule(key);
    if (rule == nullptr) continue;
    Database& database = call.database();
    const Slot slot = database.peek(call.context(), key);
    const bool is_there = slot != kNoSlot;
    const bool is_replaced = (access & access::ow) != 0 && (access & access::update) != 0;
    keys.push_back(
        {key, rule, is_there, is_there && database.deadline(slot) != kNever, is_replaced});
  }
  return keys;
}

void give_default(ServerCall& call, const Judged& judged) {
  Database& database = call.database();
  const Slot slot = database.peek(call.context(), judged.key);
  if (slot == kNoSlot || database.deadline(slot) != kNever) return;
  const bool is_new = !judged.is_there || judged.has_deadline || judged.is_replaced;
  if (!is_new || !judged.rule->default_ttl) return;
  const std::optional<Time> deadline = ruled_kept(call, judged.key, kNever);
  database.set_deadline(slot, *deadline);
  call.propagate_deadline(database.number(), judged.key, *deadline);
}

}  // namespace

void run_write_handler(ServerCall& call) {
  const Command& command = call.command();
  if (writes_expiry_log(call.server.config, call.context(), call.database(), command,
                        call.words())) {
    return call.fail(kLogProtectedReply);
  }
  const bool may_make = (command.flags & (flag::asks_rules | flag::needs_key)) == 0;
  if (!may_make || !call.judges_ttls()) return command.handler(call);

  const std::vector<Judged> keys = judged_keys(call);
  for (const Judged& judged : keys) {
    const bool makes = !judged.is_there || judged.is_replaced;
    if (makes && !judged.rule->takes_none()) return refuse_no_ttl(call, judged.key, *judged.rule);
  }
  command.handler(call);
  if (call.changes() == 0) return;
  for (const Judged& judged : keys) give_default(call, judged);
}

}  // namespace mayfly
