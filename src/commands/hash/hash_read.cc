// SPDX-License-Identifier: Apache-2.0
// The commands that read hashes: fields by name, and all of them.

#include <utility>

#include "commands/call.h"
#include "commands/hash/hash_changes.h"
#include "commands/hash/hash_handlers.h"

namespace mayfly {
namespace {

// Gives `say` the field that word 2 names, or nothing if there is none, and it replies.
template <class Say>
void read_field(Call& call, Say say) {
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;
  if (slot == kNoSlot) return say(call.reply(), std::optional<HashField>());

  HashRef hash = call.database().hash(slot);
  say(call.reply(), hash.find(call.word(2)));
  call.settle(hash, call.word(1));
}

// Replies with `head(count)`, and then gives `say` each field.
template <class Head, class Say>
void read_all(Call& call, Head head, Say say) {
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;
  if (slot == kNoSlot) return head(0);

  const HashRef hash = call.database().hash(slot);
  head(hash.size());
  hash.each([&](const HashField& field) {
    say(field);
    return true;
  });
}

}  // namespace

// HGET key field
void hget(Call& call) { read_field(call, reply_value); }

// HSTRLEN key field
void hstrlen(Call& call) {
  read_field(call, [](Reply& reply, const std::optional<HashField>& found) {
    reply.integer(found ? static_cast<std::int64_t>(found->value.size()) : 0);
  });
}

// HEXISTS key field
void hexists(Call& call) {
  read_field(call, [](Reply& reply, const std::optional<HashField>& found) {
    reply.integer(found ? 1 : 0);
  });
}

// HMGET key field [field ...]
void hmget(Call& call) {
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;

  const Words fields = call.words().subspan(2);
  Reply& reply = call.reply();
  reply.array(fields.size());
  if (slot == kNoSlot) {
    for (std::size_t i = 0; i < fields.size(); ++i) reply.null();
    return;
  }
  HashRef hash = call.database().hash(slot);
  for (const std::string_view field : fields) reply_value(reply, hash.find(field));
  call.settle(hash, call.word(1));
}

// HGETALL key
void hgetall(Call& call) {
  Reply& reply = call.reply();
  read_all(
      call, [&](std::size_t count) { reply.map(count); },
      [&](const HashField& field) {
        reply.bulk(field.field);
        reply.bulk(field.value);
      });
}

// HKEYS key
void hkeys(Call& call) {
  Reply& reply = call.reply();
  read_all(
      call, [&](std::size_t count) { reply.array(count); },
      [&](const HashField& field) { reply.bulk(field.field); });
}

// HVALS key
void hvals(Call& call) {
  Reply& reply = call.reply();
  read_all(
      call, [&](std::size_t count) { reply.array(count); },
      [&](const HashField& field) { reply.bulk(field.value); });
}

// HLEN key
void hlen(Call& call) {
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;
  const std::size_t size = slot == kNoSlot ? 0 : call.database().hash(slot).size();
  call.reply().integer(static_cast<std::int64_t>(size));
}

}  // namespace mayfly
