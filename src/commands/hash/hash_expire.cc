// SPDX-License-Identifier: Apache-2.0
// The commands on deadlines of fields: HEXPIRE, HPERSIST and HTTL in their variants, HGETEX, and
// HGETDEL. hash_setex.cc has HSETEX.
//
// HEXPIRE, HPEXPIRE, HEXPIREAT and HPEXPIREAT are one command in four forms: the number counts
// seconds or milliseconds, from now or from the epoch. So are HTTL and its variants.

#include "commands/command.h"
#include "commands/hash/hash_steps.h"

namespace mayfly {
namespace {

// What HEXPIRE and HPERSIST reply about a field that exists.
constexpr std::int64_t kNotAllowed = 0;
constexpr std::int64_t kDone = 1;
constexpr std::int64_t kRemoved = 2;

// For a hash that does not exist.
void reply_no_fields(Call& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) call.reply().integer(kNoField);
}

struct HexpireRequest {
  When conditions = When::always;
  Time deadline{};
  Words fields;
};

// Everything but the key is checked before the key is read.
std::optional<HexpireRequest> read_hexpire(Call& call, TimeForm form) {
  const std::optional<std::size_t> at = fields_position(call, 3);
  if (!at) return std::nullopt;
  const std::optional<When> conditions = read_conditions(call, 3, *at);
  if (!conditions) return std::nullopt;
  const std::optional<Words> fields = counted_words(call, *at, 1, kWrongCount);
  if (!fields) return std::nullopt;
  const std::optional<Time> deadline = deadline_argument(call, 2, form, 0);
  if (!deadline) return std::nullopt;
  return HexpireRequest{*conditions, *deadline, *fields};
}

std::int64_t expire_field(MembersRef& hash, std::string_view field, const HexpireRequest& request,
                          bool is_past) {
  const std::optional<Member> found = hash.find(field);
  if (!found) return kNoField;
  if (!allows(request.conditions, found->deadline, request.deadline)) return kNotAllowed;
  if (is_past) {
    hash.expire(field);
    return kRemoved;
  }
  hash.set_deadline(field, request.deadline);
  return kDone;
}

// HEXPIRE key number [NX | XX | GT | LT ...] FIELDS numfields field [field ...]
template <TimeForm form>
void hexpire(Call& call) {
  const std::optional<HexpireRequest> request = read_hexpire(call, form);
  if (!request) return;
  const Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (call.has_failed()) return;

  call.reply().array(request->fields.size());
  if (slot == kNoSlot) return reply_no_fields(call, request->fields.size());
  MembersRef hash = call.members(slot);
  const bool is_past = call.context().expires_at_once(request->deadline);
  FieldNames changed;
  for (const std::string_view field : request->fields) {
    const std::int64_t code = expire_field(hash, field, *request, is_past);
    if (code > 0) changed.push_back(field);
    call.reply().integer(code);
  }
  const FieldChange change = is_past ? FieldChange::expire : FieldChange::set_deadline;
  finish_fields(call, hash, changed, change, request->deadline);
}

std::int64_t persist_field(MembersRef& hash, std::string_view field) {
  const std::optional<Member> found = hash.find(field);
  if (!found) return kNoField;
  if (found->deadline == kNever) return -1;
  hash.set_deadline(field, kNever);
  return kDone;
}

// HPERSIST key FIELDS numfields field [field ...]
void hpersist(Call& call) {
  const std::optional<Words> fields = only_fields(call, kWrongCount);
  if (!fields) return;
  const Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_no_fields(call, fields->size());
  MembersRef hash = call.members(slot);
  FieldNames changed;
  for (const std::string_view field : *fields) {
    const std::int64_t code = persist_field(hash, field);
    if (code == kDone) changed.push_back(field);
    call.reply().integer(code);
  }
  finish_fields(call, hash, changed, FieldChange::remove_deadline);
}

// HTTL key FIELDS numfields field [field ...]
template <TimeForm form>
void httl(Call& call) {
  const std::optional<Words> fields = only_fields(call, "ERR syntax error");
  if (!fields) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_no_fields(call, fields->size());
  MembersRef hash = call.members(slot);
  for (const std::string_view field : *fields) {
    const std::optional<Member> found = hash.find(field);
    call.reply().integer(found ? ttl_reply(found->deadline, call.now(), form) : kNoField);
  }
  call.finish(hash, call.word(1));
}

// The options of HGETEX before word `end`; an error reply and nothing if they are wrong.
std::optional<ExpiryOption> read_hgetex_option(Call& call, std::size_t end) {
  ExpiryOption option;
  for (std::size_t i = 2; i < end;) {
    const std::size_t taken = option.read(call, i, end, "persist");
    if (taken == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
    i += taken;
  }
  return option;
}

void reply_nulls(Call& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) call.reply().null();
}

void set_deadlines(Call& call, MembersRef& hash, Words fields, Time deadline) {
  const bool is_past = call.context().expires_at_once(deadline);
  FieldNames changed;
  for (const std::string_view field : fields) {
    const bool is_done = is_past ? hash.expire(field) : hash.set_deadline(field, deadline);
    if (is_done) changed.push_back(field);
  }
  const FieldChange change = is_past ? FieldChange::expire : FieldChange::set_deadline;
  finish_fields(call, hash, changed, change, deadline);
}

// HGETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST] FIELDS numfields field [field ...]
//
// Replies with the values before the change, even those of fields that expire at once.
void hgetex(Call& call) {
  const std::optional<std::size_t> at = fields_position(call, 2);
  if (!at) return;
  const std::optional<ExpiryOption> option = read_hgetex_option(call, *at);
  if (!option) return;
  const std::optional<Words> fields = counted_words(call, *at, 1, kWrongCount);
  if (!fields) return;
  const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  const std::optional<Time> deadline = option->deadline(call, 0);
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_nulls(call, fields->size());
  MembersRef hash = call.members(slot);
  for (const std::string_view field : *fields) reply_value(call.reply(), hash.find(field));
  if (deadline) return set_deadlines(call, hash, *fields, *deadline);
  FieldNames changed;
  for (const std::string_view field : *fields) {
    if (option->is_instead && persist_field(hash, field) == kDone) changed.push_back(field);
  }
  finish_fields(call, hash, changed, FieldChange::remove_deadline);
}

// HGETDEL key FIELDS numfields field [field ...]
//
// It is propagated as HDEL of what it removed, which replicas of any version know.
void hgetdel(Call& call) {
  const std::optional<Words> fields = only_fields(call, kWrongCount);
  if (!fields) return;
  const Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (call.has_failed()) return;

  call.reply().array(fields->size());
  if (slot == kNoSlot) return reply_nulls(call, fields->size());
  MembersRef hash = call.members(slot);
  FieldNames removed;
  for (const std::string_view field : *fields) {
    const std::optional<Member> found = hash.find(field);
    reply_value(call.reply(), found);
    if (!found) continue;
    hash.erase(field);
    removed.push_back(field);
  }
  finish_fields(call, hash, removed, FieldChange::remove);
}

}  // namespace

std::span<const Command> hash_expire_commands() {
  static constexpr std::uint32_t kRead = flag::readonly | flag::fast;
  static constexpr std::uint32_t kWrite = flag::write | flag::fast;
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  static constexpr KeyRange kUpdate = one_key(access::rw | access::update);
  static constexpr std::string_view kFields = "key FIELDS numfields:count field...";
  // clang-format off
  static constexpr Command kRows[] = {
      {"hgetex", hgetex, -5, kWrite, one_key(access::rw | access::access), "hash", "9.0.0",
       "key [expiration:(EX seconds:int | PX milliseconds:int | EXAT unix-time-seconds:time | "
       "PXAT unix-time-milliseconds:time | PERSIST)] FIELDS numfields:count field...",
       "Returns values of fields, and sets or removes their TTLs."},
      {"hgetdel", hgetdel, -5, kWrite, one_key(access::rw | access::access | access::remove),
       "hash", "9.1.0", kFields, "Returns values of fields, and removes the fields."},
      {"hexpire", hexpire<kInSeconds>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key seconds:int [condition:(NX | XX | GT | LT)] FIELDS numfields:count field...",
       "Sets the TTL of fields in seconds."},
      {"hpexpire", hexpire<kInMillis>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key milliseconds:int [condition:(NX | XX | GT | LT)] FIELDS numfields:count field...",
       "Sets the TTL of fields in milliseconds."},
      {"hexpireat", hexpire<kAtSecond>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key unix-time-seconds:time [condition:(NX | XX | GT | LT)] FIELDS numfields:count field...",
       "Sets the time at which fields expire, as a Unix time in seconds."},
      {"hpexpireat", hexpire<kAtMilli>, -6, kWrite, kUpdate, "hash", "9.0.0",
       "key unix-time-milliseconds:time [condition:(NX | XX | GT | LT)] FIELDS numfields:count "
       "field...",
       "Sets the time at which fields expire, as a Unix time in milliseconds."},
      {"hpersist", hpersist, -5, kWrite, kUpdate, "hash", "9.0.0",
       kFields, "Removes the TTL of fields."},
      {"httl", httl<kInSeconds>, -5, kRead, kGet, "hash", "9.0.0",
       kFields, "Returns the TTL of fields in seconds."},
      {"hpttl", httl<kInMillis>, -5, kRead, kGet, "hash", "9.0.0",
       kFields, "Returns the TTL of fields in milliseconds."},
      {"hexpiretime", httl<kAtSecond>, -5, kRead, kGet, "hash", "9.0.0",
       kFields, "Returns the times at which fields expire, as Unix times in seconds."},
      {"hpexpiretime", httl<kAtMilli>, -5, kRead, kGet, "hash", "9.0.0",
       kFields, "Returns the times at which fields expire, as Unix times in milliseconds."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
