// SPDX-License-Identifier: Apache-2.0
// The commands that move or copy a key to another name or database, with all its deadlines, and
// SWAPDB.

#include <climits>
#include <cstdint>
#include <optional>

#include "commands/call.h"
#include "commands/command.h"
#include "commands/ttl/ttl_policy.h"

namespace mayfly {
namespace {

// A key has come to a name, maybe with a deadline that the rule for the name gave to it.
void set_ruled(Call& call, Database& database, Slot slot, std::string_view key, Time deadline) {
  if (database.deadline(slot) == deadline) return;
  database.set_deadline(slot, deadline);
  call.propagate_deadline(database.number(), key, deadline);
}

constexpr std::string_view kSameObject = "ERR source and destination objects are the same";

void rename_key(Call& call, bool overwrites) {
  const std::string_view from = call.word(1);
  const std::string_view to = call.word(2);
  Database& database = call.database();
  const Slot slot = call.find_to_write(from);
  if (slot == kNoSlot) return call.fail("ERR no such key");

  const Slot target = from == to ? slot : call.find_to_write(to);
  const bool is_free = target == kNoSlot;
  const bool moves = from != to && (is_free || overwrites);
  std::optional<Time> deadline = kNever;
  if (moves) deadline = ruled_kept(call, to, database.deadline(slot));
  if (!deadline) return;
  if (overwrites) {
    call.reply().ok();
  } else {
    call.reply().integer(is_free);
  }
  if (!moves) return;

  if (!is_free) database.erase(target);
  database.rename(slot, to);
  call.notify(Event::created, "new", to);
  call.changed(from);
  call.key_changed(database.number(), to);
  call.notify(Event::generic, "rename_from", from);
  call.notify(Event::generic, "rename_to", to);
  set_ruled(call, database, slot, to, *deadline);
}

// Word `i` as an int, or an error reply and nothing. `error` replaces the usual texts.
std::optional<int> int_argument(Call& call, std::size_t i, std::string_view error = {}) {
  constexpr std::string_view kNoInteger = "ERR value is not an integer or out of range";
  constexpr std::string_view kNoInt =
      "ERR value is out of range, value must between -2147483648 and 2147483647";
  const std::optional<std::int64_t> number =
      call.integer(i, INT64_MIN, INT64_MAX, error.empty() ? kNoInteger : error);
  if (!number) return std::nullopt;
  if (*number >= INT_MIN && *number <= INT_MAX) return static_cast<int>(*number);
  call.fail(error.empty() ? kNoInt : error);
  return std::nullopt;
}

// Whether the database exists; if not, there is an error reply.
bool check_database(Call& call, int number) {
  if (number >= 0 && number < call.keyspace().count()) return true;
  call.fail("ERR DB index is out of range");
  return false;
}

struct CopyOptions {
  int database;
  bool replace = false;
};

std::optional<CopyOptions> read_copy_options(Call& call) {
  CopyOptions options{.database = call.database().number()};
  for (std::size_t i = 3; i < call.count(); ++i) {
    if (call.is(i, "replace")) {
      options.replace = true;
    } else if (call.is(i, "db") && i + 1 < call.count()) {
      const std::optional<int> number = int_argument(call, ++i);
      if (!number || !check_database(call, *number)) return std::nullopt;
      options.database = *number;
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return options;
}

// RENAME key newkey
void rename(Call& call) { rename_key(call, true); }

// RENAMENX key newkey
void renamenx(Call& call) { rename_key(call, false); }

// COPY from to [DB number] [REPLACE]
void copy(Call& call) {
  const std::optional<CopyOptions> options = read_copy_options(call);
  if (!options) return;
  const std::string_view from = call.word(1);
  const std::string_view to = call.word(2);
  Database& source = call.database();
  Database& target = call.keyspace()[options->database];
  if (&source == &target && from == to) return call.fail(kSameObject);

  const Slot slot = call.find_to_read(from);
  if (slot == kNoSlot) return call.reply().integer(0);
  // Members that are due are not copied. A replica copies all that it has, so it must remove them
  // before it gets the COPY.
  constexpr std::size_t kAtOnce = 1024;  // names in one command
  while (call.context().policy == Policy::reclaim &&
         source.sweep_key(call.context(), from, kAtOnce, FoundBy::access) == kAtOnce) {
  }
  const Slot taken = target.find(call.context(), to);
  if (taken != kNoSlot && !options->replace) return call.reply().integer(0);
  const std::optional<Time> deadline = ruled_kept(call, to, source.deadline(slot));
  if (!deadline) return;
  if (taken != kNoSlot) target.erase(taken);

  const Slot made = source.copy(call.context(), slot, target, to);
  call.notify(Event::created, "new", to, target.number());
  call.count_changes(1);
  call.key_changed(target.number(), to);
  call.notify(Event::generic, "copy_to", to, target.number());
  set_ruled(call, target, made, to, *deadline);
  call.reply().integer(1);
}

// MOVE key database [REPLACE]
void move(Call& call) {
  const bool replaces = call.is(3, "replace");
  if (call.count() > (replaces ? 4 : 3)) return call.fail_syntax();
  const std::optional<int> number = int_argument(call, 2);
  if (!number || !check_database(call, *number)) return;
  const std::string_view key = call.word(1);
  Database& source = call.database();
  Database& target = call.keyspace()[*number];
  if (&source == &target) return call.fail(kSameObject);

  const Slot slot = call.find_to_write(key);
  if (slot == kNoSlot) return call.reply().integer(0);
  const Slot taken = target.find(call.context(), key);
  if (taken != kNoSlot && !replaces) return call.reply().integer(0);
  const std::optional<Time> deadline = ruled_kept(call, key, source.deadline(slot));
  if (!deadline) return;
  if (taken != kNoSlot) target.erase(taken);
  const Slot made = source.move(slot, target, key);
  call.notify(Event::created, "new", key, target.number());
  call.changed(key);
  call.key_changed(target.number(), key);
  call.notify(Event::generic, "move_from", key);
  call.notify(Event::generic, "move_to", key, target.number());
  set_ruled(call, target, made, key, *deadline);
  call.reply().integer(1);
}

// SWAPDB number number
void swapdb(Call& call) {
  const std::optional<int> a = int_argument(call, 1, "ERR invalid first DB index");
  if (!a) return;
  const std::optional<int> b = int_argument(call, 2, "ERR invalid second DB index");
  if (!b) return;
  if (!check_database(call, *a) || !check_database(call, *b)) return;
  if (*a == *b) return call.reply().ok();
  call.keyspace().swap(*a, *b);
  call.changed_database(*a);
  call.changed_database(*b);
  call.reply().ok();
}

}  // namespace

std::span<const Command> key_move_commands() {
  static constexpr KeyRange kRename{1, 1, 1, access::rw | access::access | access::remove, 0, 2};
  static constexpr KeyRange kRenameNew{
      1, 1, 1, access::rw | access::access | access::remove, 0, 2, access::ow | access::insert};
  // clang-format off
  static constexpr Command kRows[] = {
      {"rename", rename, 3, flag::write | flag::asks_rules, kRename, "generic", "1.0.0",
       "key newkey:key", "Renames a key. An existing key of the new name is replaced."},
      {"renamenx", renamenx, 3, flag::write | flag::fast | flag::asks_rules,
       kRenameNew, "generic", "1.0.0",
       "key newkey:key", "Renames a key if no key has the new name."},
      {"copy", copy, -3,
       flag::write | flag::denyoom | flag::asks_rules | flag::names_other_keys,
       {1, 1, 1, access::ro | access::access, 0, 2}, "generic", "6.2.0",
       "source:key destination:key [DB destination-db:int] [REPLACE]",
       "Copies the value and the TTLs of a key to another key."},
      {"move", move, -3,
       flag::write | flag::fast | flag::asks_rules | flag::not_in_cluster,
       one_key(access::rw | access::access | access::remove), "generic", "1.0.0",
       "key db:int [REPLACE]", "Moves a key to another database."},
      {"swapdb", swapdb, 3,
       flag::write | flag::fast | flag::dangerous | flag::not_in_cluster, {}, "server", "4.0.0",
       "index1:int index2:int", "Exchanges the contents of two databases."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
