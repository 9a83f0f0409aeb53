// SPDX-License-Identifier: Apache-2.0
#include "server/expiry/log_protection.h"

#include <algorithm>

#include "keyspace/keyspace.h"
#include "server/expiry/expiry_log.h"

namespace mayfly {

bool names_expiry_log(const Command& command, Words words) {
  const auto is_log = [](std::string_view word) { return word == kExpiryLogKey; };
  if (std::ranges::none_of(words.subspan(1), is_log)) return false;  // most: a look at the sizes
  const KeyRange& keys = command.keys;
  const auto target = static_cast<std::size_t>(keys.target);
  return std::ranges::any_of(key_positions(command, words), [&](std::size_t at) {
    if (!is_log(words[at])) return false;
    const bool is_target = target > 0 && at == target;
    const bool is_option =
        at != static_cast<std::size_t>(keys.first) && (command.flags & flag::store_option) != 0;
    const std::uint32_t access = is_target || is_option ? keys.target_access : keys.access;
    return (access & access::ro) == 0;
  });
}

bool queues_log_write(const Config& config, const ExecContext& context, Keyspace& keyspace,
                      const Command& command, Words words) {
  if (!config.expiry_log) return false;
  for (int number = 0; number < keyspace.count(); ++number) {
    if (!writes_expiry_log(config, context, keyspace[number], command, words)) return false;
  }
  return true;
}

bool is_protected(const Database& database) {
  const Slot slot = database.stored_slot(kExpiryLogKey);
  return slot == kNoSlot || database.type(slot) == ValueType::stream;
}

}  // namespace mayfly
