// SPDX-License-Identifier: Apache-2.0
// The commands on keys of any type: removing them, and whether they exist.

#include <cstdint>
#include <string>

#include "commands/command.h"
#include "commands/steps.h"

namespace mayfly {
namespace {

// DEL key [key ...], and UNLINK: large values are freed in slices by both.
void del(Call& call) {
  std::int64_t removed = 0;
  for (const std::string_view key : call.words().subspan(1)) {
    const Slot slot = call.find(key);
    if (slot == kNoSlot) {
      call.end_lease(key);  // a value that is being computed was not to be stored any more
      continue;
    }
    remove_key(call, slot, key);
    ++removed;
  }
  call.reply().integer(removed);
}

// EXISTS key [key ...]: a key that is named twice counts twice.
void exists(Call& call) {
  std::int64_t found = 0;
  for (const std::string_view key : call.words().subspan(1)) {
    if (call.find_untouched(key) != kNoSlot) ++found;
  }
  call.reply().integer(found);
}

// TOUCH key [key ...]
void touch(Call& call) {
  std::int64_t found = 0;
  for (const std::string_view key : call.words().subspan(1)) {
    if (call.find_to_read(key) != kNoSlot) ++found;
  }
  call.reply().integer(found);
}

// TYPE key
void type(Call& call) {
  const Slot slot = call.find_untouched(call.word(1));
  call.reply().simple(slot == kNoSlot ? "none" : type_name(call.database().type(slot)));
}

// SYNC and ASYNC mean the same: memory is freed in slices.
bool check_flush_mode(Call& call) {
  if (call.count() == 1) return true;
  if (call.count() == 2 && (call.is(1, "sync") || call.is(1, "async"))) return true;
  call.fail_syntax();
  return false;
}

// Counts as a change even if there was no key, so that replicas empty theirs in any case.
void flush_database(Call& call, int number) {
  Database& database = call.keyspace()[number];
  call.count_changes(static_cast<std::int64_t>(database.stored()));
  database.clear();
  call.changed_database(number);
}

// FLUSHDB [SYNC | ASYNC]
void flushdb(Call& call) {
  if (!check_flush_mode(call)) return;
  flush_database(call, call.database().number());
  call.reply().ok();
}

// FLUSHALL [SYNC | ASYNC]
void flushall(Call& call) {
  if (!check_flush_mode(call)) return;
  for (int i = 0; i < call.keyspace().count(); ++i) {
    // Keys that are on their way to this server belong to another one.
    if (i != call.keyspace().options().staging) flush_database(call, i);
  }
  call.host().all_flushed();
  call.reply().ok();
}

}  // namespace

std::span<const Command> key_commands() {
  static constexpr std::uint64_t kFastRead = flag::readonly | flag::fast;
  static constexpr KeyRange kLook = all_keys(access::ro);
  static constexpr KeyRange kRemove = all_keys(access::rm | access::remove);
  // clang-format off
  static constexpr Command kRows[] = {
      {"del", del, -2, flag::write, kRemove, "generic", "1.0.0",
       "key...", "Removes keys and returns how many existed."},
      {"unlink", del, -2, flag::write | flag::fast, kRemove, "generic", "4.0.0",
       "key...", "Removes keys and returns how many existed. Memory is freed later."},
      {"exists", exists, -2, kFastRead, kLook, "generic", "1.0.0",
       "key...", "Returns how many of the keys exist."},
      {"touch", touch, -2, kFastRead | flag::records_use, kLook, "generic", "3.2.1",
       "key...", "Records a use of keys and returns how many exist."},
      {"type", type, 2, kFastRead, one_key(access::ro), "generic", "1.0.0",
       "key", "Returns the type of a key's value."},
      {"flushdb", flushdb, -1, flag::write | flag::dangerous, {}, "server", "1.0.0",
       "[mode:(ASYNC | SYNC)]", "Removes all keys of the database."},
      {"flushall", flushall, -1, flag::write | flag::dangerous, {}, "server", "1.0.0",
       "[mode:(ASYNC | SYNC)]", "Removes all keys of all databases."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
