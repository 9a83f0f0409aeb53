// SPDX-License-Identifier: Apache-2.0
// HSETEX in both its forms: fields set together with their deadline.
//
//   HSETEX key [NX | XX] [FNX | FXX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//          FIELDS numfields field value [field value ...]
//
// All fields are set or none. NX and XX are about the key, FNX and FXX about the fields. Replies 1
// if the fields were set (or removed, if the time is in the past) and 0 if a condition did not
// hold. A condition on the key is checked before the time is read, one on the fields after it.
//
//   HSETEX key [NX] seconds field value [field value ...]
//
// The short form of Dragonfly, which the RFC lists. It has a number where the other form has an
// option or FIELDS. With NX, fields that exist keep their values and deadlines, and the others are
// set. Replies, as HSET does, how many fields are new. It is propagated in the long form, so that
// replicas need to know only that one.

#include <utility>

#include "commands/command.h"
#include "commands/hash/hash_steps.h"

namespace mayfly {
namespace {

enum class Only { any, absent, present };

struct HsetexRequest {
  Only key = Only::any;
  Only fields = Only::any;
  ExpiryOption expiry;
  Words pairs;

  // Whether the words mean the same at any time and on any server.
  bool is_plain() const { return key == Only::any && fields == Only::any && !expiry.form; }
};

// Returns false if the choice contradicts the one before.
bool choose(Only& only, Only choice) {
  if (only != Only::any && only != choice) return false;
  only = choice;
  return true;
}

// Reads the option at word `i`; as ExpiryOption::read() does.
std::size_t read_hsetex_option(const Call& call, std::size_t i, std::size_t end,
                               HsetexRequest& request) {
  if (call.is(i, "nx")) return choose(request.key, Only::absent) ? 1 : 0;
  if (call.is(i, "xx")) return choose(request.key, Only::present) ? 1 : 0;
  if (call.is(i, "fnx")) return choose(request.fields, Only::absent) ? 1 : 0;
  if (call.is(i, "fxx")) return choose(request.fields, Only::present) ? 1 : 0;
  return request.expiry.read(call, i, end, "keepttl");
}

std::optional<HsetexRequest> read_hsetex(Call& call) {
  const std::optional<std::size_t> at = fields_position(call, 2);
  if (!at) return std::nullopt;
  HsetexRequest request;
  for (std::size_t i = 2; i < *at;) {
    const std::size_t taken = read_hsetex_option(call, i, *at, request);
    if (taken == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
    i += taken;
  }
  const std::optional<Words> pairs = counted_words(call, *at, 2, kWrongCount);
  if (!pairs) return std::nullopt;
  request.pairs = *pairs;
  return request;
}

bool holds(Only only, bool is_present) {
  return only == Only::any || (only == Only::present) == is_present;
}

bool fields_hold(MembersRef& hash, const HsetexRequest& request) {
  if (request.fields == Only::any) return true;
  for (std::size_t i = 0; i < request.pairs.size(); i += 2) {
    if (!holds(request.fields, hash.find(request.pairs[i]).has_value())) return false;
  }
  return true;
}

// HSETEX key [PXAT deadline | KEEPTTL] FIELDS count field value ...
void propagate_pairs(Call& call, Time deadline, bool keeps_deadlines, Words pairs) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  Propagated words;
  words.reserve(6 + pairs.size());
  words.emplace_back("HSETEX");
  words.emplace_back(call.word(1));
  if (keeps_deadlines) words.emplace_back("KEEPTTL");
  if (deadline != kNever) {
    words.emplace_back("PXAT");
    words.push_back(in_millis(deadline));
  }
  words.emplace_back("FIELDS");
  words.push_back(std::to_string(pairs.size() / 2));
  words.insert(words.end(), pairs.begin(), pairs.end());
  call.propagate_list(std::move(words));
}

// Ends an HSETEX whose time is in the past. The fields of `pairs` are removed, and each of them
// counts as expired, even one that did not exist. Clients see the events of setting the fields and
// of their expiry.
void remove_pairs(Call& call, MembersRef& hash, Words pairs) {
  FieldNames removed;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (hash.expire(pairs[i])) removed.push_back(pairs[i]);
  }
  // Fields that existed, alive or due, have been counted already.
  call.keyspace().stats().expired_members +=
      pairs.size() / 2 - removed.size() - hash.reclaimed().size();

  const std::string_view key = call.word(1);
  const bool is_gone = hash.finish();
  for (const std::string_view event : {"hset", "hexpire", "hexpired"}) {
    call.notify(Event::hash, event, key);
  }
  if (is_gone) call.notify(Event::generic, "del", key);
  if (removed.empty()) return;
  call.changed(key, static_cast<std::int64_t>(removed.size()));
  propagate_removal(call, removed);
}

void set_long(Call& call, MembersRef& hash, const HsetexRequest& request, Time deadline) {
  const Words pairs = request.pairs;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (request.expiry.is_instead) {
      hash.put_keeping_deadline(pairs[i], pairs[i + 1]);
    } else {
      hash.put(pairs[i], pairs[i + 1], deadline);
    }
  }
  finish_write(call, hash, "hset", pairs.size() / 2);
  if (request.expiry.form) call.notify(Event::hash, "hexpire", call.word(1));
  if (!request.is_plain()) propagate_pairs(call, deadline, request.expiry.is_instead, pairs);
}

bool looks_like_number(std::string_view word) {
  if (!word.empty() && word.front() == '-') word.remove_prefix(1);
  return !word.empty() && word.front() >= '0' && word.front() <= '9';
}

// The word with the seconds.
std::size_t seconds_position(const Call& call) { return call.is(2, "nx") ? 3 : 2; }

// Sets the pairs and replies how many fields are new; `only_new` leaves existing ones unchanged.
void set_short(Call& call, MembersRef& hash, Words pairs, Time deadline, bool only_new) {
  std::int64_t added = 0;
  FieldNames written;
  written.reserve(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (only_new && hash.find(pairs[i])) continue;
    if (hash.put(pairs[i], pairs[i + 1], deadline)) ++added;
    written.insert(written.end(), {pairs[i], pairs[i + 1]});
  }
  call.reply().integer(added);
  if (written.empty()) {
    call.finish(hash, call.word(1));
    return;
  }
  finish_write(call, hash, "hset", written.size() / 2);
  call.notify(Event::hash, "hexpire", call.word(1));
  propagate_pairs(call, deadline, false, written);
}

void hsetex_short(Call& call) {
  const std::size_t seconds = seconds_position(call);
  const bool only_new = seconds == 3;
  const Words pairs = call.words().subspan(seconds + 1);
  if (pairs.empty() || pairs.size() % 2 != 0) return call.fail_arity();
  Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  const auto deadline = deadline_argument(call, seconds, kInSeconds, 0);
  if (!deadline) return;

  const bool is_past = call.context().expires_at_once(*deadline);
  if (is_past && only_new) return call.reply().integer(0);
  if (slot == kNoSlot) slot = call.make_members(ValueType::hash, call.word(1));
  MembersRef hash = call.members(slot);
  if (!is_past) return set_short(call, hash, pairs, *deadline, only_new);
  remove_pairs(call, hash, pairs);
  call.reply().integer(0);
}

void hsetex(Call& call) {
  if (looks_like_number(call.word(seconds_position(call)))) return hsetex_short(call);
  if (call.count() < 6) return call.fail_arity();
  const std::optional<HsetexRequest> request = read_hsetex(call);
  if (!request) return;
  Slot slot = call.find_to_write(call.word(1), ValueType::hash);
  if (call.has_failed()) return;
  if (!holds(request->key, slot != kNoSlot)) return call.reply().integer(0);
  const Time deadline = request->expiry.deadline(call, 0).value_or(kNever);
  if (call.has_failed()) return;

  if (slot == kNoSlot && request->fields == Only::present) return call.reply().integer(0);
  if (slot == kNoSlot) slot = call.make_members(ValueType::hash, call.word(1));
  MembersRef hash = call.members(slot);
  if (!fields_hold(hash, *request)) {
    call.finish(hash, call.word(1));
    return call.reply().integer(0);
  }
  if (call.context().expires_at_once(deadline)) {
    remove_pairs(call, hash, request->pairs);
  } else {
    set_long(call, hash, *request, deadline);
  }
  call.reply().integer(1);
}

}  // namespace

std::span<const Command> hash_setex_commands() {
  static constexpr Command kRows[] = {
      // The long form has six words at least, and checks that itself.
      {"hsetex", hsetex, -5, flag::write | flag::denyoom | flag::fast,
       one_key(access::rw | access::insert), "hash", "9.0.0",
       "key (([condition:(NX | XX)] [fields-condition:(FNX | FXX)] [expiration:(EX seconds:int | "
       "PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
       "KEEPTTL)] FIELDS numfields:count (field value)...) | ([NX] seconds:int (field value)...))",
       "Sets fields together with their TTL, under conditions if given."},
  };
  return kRows;
}

}  // namespace mayfly
