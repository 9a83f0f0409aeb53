// SPDX-License-Identifier: Apache-2.0
// The commands on whole databases.

#include <optional>

#include "commands/key/key_handlers.h"

namespace mayfly {
namespace {

// SYNC and ASYNC are understood and mean the same: what was removed is freed in slices.
bool has_known_mode(Call& call) {
  if (call.count() == 1) return true;
  if (call.count() == 2 && (call.is(1, "sync") || call.is(1, "async"))) return true;
  call.fail_syntax();
  return false;
}

// Counts as a change even if nothing was there, so that replicas empty theirs in any case.
void flush(Call& call, int number) {
  Database& database = call.keyspace()[number];
  call.count_changes(static_cast<std::int64_t>(database.stored()));
  database.clear();
  call.changed_database(number);
}

}  // namespace

// FLUSHDB [SYNC | ASYNC]
void flushdb(Call& call) {
  if (!has_known_mode(call)) return;
  flush(call, call.database().number());
  call.reply().ok();
}

// FLUSHALL [SYNC | ASYNC]
void flushall(Call& call) {
  if (!has_known_mode(call)) return;
  for (int i = 0; i < call.keyspace().count(); ++i) flush(call, i);
  call.reply().ok();
}

// SWAPDB number number
void swapdb(Call& call) {
  const std::optional<int> a = int_argument(call, 1, "ERR invalid first DB index");
  if (!a) return;
  const std::optional<int> b = int_argument(call, 2, "ERR invalid second DB index");
  if (!b) return;
  if (!has_database(call, *a) || !has_database(call, *b)) return;
  if (*a == *b) return call.reply().ok();
  call.keyspace().swap(*a, *b);
  call.changed_database(*a);
  call.changed_database(*b);
  call.reply().ok();
}

}  // namespace mayfly
