// SPDX-License-Identifier: Apache-2.0
// KEYS and SCAN. Neither shows a key that is dead, whether or not it is still stored.

#include <vector>

#include "commands/key/key_handlers.h"
#include "commands/scan_options.h"
#include "commands/words.h"
#include "resp/glob.h"

namespace mayfly {
namespace {

constexpr std::size_t kBucketsPerKey = 10;  // a scan visits at most so many for each key asked for

bool is_wanted(const Database& database, Slot slot, const ScanOptions& options) {
  if (options.type && !equals(*options.type, type_name(database, slot))) return false;
  return options.matches(database.key(slot));
}

}  // namespace

// KEYS pattern
void keys(Call& call) {
  const std::string_view pattern = call.word(1);
  const Database& database = call.database();
  Reply& reply = call.reply();
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  database.each([&](Slot slot) {
    const std::string_view key = database.key(slot);
    if (!glob_match(pattern, key) || !database.is_alive(slot)) return true;
    reply.bulk(key);
    ++count;
    return true;
  });
  reply.array_at(place, count);
}

// SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
//
// COUNT is how many keys are looked at, about. Those that are found dead are reclaimed.
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
    if (!database.is_alive(slot)) {
      database.find(std::string(database.key(slot)));
    } else if (is_wanted(database, slot, *options)) {
      reply.bulk(database.key(slot));
      ++count;
    }
  }
  reply.array_at(place, count);
}

}  // namespace mayfly
