// SPDX-License-Identifier: Apache-2.0
// The commands that list, choose and count keys. None shows a dead key, whether or not it is still
// stored.

#include <string>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"
#include "commands/scan_options.h"
#include "commands/ttl/earliest_deadlines.h"
#include "commands/ttl/expire_scan.h"
#include "resp/glob.h"

namespace mayfly {
namespace {

constexpr std::size_t kBucketsPerKey = 10;  // a scan visits at most so many for each key of COUNT

bool is_match(const Database& database, Slot slot, const ScanOptions& options) {
  if (options.type && *options.type != database.type(slot)) return false;
  return options.matches(database.key(slot));
}

// KEYS pattern
void keys(Call& call) {
  if (fails_pattern(call, call.word(1))) return;
  const GlobPattern pattern(call.word(1));
  const Database& database = call.database();
  Reply& reply = call.reply();
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  database.each([&](Slot slot) {
    const std::string_view key = database.key(slot);
    if (!pattern.matches(key) || !database.is_alive(call.context(), slot)) return true;
    reply.bulk(key);
    ++count;
    return true;
  });
  reply.array_at(place, count);
}

// SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
//
// COUNT is about how many keys are visited. Dead ones are removed, if the policy allows that.
void scan(Call& call) {
  const std::optional<ScanOptions> options = scan_options(call, 2, ScanKind::keys);
  if (!options) return;

  Database& database = call.database();
  std::vector<Slot> seen;
  std::uint64_t cursor = options->cursor;
  std::size_t buckets = 0;
  do {
    cursor = database.scan(cursor, [&](Slot slot) { seen.push_back(slot); });
    ++buckets;
  } while (cursor != 0 && seen.size() < options->count &&
           buckets / kBucketsPerKey < options->count);

  Reply& reply = call.reply();
  reply.array(2);
  reply.bulk(std::to_string(cursor));
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  for (const Slot slot : seen) {
    if (!database.is_alive(call.context(), slot)) {
      call.find(std::string(database.key(slot)));
    } else if (is_match(database, slot, *options)) {
      reply.bulk(database.key(slot));
      ++count;
    }
  }
  reply.array_at(place, count);
}

// The keys of a page of EXPIRESCAN. With MEMBERS a key counts by the earliest deadline of all that
// it has.
ExpirePage expiring_keys(Call& call, const ExpireScan& scan) {
  Database& database = call.database();
  if (scan.options.with_members) {
    return expire_page(scan, [&](Time from, Time to, const auto& see) {
      return visit_earliest(database, call.now(), from, to, see);
    });
  }
  return expire_page(scan, [&](Time from, Time to, const auto& see) {
    database.visit_deadlines(from, to, see);
    return to;
  });
}

// EXPIRESCAN cursor FROM moment TO moment [MATCH pattern] [COUNT count] [TYPE type] [MEMBERS]
void expirescan(Call& call) {
  const std::optional<ExpireScan> scan = expire_scan(call, 1, ScanKind::expire_keys);
  if (!scan) return;
  const ExpirePage page = expiring_keys(call, *scan);
  const Database& database = call.database();
  Reply& reply = call.reply();
  reply.array(2);
  reply.bulk(page.cursor);
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  for (const auto& [slot, deadline] : page.items) {
    if (!is_match(database, slot, scan->options)) continue;
    if (!database.is_alive(call.context(), slot)) continue;  // all its members are due
    reply.array(scan->options.with_members ? 3 : 2);
    reply.bulk(database.key(slot));
    reply.integer(deadline.time_since_epoch().count());
    if (scan->options.with_members) {
      reply.bulk(database.deadline(slot) == deadline ? "key" : "members");
    }
    ++count;
  }
  reply.array_at(place, count);
}

// A random key, each as likely as any other. Dead ones that are drawn are removed, if the policy
// allows that; if nearly all are dead, the database searches for one alive.
Slot random_alive(Call& call) {
  constexpr int kTries = 1000;
  Database& database = call.database();
  Random& random = call.keyspace().random();
  for (int i = 0; i < kTries && call.context().policy == Policy::reclaim; ++i) {
    const Slot slot = database.random_stored(random);
    if (slot == kNoSlot || database.is_alive(call.context(), slot)) return slot;
    call.find(std::string(database.key(slot)));
  }
  return database.random(call.context(), random);
}

// RANDOMKEY
void randomkey(Call& call) {
  const Slot slot = random_alive(call);
  if (slot == kNoSlot) return call.reply().null();
  call.reply().bulk(call.database().key(slot));
}

// DBSIZE
void dbsize(Call& call) {
  call.reply().integer(static_cast<std::int64_t>(call.database().size(call.context())));
}

}  // namespace

std::span<const Command> key_scan_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"keys", keys, 2, flag::readonly | flag::dangerous, {}, "generic", "1.0.0",
       "pattern:pattern", "Returns all keys that match a pattern."},
      {"scan", scan, -2, flag::readonly | flag::arbitrary_keys, {}, "generic", "2.8.0",
       "cursor:int [MATCH pattern:pattern] [COUNT count:int] [TYPE type]",
       "Iterates over the keys of the database."},
      {"expirescan", expirescan, -6, flag::readonly | flag::arbitrary_keys, {}, "generic",
       kOnlyHere,
       "cursor FROM from TO to [MATCH pattern:pattern] [COUNT count:int] [TYPE type] [MEMBERS]",
       "Returns keys that expire between two moments, soonest first."},
      {"randomkey", randomkey, 1, flag::readonly | flag::arbitrary_keys, {}, "generic", "1.0.0",
       "", "Returns a random key."},
      {"dbsize", dbsize, 1, flag::readonly | flag::fast, {}, "server", "1.0.0",
       "", "Returns the number of keys in the database."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
