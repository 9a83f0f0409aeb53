// SPDX-License-Identifier: Apache-2.0
// The commands that set whole strings: SET with all its options, and the older ones.
//
// A SET without options is the most frequent write. It costs one look-up if the key exists, and
// allocates nothing but the node of a new key.

#include <optional>
#include <string>

#include "commands/command.h"
#include "commands/steps.h"
#include "commands/string/stale_option.h"
#include "commands/ttl/expire_time.h"
#include "commands/ttl/ttl_policy.h"

namespace mayfly {
namespace {

struct SetOptions {
  bool if_absent = false;                    // NX
  bool if_present = false;                   // XX
  std::optional<std::string_view> if_equal;  // IFEQ
  std::optional<std::string_view> token;     // TOKEN
  bool get = false;                          // GET
  ExpiryOption expiry;                       // EX, PX, EXAT, PXAT, or KEEPTTL
  StaleOption stale;                         // STALE or PSTALE

  int conditions() const { return if_absent + if_present + (if_equal ? 1 : 0) + (token ? 1 : 0); }
};

// Reads the option at word `i` and returns how many words it takes; 0 if it is not allowed there.
std::size_t read_set_option(Call& call, std::size_t i, SetOptions& options) {
  if (const std::size_t taken = options.expiry.read(call, i, call.count(), "keepttl")) return taken;
  if (const std::size_t taken = options.stale.read(call, i)) return taken;
  if (call.is(i, "token") && i + 1 < call.count() && options.conditions() == 0) {
    options.token = call.word(i + 1);
    return 2;
  }
  if (call.is(i, "ifeq") && i + 1 < call.count() && options.conditions() == 0) {
    options.if_equal = call.word(i + 1);
    return 2;
  }
  if (call.is(i, "nx")) {
    options.if_absent = true;
  } else if (call.is(i, "xx")) {
    options.if_present = true;
  } else if (call.is(i, "get")) {
    options.get = true;
  } else {
    return 0;
  }
  return options.conditions() <= 1 ? 1 : 0;
}

std::optional<SetOptions> read_set_options(Call& call) {
  SetOptions options;
  for (std::size_t i = 3; i < call.count();) {
    const std::size_t taken = read_set_option(call, i, options);
    if (taken == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
    i += taken;
  }
  const bool is_fit = !options.token || !options.get;  // no reply would say which value was set
  if (!is_fit) call.fail_syntax();
  if (!is_fit || !options.expiry.finish(call)) return std::nullopt;
  return options;
}

// Whether the conditions allow to set the key, which is at `slot` or does not exist. Fails if IFEQ
// is about a key of another type.
bool is_set_allowed(Call& call, const SetOptions& options, Slot slot) {
  const bool is_there = slot != kNoSlot;
  if (options.if_absent && is_there) return false;
  if (options.if_present && !is_there) return false;
  if (options.token) return holds_lease(call, call.word(1), *options.token);
  if (!options.if_equal) return true;
  if (is_there && !call.is_string(slot)) call.fail_wrong_type();
  return is_there && !call.has_failed() && call.database().string(slot) == *options.if_equal;
}

void set_until(Call& call, Slot slot, std::string_view key, std::string_view value,
               const KeyLife& life) {
  replace_value(call, slot, key, value, life);
  report_set(call, key);
  call.notify(Event::generic, "expire", key);
}

// Replicas get the result: they need neither the conditions nor GET.
void set_keeping_deadline(Call& call, Slot slot) {
  const std::string_view key = call.word(1);
  replace_value(call, slot, key, call.word(2), life_of(call, slot));
  report_set(call, key);
  call.propagate_as("SET", key, call.word(2), "KEEPTTL");
}

void set_without_deadline(Call& call, Slot slot) {
  const std::string_view key = call.word(1);
  replace_value(call, slot, key, call.word(2));
  report_set(call, key);
  call.propagate_as("SET", key, call.word(2));
}

// What a request says about the life of a key.
struct GivenLife {
  std::optional<Time> fresh_until;  // nothing: without a time
  Millis stale = Millis(0);
};

// The life of the key in the end: what is given, kept, or said by the rule for the key. Nothing
// after an error reply.
std::optional<KeyLife> set_life(Call& call, Slot slot, const SetOptions& options,
                                const GivenLife& given) {
  const std::string_view key = call.word(1);
  if (given.fresh_until) {
    const std::optional<Time> until =
        ruled_deadline(call, key, *given.fresh_until, options.expiry.jitter, given.stale);
    if (!until) return std::nullopt;
    return stale_life(call, *until, given.stale);
  }
  const KeyLife kept = options.expiry.is_instead ? life_of(call, slot) : KeyLife{};
  const std::optional<Time> until = ruled_kept(call, key, kept.deadline);
  if (!until) return std::nullopt;
  return *until == kept.deadline ? kept : KeyLife{.deadline = *until};
}

void set_with(Call& call, const SetOptions& options, const GivenLife& given) {
  const std::string_view key = call.word(1);
  const Slot slot =
      options.get ? call.find_to_read(key, ValueType::string) : call.find_to_write(key);
  if (call.has_failed()) return;
  const bool may = is_set_allowed(call, options, slot);
  if (call.has_failed()) return;
  const Time before = life_of(call, slot).deadline;
  std::optional<KeyLife> life = KeyLife{};
  if (may) life = set_life(call, slot, options, given);
  if (!life) return;

  if (options.get) {
    reply_string(call, slot);
  } else if (may) {
    call.reply().ok();
  } else {
    call.reply().null();
  }
  if (!may) return;

  if (options.expiry.is_instead && life->deadline == before) {
    set_keeping_deadline(call, slot);
  } else if (life->deadline == kNever) {
    set_without_deadline(call, slot);
  } else if (!call.context().expires_at_once(life->deadline)) {
    set_until(call, slot, key, call.word(2), *life);
    const bool is_exact = given.fresh_until == life->deadline && *options.expiry.form == kAtMilli &&
                          call.count() == 5;
    if (!is_exact) propagate_set(call, key, call.word(2), *life);
  } else if (slot != kNoSlot) {
    expire_at_once(call, slot, key, life->deadline);
  }
}

// SETEX key seconds value [JITTER percent], PSETEX key milliseconds value [JITTER percent]
template <TimeForm form>
void setex(Call& call) {
  Jitter jitter;
  if (!jitter.read_trailing(call, 4)) return;
  const std::optional<Time> time = deadline_argument(call, 2, form, 1);
  if (!time) return;
  const std::string_view key = call.word(1);
  const std::optional<Time> deadline = ruled_deadline(call, key, *time, jitter);
  if (!deadline) return;
  const KeyLife life{.deadline = *deadline};
  set_until(call, call.find_to_write(key), key, call.word(3), life);
  propagate_set(call, key, call.word(3), life);
  call.reply().ok();
}

// SET key value [NX | XX | IFEQ value] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//     [JITTER percent] [STALE s | PSTALE ms] [TOKEN token]
void set(Call& call) {
  if (call.count() == 3 && !call.judges_ttls()) {
    const std::string_view key = call.word(1);
    replace_value(call, call.find_to_write(key), key, call.word(2));
    report_set(call, key);
    return call.reply().ok();
  }
  const std::optional<SetOptions> options = read_set_options(call);
  if (!options) return;
  GivenLife given{.fresh_until = options->expiry.deadline(call, 1)};
  if (call.has_failed()) return;
  given.stale = options->stale.time(call, given.fresh_until);
  if (call.has_failed()) return;
  set_with(call, *options, given);
}

// SETNX key value
void setnx(Call& call) {
  const std::string_view key = call.word(1);
  const bool is_new = call.find_to_write(key) == kNoSlot;
  if (is_new) {
    call.put_string(key, call.word(2));
    report_set(call, key);
  }
  call.reply().integer(is_new);
}

// GETSET key value
void getset(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.find_to_read(key, ValueType::string);
  if (call.has_failed()) return;
  const std::optional<Time> deadline = ruled_kept(call, key, kNever);
  if (!deadline) return;
  reply_string(call, slot);
  const KeyLife life{.deadline = *deadline};
  replace_value(call, slot, key, call.word(2), life);
  report_set(call, key);
  if (life.deadline != kNever) call.notify(Event::generic, "expire", key);
  propagate_set(call, key, call.word(2), life);
}

// MSET key value [key value ...]
void mset(Call& call) {
  if (call.count() % 2 == 0) return call.fail_arity();
  for (std::size_t i = 1; i < call.count(); i += 2) {
    replace_value(call, call.find_to_write(call.word(i)), call.word(i), call.word(i + 1));
    report_set(call, call.word(i));
  }
  call.reply().ok();
}

// MSETNX key value [key value ...]: sets no key if one of them exists.
void msetnx(Call& call) {
  if (call.count() % 2 == 0) return call.fail_arity();
  for (std::size_t i = 1; i < call.count(); i += 2) {
    if (call.find_to_write(call.word(i)) != kNoSlot) return call.reply().integer(0);
  }
  for (std::size_t i = 1; i < call.count(); i += 2) {
    replace_value(call, call.find_to_write(call.word(i)), call.word(i), call.word(i + 1));
    report_set(call, call.word(i));
  }
  call.reply().integer(1);
}

}  // namespace

std::span<const Command> string_set_commands() {
  static constexpr std::uint64_t kWrite = flag::write | flag::denyoom;
  static constexpr std::uint64_t kQuickWrite = flag::write | flag::denyoom | flag::fast;
  static constexpr KeyRange kPut = one_key(access::ow | access::update);
  // clang-format off
  static constexpr Command kRows[] = {
      {"set", set, -3, kWrite | flag::asks_rules, kPut, "string", "1.0.0",
       "key value [condition:(NX | XX | IFEQ comparison-value)] [GET] [expiration:(EX seconds:int "
       "| PX milliseconds:int | EXAT unix-time-seconds:time | PXAT unix-time-milliseconds:time | "
       "KEEPTTL)] [JITTER percent:double] [stale:(STALE seconds:int | PSTALE milliseconds:int)] "
       "[TOKEN token]",
       "Sets a key to a string, with a TTL or under a condition if given."},
      {"setnx", setnx, 3, kQuickWrite, one_key(access::ow | access::insert), "string", "1.0.0",
       "key value",
       "Sets a key to a string if the key does not exist."},
      {"setex", setex<kInSeconds>, -4, kWrite | flag::asks_rules, kPut, "string", "2.0.0",
       "key seconds:int value [JITTER percent:double]",
       "Sets a key to a string with a TTL in seconds."},
      {"psetex", setex<kInMillis>, -4, kWrite | flag::asks_rules, kPut, "string", "2.6.0",
       "key milliseconds:int value [JITTER percent:double]",
       "Sets a key to a string with a TTL in milliseconds."},
      {"getset", getset, 3, kQuickWrite | flag::asks_rules,
       one_key(access::rw | access::access | access::update),
       "string", "1.0.0",
       "key value",
       "Sets a key to a string and returns the old one."},
      {"mset", mset, -3, kWrite, all_keys(access::ow | access::update, 2), "string", "1.0.1",
       "(key value)...",
       "Sets several keys to strings."},
      {"msetnx", msetnx, -3, kWrite, all_keys(access::ow | access::insert, 2), "string", "1.0.1",
       "(key value)...",
       "Sets several keys to strings if none of the keys exists."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
