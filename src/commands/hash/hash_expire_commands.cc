// SPDX-License-Identifier: Apache-2.0
// The commands that give single fields of a hash a deadline or take it away: their rows, HEXPIRE
// and its kin, and HPERSIST.
//
// HEXPIRE, HPEXPIRE, HEXPIREAT and HPEXPIREAT are one command in four spellings: their number
// counts seconds or milliseconds, from now or from the epoch.

#include <fmt/format.h>

#include "commands/command.h"
#include "commands/hash/hash_expire.h"
#include "commands/hash/hash_handlers.h"

namespace mayfly {
namespace {

// What is said of a field that is there.
constexpr std::int64_t kNotAllowed = 0;
constexpr std::int64_t kDone = 1;
constexpr std::int64_t kRemoved = 2;

// NX, XX, GT and LT in the words from 3 to `end`; an error reply and nothing if they are not right.
std::optional<When> read_conditions(Call& call, std::size_t end) {
  When conditions = When::always;
  for (std::size_t i = 3; i < end; ++i) {
    const std::optional<When> condition = when_option(call.word(i));
    if (!condition) {
      call.fail(fmt::format("ERR Unsupported option {}", call.word(i)));
      return std::nullopt;
    }
    conditions = conditions | *condition;
  }
  if (compatible(conditions)) return conditions;
  const bool has_unset = contains(conditions, When::unset);
  call.fail(has_unset ? "ERR NX and XX, GT or LT options at the same time are not compatible"
                      : "ERR GT and LT options at the same time are not compatible");
  return std::nullopt;
}

struct Expiring {
  When conditions = When::always;
  Time deadline{};
  Words fields;
};

// Everything but the key is checked before the key is looked at.
std::optional<Expiring> read_expiring(Call& call, TimeForm form) {
  const std::optional<std::size_t> at = fields_position(call, 3);
  if (!at) return std::nullopt;
  const std::optional<When> conditions = read_conditions(call, *at);
  if (!conditions) return std::nullopt;
  const std::optional<Words> fields = counted_words(call, *at, 1, kWrongCount);
  if (!fields) return std::nullopt;
  const std::optional<Time> deadline = field_deadline(call, 2, form);
  if (!deadline) return std::nullopt;
  return Expiring{*conditions, *deadline, *fields};
}

std::int64_t expire_field(HashRef& hash, std::string_view field, const Expiring& expiring,
                          bool past) {
  const std::optional<HashField> found = hash.find(field);
  if (!found) return kNoField;
  if (!allows(expiring.conditions, found->deadline, expiring.deadline)) return kNotAllowed;
  if (past) {
    hash.expire(field);
    return kRemoved;
  }
  hash.set_deadline(field, expiring.deadline);
  return kDone;
}

// HEXPIRE key number [NX | XX | GT | LT ...] FIELDS numfields field [field ...]
void expire_fields(Call& call, TimeForm form) {
  const std::optional<Expiring> expiring = read_expiring(call, form);
  if (!expiring) return;
  const Slot slot = call.hash_to_write(call.word(1));
  if (call.has_failed()) return;

  call.reply().array(expiring->fields.size());
  if (slot == kNoSlot) return reply_no_fields(call, expiring->fields.size());
  HashRef hash = call.database().hash(slot);
  const bool past = is_past(call, expiring->deadline);
  FieldNames changed;
  for (const std::string_view field : expiring->fields) {
    const std::int64_t code = expire_field(hash, field, *expiring, past);
    if (code > 0) changed.push_back(field);
    call.reply().integer(code);
  }
  const Became became = past ? Became::expired : Became::given_deadline;
  tell_fields(call, hash, changed, became, expiring->deadline);
}

void hexpire(Call& call) { expire_fields(call, {.is_seconds = true, .is_absolute = false}); }
void hpexpire(Call& call) { expire_fields(call, {.is_seconds = false, .is_absolute = false}); }
void hexpireat(Call& call) { expire_fields(call, {.is_seconds = true, .is_absolute = true}); }
void hpexpireat(Call& call) { expire_fields(call, {.is_seconds = false, .is_absolute = true}); }

std::int64_t persist_field(HashRef& hash, std::string_view field) {
  const std::optional<HashField> found = hash.find(field);
  if (!found) return kNoField;
  if (found->deadline == kNever) return kNoDeadline;
  hash.set_deadline(field, kNever);
  return kDone;
}

// HPERSIST key FIELDS numfields field [field ...]
void hpersist(Call& call) {
  const std::optional<Words> fields = only_fields(call, kWrongCount);
  if (!fields) return;
  const Slot slot = call.hash_to_write(call.word(1));
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_no_fields(call, fields->size());
  HashRef hash = call.database().hash(slot);
  FieldNames changed;
  for (const std::string_view field : *fields) {
    const std::int64_t code = persist_field(hash, field);
    if (code == kDone) changed.push_back(field);
    call.reply().integer(code);
  }
  tell_fields(call, hash, changed, Became::persistent);
}

constexpr std::uint32_t kRead = flag::readonly | flag::fast;
constexpr std::uint32_t kWrite = flag::write | flag::fast;
constexpr std::uint32_t kAdd = flag::write | flag::denyoom | flag::fast;

constexpr KeyRange key(std::uint32_t access) { return {1, 1, 1, access}; }
constexpr KeyRange kLook = key(access::ro | access::access);
constexpr KeyRange kUpdate = key(access::rw | access::update);
constexpr KeyRange kInsert = key(access::rw | access::insert);
constexpr KeyRange kTake = key(access::rw | access::access);
constexpr KeyRange kRemove = key(access::rw | access::access | access::remove);

// clang-format off
constexpr Command kCommands[] = {
    // Its longer form has six words at least, and says so itself.
    {"hsetex",       hsetex,       -5, kAdd,   kInsert, "hash", "9.0.0",
     "key (([condition:(NX | XX)] [fields-condition:(FNX | FXX)] [expiration:(EX seconds:int | "
     "PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
     "KEEPTTL)] FIELDS numfields:count (field value)...) | ([NX] seconds:int (field value)...))",
     "Sets fields together with their deadline, on conditions if need be."},
    {"hgetex",       hgetex,       -5, kWrite, kTake,   "hash", "9.0.0",
     "key [expiration:(EX seconds:int | PX milliseconds:int | EXAT unix-time-seconds:time | "
     "PXAT unix-time-milliseconds:time | PERSIST)] FIELDS numfields:count field...",
     "Returns values of fields, and sets or removes their deadlines."},
    {"hgetdel",      hgetdel,      -5, kWrite, kRemove, "hash", "9.1.0",
     "key FIELDS numfields:count field...",
     "Returns values of fields, and removes the fields."},
    {"hexpire",      hexpire,      -6, kWrite, kUpdate, "hash", "9.0.0",
     "key seconds:int [condition:(NX | XX | GT | LT)] FIELDS numfields:count field...",
     "Lets fields expire after so many seconds."},
    {"hpexpire",     hpexpire,     -6, kWrite, kUpdate, "hash", "9.0.0",
     "key milliseconds:int [condition:(NX | XX | GT | LT)] FIELDS numfields:count field...",
     "Lets fields expire after so many milliseconds."},
    {"hexpireat",    hexpireat,    -6, kWrite, kUpdate, "hash", "9.0.0",
     "key unix-time-seconds:time [condition:(NX | XX | GT | LT)] FIELDS numfields:count "
     "field...",
     "Lets fields expire at a Unix time in seconds."},
    {"hpexpireat",   hpexpireat,   -6, kWrite, kUpdate, "hash", "9.0.0",
     "key unix-time-milliseconds:time [condition:(NX | XX | GT | LT)] FIELDS numfields:count "
     "field...",
     "Lets fields expire at a Unix time in milliseconds."},
    {"hpersist",     hpersist,     -5, kWrite, kUpdate, "hash", "9.0.0",
     "key FIELDS numfields:count field...",
     "Removes the deadlines of fields, which then stay."},
    {"httl",         httl,         -5, kRead,  kLook,   "hash", "9.0.0",
     "key FIELDS numfields:count field...",
     "Returns how many seconds fields have left."},
    {"hpttl",        hpttl,        -5, kRead,  kLook,   "hash", "9.0.0",
     "key FIELDS numfields:count field...",
     "Returns how many milliseconds fields have left."},
    {"hexpiretime",  hexpiretime,  -5, kRead,  kLook,   "hash", "9.0.0",
     "key FIELDS numfields:count field...",
     "Returns the Unix times in seconds at which fields expire."},
    {"hpexpiretime", hpexpiretime, -5, kRead,  kLook,   "hash", "9.0.0",
     "key FIELDS numfields:count field...",
     "Returns the Unix times in milliseconds at which fields expire."},
};
// clang-format on

}  // namespace

std::span<const Command> hash_expire_commands() { return kCommands; }

}  // namespace mayfly
