// SPDX-License-Identifier: Apache-2.0
// The commands that bring a key to another name or another database, with all its deadlines.

#include <optional>

#include "commands/key/key_handlers.h"

namespace mayfly {
namespace {

constexpr std::string_view kSameObject = "ERR source and destination objects are the same";

void rename_key(Call& call, bool overwrites) {
  const std::string_view from = call.word(1);
  const std::string_view to = call.word(2);
  Database& database = call.database();
  const Slot slot = call.find_to_write(from);
  if (slot == kNoSlot) return call.fail("ERR no such key");

  const Slot target = from == to ? slot : call.find_to_write(to);
  const bool is_free = target == kNoSlot;
  if (overwrites) {
    call.reply().ok();
  } else {
    call.reply().integer(is_free);
  }
  if (from == to || (!is_free && !overwrites)) return;

  if (!is_free) database.erase(target);
  database.rename(slot, to);
  call.notify(Event::created, "new", to);
  call.changed(from);
  call.host().key_changed(database.number(), to);
  call.notify(Event::generic, "rename_from", from);
  call.notify(Event::generic, "rename_to", to);
}

struct CopyOptions {
  int database;
  bool replace = false;
};

std::optional<CopyOptions> read_options(Call& call) {
  CopyOptions options{.database = call.database().number()};
  for (std::size_t i = 3; i < call.count(); ++i) {
    if (call.is(i, "replace")) {
      options.replace = true;
    } else if (call.is(i, "db") && i + 1 < call.count()) {
      const std::optional<int> number = int_argument(call, ++i);
      if (!number || !has_database(call, *number)) return std::nullopt;
      options.database = *number;
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

void rename(Call& call) { rename_key(call, true); }

void renamenx(Call& call) { rename_key(call, false); }

// COPY from to [DB number] [REPLACE]
void copy(Call& call) {
  const std::optional<CopyOptions> options = read_options(call);
  if (!options) return;
  const std::string_view from = call.word(1);
  const std::string_view to = call.word(2);
  Database& source = call.database();
  Database& target = call.keyspace()[options->database];
  if (&source == &target && from == to) return call.fail(kSameObject);

  const Slot slot = call.find_to_read(from);
  if (slot == kNoSlot) return call.reply().integer(0);
  // Fields that are due are not copied. A replica copies all that it has, so it must be rid of them
  // before it hears of the copy.
  constexpr std::size_t kAtOnce = 1024;  // names in one HDEL
  while (call.keyspace().policy() == Policy::reclaim &&
         source.sweep_key(from, kAtOnce, Found::on_access) == kAtOnce) {
  }
  const Slot taken = target.find(to);
  if (taken != kNoSlot && !options->replace) return call.reply().integer(0);
  if (taken != kNoSlot) target.erase(taken);

  source.copy(slot, target, to);
  call.notify(Event::created, "new", to, target.number());
  call.count_changes(1);
  call.host().key_changed(target.number(), to);
  call.notify(Event::generic, "copy_to", to, target.number());
  call.reply().integer(1);
}

// MOVE key database [REPLACE]
void move(Call& call) {
  const bool replaces = call.is(3, "replace");
  if (call.count() > (replaces ? 4 : 3)) return call.fail_syntax();
  const std::optional<int> number = int_argument(call, 2);
  if (!number || !has_database(call, *number)) return;
  const std::string_view key = call.word(1);
  Database& source = call.database();
  Database& target = call.keyspace()[*number];
  if (&source == &target) return call.fail(kSameObject);

  const Slot slot = call.find_to_write(key);
  if (slot == kNoSlot) return call.reply().integer(0);
  const Slot taken = target.find(key);
  if (taken != kNoSlot && !replaces) return call.reply().integer(0);
  if (taken != kNoSlot) target.erase(taken);
  source.move(slot, target, key);
  call.notify(Event::created, "new", key, target.number());
  call.changed(key);
  call.host().key_changed(target.number(), key);
  call.notify(Event::generic, "move_from", key);
  call.notify(Event::generic, "move_to", key, target.number());
  call.reply().integer(1);
}

}  // namespace mayfly
