// SPDX-License-Identifier: Apache-2.0
// The commands on keys of any type: the short ones, and the rows of all of them.

#include <climits>
#include <cstdint>
#include <optional>
#include <string>

#include "commands/call.h"
#include "commands/key/key_handlers.h"
#include "commands/key/key_steps.h"

namespace mayfly {
namespace {

// DEL key [key ...], and UNLINK: large values are freed in slices by both.
void del(Call& call) {
  std::int64_t removed = 0;
  for (const std::string_view key : call.words().subspan(1)) {
    const Slot slot = call.database().find(key);
    if (slot == kNoSlot) continue;
    remove_key(call, slot, key);
    ++removed;
  }
  call.reply().integer(removed);
}

// A key that is named twice counts twice.
void exists(Call& call) {
  std::int64_t found = 0;
  for (const std::string_view key : call.words().subspan(1)) {
    if (find_untouched(call, key) != kNoSlot) ++found;
  }
  call.reply().integer(found);
}

void touch(Call& call) {
  std::int64_t found = 0;
  for (const std::string_view key : call.words().subspan(1)) {
    if (call.find_to_read(key) != kNoSlot) ++found;
  }
  call.reply().integer(found);
}

void type(Call& call) {
  const Slot slot = find_untouched(call, call.word(1));
  call.reply().simple(slot == kNoSlot ? "none" : type_name(call.database(), slot));
}

// A key evenly chosen. Those that are found dead on the way are reclaimed, where that is allowed;
// if nearly all are dead, the database looks for one that is not.
Slot random_alive(Call& call) {
  constexpr int kTries = 1000;
  Database& database = call.database();
  Random& random = call.keyspace().random();
  for (int i = 0; i < kTries && call.keyspace().policy() == Policy::reclaim; ++i) {
    const Slot slot = database.random_stored(random);
    if (slot == kNoSlot || database.is_alive(slot)) return slot;
    database.find(std::string(database.key(slot)));
  }
  return database.random(random);
}

void randomkey(Call& call) {
  const Slot slot = random_alive(call);
  if (slot == kNoSlot) return call.reply().null();
  call.reply().bulk(call.database().key(slot));
}

void dbsize(Call& call) { call.reply().integer(static_cast<std::int64_t>(call.database().size())); }

constexpr std::uint32_t kRead = flag::readonly;
constexpr std::uint32_t kQuickRead = flag::readonly | flag::fast;
constexpr std::uint32_t kWrite = flag::write;
constexpr std::uint32_t kQuickWrite = flag::write | flag::fast;

constexpr KeyRange kNone{};
constexpr KeyRange kLooked{1, 1, 1, access::ro};
constexpr KeyRange kLookedMany{1, -1, 1, access::ro};
constexpr KeyRange kLookedSecond{2, 2, 1, access::ro};
constexpr KeyRange kRemovedMany{1, -1, 1, access::rm | access::remove};
constexpr KeyRange kRenamed{1, 2, 1, access::rw | access::access | access::remove | access::update};
constexpr KeyRange kCopied{1, 2, 1, access::rw | access::access | access::update};
constexpr KeyRange kMoved{1, 1, 1, access::rw | access::access | access::remove};

constexpr std::string_view kGeneric = "generic";
constexpr std::string_view kServer = "server";

// clang-format off
constexpr Command kObjectCommands[] = {
    {"encoding", object_encoding, 3, kRead, kLookedSecond, kGeneric, "2.2.3",
     "key",
     "Tells how a value is kept in memory.", {}, "object"},
    {"freq", object_freq, 3, kRead, kLookedSecond, kGeneric, "4.0.0",
     "key",
     "Tells how often a key is used, on a logarithmic scale.", {}, "object"},
    {"idletime", object_idletime, 3, kRead, kLookedSecond, kGeneric, "2.2.3",
     "key",
     "Tells for how many seconds a key has not been used.", {}, "object"},
    {"refcount", object_refcount, 3, kRead, kLookedSecond, kGeneric, "2.2.3",
     "key",
     "Tells how often a value is referred to, which is once.", {}, "object"},
    {"help", object_help, 2, flag::loading | flag::stale, kNone, kGeneric, "6.2.0",
     "", "Lists the subcommands of OBJECT.", {}, "object"},
};

constexpr Command kCommands[] = {
    {"del", del, -2, kWrite, kRemovedMany, kGeneric, "1.0.0",
     "key...",
     "Removes keys and tells how many there were."},
    {"unlink", del, -2, kQuickWrite, kRemovedMany, kGeneric, "4.0.0",
     "key...",
     "Removes keys and tells how many there were; memory is freed later."},
    {"exists", exists, -2, kQuickRead, kLookedMany, kGeneric, "1.0.0",
     "key...",
     "Tells how many of the keys are there."},
    {"touch", touch, -2, kQuickRead | flag::records_use, kLookedMany, kGeneric, "3.2.1",
     "key...",
     "Notes a use of keys and tells how many are there."},
    {"type", type, 2, kQuickRead, kLooked, kGeneric, "1.0.0",
     "key",
     "Tells the type of what a key holds."},
    {"object", nullptr, -2, 0, kNone, kGeneric, "2.2.3",
     "", "A container for commands about how values are kept.", kObjectCommands},

    {"keys", keys, 2, kRead | flag::dangerous, kNone, kGeneric, "1.0.0",
     "pattern:pattern",
     "Returns all keys that match a pattern."},
    {"scan", scan, -2, kRead | flag::arbitrary_keys, kNone, kGeneric, "2.8.0",
     "cursor:int [MATCH pattern:pattern] [COUNT count:int] [TYPE type]",
     "Goes through all keys, a few at a time."},
    {"randomkey", randomkey, 1, kRead | flag::arbitrary_keys, kNone, kGeneric, "1.0.0",
     "", "Returns a key by chance."},
    {"dbsize", dbsize, 1, kQuickRead, kNone, kServer, "1.0.0",
     "", "Tells how many keys the database has."},

    {"rename", rename, 3, kWrite, kRenamed, kGeneric, "1.0.0",
     "key newkey:key",
     "Gives a key another name, whatever had that name before."},
    {"renamenx", renamenx, 3, kQuickWrite, kRenamed, kGeneric, "1.0.0",
     "key newkey:key",
     "Gives a key another name unless that is taken."},
    {"copy", copy, -3, kWrite | flag::denyoom, kCopied, kGeneric, "6.2.0",
     "source:key destination:key [DB destination-db:int] [REPLACE]",
     "Copies the value and the deadlines of a key to another one."},
    {"move", move, -3, kQuickWrite, kMoved, kGeneric, "1.0.0",
     "key db:int [REPLACE]",
     "Moves a key to another database."},

    {"flushdb", flushdb, -1, kWrite | flag::dangerous, kNone, kServer, "1.0.0",
     "[mode:(ASYNC | SYNC)]",
     "Removes all keys of the database."},
    {"flushall", flushall, -1, kWrite | flag::dangerous, kNone, kServer, "1.0.0",
     "[mode:(ASYNC | SYNC)]",
     "Removes all keys of all databases."},
    {"swapdb", swapdb, 3, kQuickWrite | flag::dangerous, kNone, kServer, "4.0.0",
     "index1:int index2:int",
     "Exchanges what two databases hold."},
};
// clang-format on

}  // namespace

std::string_view type_name(const Database& database, Slot slot) {
  return database.is_string(slot) ? "string" : "hash";
}

std::optional<int> int_argument(Call& call, std::size_t i, std::string_view error) {
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

bool has_database(Call& call, int number) {
  if (number >= 0 && number < call.keyspace().count()) return true;
  call.fail("ERR DB index is out of range");
  return false;
}

std::span<const Command> key_commands() { return kCommands; }

}  // namespace mayfly
