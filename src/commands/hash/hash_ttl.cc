// SPDX-License-Identifier: Apache-2.0
// HTTL, HPTTL, HEXPIRETIME and HPEXPIRETIME: how long fields have left, and until when they live.

#include "commands/hash/hash_expire.h"
#include "commands/hash/hash_handlers.h"

namespace mayfly {
namespace {

// To the nearest second, as TTL rounds.
std::int64_t to_seconds(std::int64_t ms) { return ms / 1000 + (ms % 1000 >= 500 ? 1 : 0); }

std::int64_t answer(const std::optional<HashField>& found, Time now, TimeForm form) {
  if (!found) return kNoField;
  if (found->deadline == kNever) return kNoDeadline;
  const Millis time =
      form.is_absolute ? found->deadline.time_since_epoch() : remaining(found->deadline, now);
  return form.is_seconds ? to_seconds(time.count()) : time.count();
}

// HTTL key FIELDS numfields field [field ...]
void tell_times(Call& call, TimeForm form) {
  const std::optional<Words> fields = only_fields(call, kSyntaxError);
  if (!fields) return;
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_no_fields(call, fields->size());
  HashRef hash = call.database().hash(slot);
  for (const std::string_view field : *fields) {
    call.reply().integer(answer(hash.find(field), call.now(), form));
  }
  call.settle(hash, call.word(1));
}

}  // namespace

void httl(Call& call) { tell_times(call, {.is_seconds = true, .is_absolute = false}); }
void hpttl(Call& call) { tell_times(call, {.is_seconds = false, .is_absolute = false}); }
void hexpiretime(Call& call) { tell_times(call, {.is_seconds = true, .is_absolute = true}); }
void hpexpiretime(Call& call) { tell_times(call, {.is_seconds = false, .is_absolute = true}); }

}  // namespace mayfly
