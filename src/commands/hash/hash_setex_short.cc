// SPDX-License-Identifier: Apache-2.0
// The short form of HSETEX, as Dragonfly has it and the RFC lists it:
//
//   HSETEX key [NX] seconds field value [field value ...]
//
// A number stands where the other form has an option or FIELDS, and that tells the two apart. With
// NX fields that are there keep their values and their deadlines, and only the rest is set.
//
// Replies, as HSET does, how many fields are new. It is propagated in the other form, so that a
// replica needs to know only that one.

#include <vector>

#include "commands/hash/hash_setex.h"

namespace mayfly {
namespace {

bool looks_like_number(std::string_view word) {
  if (!word.empty() && word.front() == '-') word.remove_prefix(1);
  return !word.empty() && word.front() >= '0' && word.front() <= '9';
}

// The word that has the seconds.
std::size_t seconds_position(const Call& call) { return call.is(2, "nx") ? 3 : 2; }

// Sets the pairs and replies how many fields are new; with `only_new` the others are left alone.
void set_pairs(Call& call, HashRef& hash, Words pairs, Time deadline, bool only_new) {
  std::int64_t added = 0;
  std::vector<std::string_view> written;
  written.reserve(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (only_new && hash.find(pairs[i])) continue;
    if (hash.put(pairs[i], pairs[i + 1], deadline)) ++added;
    written.insert(written.end(), {pairs[i], pairs[i + 1]});
  }
  call.reply().integer(added);
  if (written.empty()) {
    call.settle(hash, call.word(1));
    return;
  }
  tell_change(call, hash, "hset", written.size() / 2);
  call.notify(Event::hash, "hexpire", call.word(1));
  propagate_pairs(call, deadline, false, written);
}

}  // namespace

bool is_short_hsetex(const Call& call) {
  return looks_like_number(call.word(seconds_position(call)));
}

void run_short_hsetex(Call& call) {
  const std::size_t seconds = seconds_position(call);
  const bool only_new = seconds == 3;
  const Words pairs = call.words().subspan(seconds + 1);
  if (pairs.empty() || pairs.size() % 2 != 0) return call.fail_arity();
  Slot slot = call.hash_to_write(call.word(1));
  if (call.has_failed()) return;
  const auto deadline = field_deadline(call, seconds, {.is_seconds = true, .is_absolute = false});
  if (!deadline) return;

  const bool past = is_past(call, *deadline);
  if (past && only_new) return call.reply().integer(0);  // what is there stays, the rest is not
  if (slot == kNoSlot) slot = call.make_hash(call.word(1));
  HashRef hash = call.database().hash(slot);
  if (!past) return set_pairs(call, hash, pairs, *deadline, only_new);
  remove_pairs(call, hash, pairs);
  call.reply().integer(0);
}

}  // namespace mayfly
