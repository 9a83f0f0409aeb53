// SPDX-License-Identifier: Apache-2.0
// The commands of hashes: their rows, and those that write whole values.
//
// A field that is due is not there. A command that names such a field reclaims it: users see
// `hexpired` before whatever the command tells itself. Commands that go through all fields only
// pass over it.

#include "commands/call.h"
#include "commands/command.h"
#include "commands/hash/hash_changes.h"
#include "commands/hash/hash_handlers.h"

namespace mayfly {
namespace {

// Sets the pairs from word 2 on. Returns how many fields are new, or nothing after an error.
std::optional<std::int64_t> set_pairs(Call& call) {
  if (call.count() % 2 != 0) {
    call.fail_arity();
    return std::nullopt;
  }
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return std::nullopt;

  HashRef hash = call.database().hash(slot);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.count(); i += 2) {
    if (hash.put(call.word(i), call.word(i + 1))) ++added;
  }
  tell_change(call, hash, "hset", call.count() / 2 - 1);
  return added;
}

// HSET key field value [field value ...]
void hset(Call& call) {
  if (const auto added = set_pairs(call)) call.reply().integer(*added);
}

// HMSET key field value [field value ...]
void hmset(Call& call) {
  if (set_pairs(call)) call.reply().ok();
}

// HSETNX key field value
//
// Where fields have deadlines it is propagated as what it did: a replica may still hold the field,
// as it expires nothing by itself.
void hsetnx(Call& call) {
  const Slot slot = hash_to_fill(call);
  if (call.has_failed()) return;

  HashRef hash = call.database().hash(slot);
  const bool had_deadlines = hash.has_deadlines();
  if (hash.find(call.word(2))) return call.reply().integer(0);

  hash.put(call.word(2), call.word(3));
  tell_change(call, hash, "hset", 1);
  if (had_deadlines) propagate_value(call, call.word(2), call.word(3), kNever);
  call.reply().integer(1);
}

// HDEL key field [field ...]
void hdel(Call& call) {
  const Slot slot = call.hash_to_write(call.word(1));
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().integer(0);

  HashRef hash = call.database().hash(slot);
  std::size_t removed = 0;
  for (const std::string_view field : call.words().subspan(2)) {
    if (hash.erase(field)) ++removed;
  }
  if (removed > 0) {
    tell_change(call, hash, "hdel", removed);
  } else {
    call.settle(hash, call.word(1));
  }
  call.reply().integer(static_cast<std::int64_t>(removed));
}

constexpr std::uint32_t kRead = flag::readonly | flag::fast;
constexpr std::uint32_t kReadAll = flag::readonly;
constexpr std::uint32_t kWrite = flag::write | flag::denyoom | flag::fast;
constexpr std::uint32_t kRemove = flag::write | flag::fast;

constexpr KeyRange key(std::uint32_t access) { return {1, 1, 1, access}; }
constexpr KeyRange kLook = key(access::ro);
constexpr KeyRange kGet = key(access::ro | access::access);
constexpr KeyRange kUpdate = key(access::rw | access::update);
constexpr KeyRange kInsert = key(access::rw | access::insert);
constexpr KeyRange kDelete = key(access::rw | access::remove);
constexpr KeyRange kCount = key(access::rw | access::access | access::update);

// clang-format off
constexpr Command kCommands[] = {
    {"hset",         hset,         -4, kWrite,   kUpdate, "hash", "2.0.0",
     "key (field value)...",
     "Sets fields of a hash, and makes the hash if there is none."},
    {"hmset",        hmset,        -4, kWrite,   kUpdate, "hash", "2.0.0",
     "key (field value)...",
     "Sets fields of a hash; HSET with a reply that says less."},
    {"hsetnx",       hsetnx,        4, kWrite,   kInsert, "hash", "2.0.0",
     "key field value",
     "Sets a field of a hash unless it is there already."},
    {"hget",         hget,          3, kRead,    kGet,    "hash", "2.0.0",
     "key field",
     "Returns the value of a field."},
    {"hmget",        hmget,        -3, kRead,    kGet,    "hash", "2.0.0",
     "key field...",
     "Returns the values of several fields."},
    {"hgetall",      hgetall,       2, kReadAll, kGet,    "hash", "2.0.0",
     "key",
     "Returns all fields with their values."},
    {"hkeys",        hkeys,         2, kReadAll, kGet,    "hash", "2.0.0",
     "key",
     "Returns the names of all fields."},
    {"hvals",        hvals,         2, kReadAll, kGet,    "hash", "2.0.0",
     "key",
     "Returns the values of all fields."},
    {"hlen",         hlen,          2, kRead,    kLook,   "hash", "2.0.0",
     "key",
     "Returns how many fields there are. What has expired does not count."},
    {"hstrlen",      hstrlen,       3, kRead,    kLook,   "hash", "3.2.0",
     "key field",
     "Returns the length of a field's value in bytes."},
    {"hexists",      hexists,       3, kRead,    kLook,   "hash", "2.0.0",
     "key field",
     "Tells whether a field is there."},
    {"hdel",         hdel,         -3, kRemove,  kDelete, "hash", "2.0.0",
     "key field...",
     "Removes fields, and the hash with its last one."},
    {"hincrby",      hincrby,       4, kWrite,   kCount,  "hash", "2.0.0",
     "key field increment:int",
     "Adds an integer to a field, which counts from 0 if it is not there."},
    {"hincrbyfloat", hincrbyfloat,  4, kWrite,   kCount,  "hash", "2.6.0",
     "key field increment:double",
     "Adds a number to a field, which counts from 0 if it is not there."},
    {"hscan",        hscan,        -3, kReadAll, kGet,    "hash", "2.8.0",
     "key cursor:int [MATCH pattern:pattern] [COUNT count:int] [NOVALUES]",
     "Goes through the fields of a hash in steps."},
    {"hrandfield",   hrandfield,   -2, kReadAll, kGet,    "hash", "6.2.0",
     "key [count:int [WITHVALUES]]",
     "Returns fields that chance chooses."},
};
// clang-format on

}  // namespace

std::span<const Command> hash_commands() { return kCommands; }

}  // namespace mayfly
