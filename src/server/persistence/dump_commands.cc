// SPDX-License-Identifier: Apache-2.0
// DUMP and RESTORE: a value as bytes, with a version and a checksum, as in an RDB file.

#include <fmt/format.h>

#include <optional>
#include <string>

#include "commands/ttl/expire_time.h"
#include "commands/ttl/jitter.h"
#include "commands/ttl/ttl_policy.h"
#include "keyspace/eviction.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_save.h"
#include "server/core/server_call.h"
#include "server/persistence/loading.h"

namespace mayfly {
namespace {

void dump(Call& call) {
  const Slot slot = call.find_to_read(call.word(1));
  if (slot == kNoSlot) return call.reply().null();
  const RdbOptions options = {.compresses = parts_of(call).config.rdbcompression,
                              .checksums = true};
  call.reply().bulk(dump_value(call.database(), slot, options));
}

struct RestoreOptions {
  bool replaces = false;
  bool is_absolute = false;
  std::optional<std::int64_t> idle_seconds;
  std::optional<std::int64_t> frequency;
  Jitter jitter;
};

// The number after the word at `i`; IDLETIME and FREQ do not go together.
bool read_access(Call& call, std::size_t i, RestoreOptions& options) {
  const bool is_idle = call.is(i, "idletime");
  if (i + 1 >= call.count() || (is_idle ? options.frequency : options.idle_seconds)) {
    call.fail_syntax();
    return false;
  }
  std::optional<std::int64_t>& number = is_idle ? options.idle_seconds : options.frequency;
  number = call.integer(i + 1);
  if (!number) return false;
  if (is_idle && *number < 0) call.fail("ERR Invalid IDLETIME value, must be >= 0");
  if (!is_idle && (*number < 0 || *number > 255)) {
    call.fail("ERR Invalid FREQ value, must be >= 0 and <= 255");
  }
  return !call.has_failed();
}

std::optional<RestoreOptions> read_restore_options(Call& call) {
  RestoreOptions options;
  for (std::size_t i = 4; i < call.count(); ++i) {
    if (call.is(i, "replace")) {
      options.replaces = true;
    } else if (call.is(i, "absttl")) {
      options.is_absolute = true;
    } else if (call.is(i, "jitter") && i + 1 < call.count()) {
      if (!options.jitter.read(call, ++i)) return std::nullopt;
    } else if (call.is(i, "idletime") || call.is(i, "freq")) {
      if (!read_access(call, i, options)) return std::nullopt;
      ++i;
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return options;
}

// 0 means never; nothing after an error.
std::optional<Time> read_restore_deadline(Call& call, bool is_absolute) {
  const std::optional<std::int64_t> ttl = call.integer(2);
  if (!ttl) return std::nullopt;
  if (*ttl < 0) {
    call.fail("ERR Invalid TTL value, must be >= 0");
    return std::nullopt;
  }
  if (*ttl == 0) return kNever;
  return deadline_argument(call, 2, {.is_seconds = false, .is_absolute = is_absolute}, 0);
}

void fail_restore(Call& call, const Error& error) {
  call.fail(fmt::format("ERR {}", error.message));
}

// Stores the value of the payload under the key; kNoSlot after an error, which leaves an old value
// in place. So the value gets another name first, unless there can be no old one.
// An old value that a deadline in the past removes is an expiry.
Slot restore_over(Call& call, Slot old, std::string_view key, Time deadline) {
  Database& database = call.database();
  const bool may_hide_one = call.context().policy == Policy::hide;
  std::string name(key);
  if (old != kNoSlot || may_hide_one) {
    name += fmt::format(":restored:{:016x}", call.keyspace().random().next());
  }
  const RdbChecks checks = rdb_checks(parts_of(call).config);
  const Result<Slot> made = restore_value(call.context(), database, name, call.word(3), checks);
  if (!made) {
    fail_restore(call, made.error());
    return kNoSlot;
  }
  if (name == key) return *made;
  if (old != kNoSlot) {
    if (deadline != kNever && call.context().expires_at_once(deadline)) {
      database.report_expiring(call.context(), old, deadline, FoundBy::past);
    }
    database.erase(old);
  }
  database.rename(*made, key);
  return *made;
}

void set_access(Call& call, Slot slot, const RestoreOptions& options) {
  const bool is_lfu = call.keyspace().options().uses_lfu;
  if (options.frequency && is_lfu) {
    const auto frequency = static_cast<unsigned>(*options.frequency);
    call.database().set_access(slot, access_of_frequency(frequency, call.now()));
  }
  if (options.idle_seconds && !is_lfu) {
    const auto idle = static_cast<std::uint64_t>(*options.idle_seconds);
    call.database().set_access(slot, access_of_idle(idle, call.now()));
  }
}

// The words as they are, with an absolute time.
void propagate_restore(Call& call, Time deadline) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated words(call.words().begin(), call.words().begin() + 4);
  words[2] = in_millis(deadline);
  for (std::size_t i = 4; i < call.count(); ++i) {
    if (call.is(i, "jitter")) {
      ++i;
    } else if (!call.is(i, "absttl")) {
      words.emplace_back(call.word(i));
    }
  }
  words.emplace_back("ABSTTL");
  call.propagate_list(std::move(words));
}

void restore(Call& call) {
  const std::optional<RestoreOptions> options = read_restore_options(call);
  if (!options) return;
  const std::string_view key = call.word(1);
  const Slot old = call.find(key);
  if (old != kNoSlot && !options->replaces) {
    return call.fail("BUSYKEY Target key name already exists.");
  }
  std::optional<Time> deadline = read_restore_deadline(call, options->is_absolute);
  if (!deadline) return;
  if (options->jitter.is_given && *deadline == kNever) return call.fail_syntax();
  const Time given = *deadline;
  deadline = ruled_deadline(call, key, given, options->jitter);
  if (!deadline) return;
  const Slot slot = restore_over(call, old, key, *deadline);
  if (slot == kNoSlot) return;

  call.reply().ok();
  if (*deadline != kNever && call.context().expires_at_once(*deadline)) {
    call.database().erase(slot);
    if (old == kNoSlot) return;
    call.changed(key);
    call.propagate_as(call.host().implied_removal_name(), key);
    return call.notify(Event::generic, "del", key);
  }
  if (*deadline != kNever) call.database().set_deadline(slot, *deadline);
  set_access(call, slot, *options);
  call.changed(key);
  call.notify(Event::generic, "restore", key);
  const bool is_exact = options->is_absolute && !options->jitter.is_given && *deadline == given;
  if (*deadline != kNever && !is_exact) propagate_restore(call, *deadline);
}

// clang-format off
constexpr Command kDumpCommands[] = {
    {"dump", dump, 2, flag::readonly, {1, 1, 1, access::ro | access::access}, "generic", "2.6.0",
     "key", "Returns the value of a key as bytes, for RESTORE."},
    {"restore", restore, -4, flag::write | flag::denyoom | flag::dangerous | flag::asks_rules,
     {1, 1, 1, access::ow | access::update}, "generic", "2.6.0",
     "key ttl:int serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds:int] [FREQ "
     "frequency:int] [JITTER percent:double]", "Makes a key from what DUMP returned."},
};
// clang-format on

}  // namespace

std::span<const Command> dump_commands() { return kDumpCommands; }

}  // namespace mayfly
