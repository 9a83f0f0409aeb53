// SPDX-License-Identifier: Apache-2.0
// The commands that set whole strings: SET with all its options, and its older relatives.
//
// A SET without options is the most frequent of all writes. It costs one look-up if the key is
// there, and allocates nothing but the node of a key that is not.

#include <optional>
#include <string>

#include "commands/expire_time.h"
#include "commands/key/key_steps.h"
#include "commands/string/string_handlers.h"

namespace mayfly {
namespace {

struct SetOptions {
  bool if_absent = false;                    // NX
  bool if_present = false;                   // XX
  std::optional<std::string_view> if_equal;  // IFEQ
  bool get = false;                          // GET
  bool keep_deadline = false;                // KEEPTTL
  TimeOption time;

  int conditions() const { return if_absent + if_present + (if_equal ? 1 : 0); }
};

// Reads the option at word `i` and returns how many words it takes; 0 if it does not belong there.
std::size_t read_option(Call& call, std::size_t i, SetOptions& options) {
  if (!options.keep_deadline && options.time.read(call, i)) return 2;
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
  } else if (call.is(i, "keepttl") && !options.time.form) {
    options.keep_deadline = true;
  } else {
    return 0;
  }
  return options.conditions() <= 1 ? 1 : 0;
}

std::optional<SetOptions> read_options(Call& call) {
  SetOptions options;
  for (std::size_t i = 3; i < call.count();) {
    const std::size_t taken = read_option(call, i, options);
    if (taken == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
    i += taken;
  }
  return options;
}

// Whether the conditions allow to set a key that is at `slot`, or not there. Fails if there is
// something else than the string that IFEQ is about.
bool may_set(Call& call, const SetOptions& options, Slot slot) {
  const bool is_there = slot != kNoSlot;
  if (options.if_absent && is_there) return false;
  if (options.if_present && !is_there) return false;
  if (!options.if_equal) return true;
  if (is_there && !call.database().is_string(slot)) call.fail_wrong_type();
  return is_there && !call.has_failed() && call.database().string(slot) == *options.if_equal;
}

void tell_set(Call& call, std::string_view key) {
  call.changed(key);
  call.notify(Event::string, "set", key);
}

void set_until(Call& call, Slot slot, std::string_view key, std::string_view value, Time deadline) {
  slot = replace_value(call, slot, key, value);
  call.database().set_deadline(slot, deadline);
  tell_set(call, key);
  call.notify(Event::generic, "expire", key);
  call.propagate_as("SET", key, value, "PXAT", in_millis(deadline));
}

// Replicas are told what was done: they need neither the conditions nor GET.
void set_for_good(Call& call, Slot slot, const SetOptions& options) {
  const std::string_view key = call.word(1);
  const std::string_view value = call.word(2);
  const bool has_deadline = options.keep_deadline && slot != kNoSlot;
  const Time deadline = has_deadline ? call.database().deadline(slot) : kNever;
  slot = replace_value(call, slot, key, value);
  call.database().set_deadline(slot, deadline);
  tell_set(call, key);
  if (options.keep_deadline) return call.propagate_as("SET", key, value, "KEEPTTL");
  call.propagate_as("SET", key, value);
}

void set_with(Call& call, const SetOptions& options, std::optional<Time> deadline) {
  const std::string_view key = call.word(1);
  const Slot slot = options.get ? call.string_to_read(key) : call.find_to_write(key);
  if (call.has_failed()) return;
  const bool may = may_set(call, options, slot);
  if (call.has_failed()) return;

  if (options.get) {
    reply_string(call, slot);
  } else if (may) {
    call.reply().ok();
  } else {
    call.reply().null();
  }
  if (!may) return;

  if (!deadline) {
    set_for_good(call, slot, options);
  } else if (!is_over(call, *deadline)) {
    set_until(call, slot, key, call.word(2), *deadline);
  } else if (slot != kNoSlot) {
    expire_at_once(call, slot, key);
  }
}

void set_for(Call& call, TimeForm form) {
  const std::optional<Time> deadline = deadline_argument(call, 2, form, 1);
  if (!deadline) return;
  const std::string_view key = call.word(1);
  set_until(call, call.find_to_write(key), key, call.word(3), *deadline);
  call.reply().ok();
}

}  // namespace

Slot replace_value(Call& call, Slot slot, std::string_view key, std::string_view value) {
  Database& database = call.database();
  if (slot == kNoSlot || !database.is_string(slot)) return call.put_string(key, value);
  database.set_string(slot, value);
  if (database.deadline(slot) != kNever) database.set_deadline(slot, kNever);
  return slot;
}

// SET key value [NX | XX | IFEQ value] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
void set(Call& call) {
  if (call.count() == 3) {
    const std::string_view key = call.word(1);
    replace_value(call, call.find_to_write(key), key, call.word(2));
    tell_set(call, key);
    return call.reply().ok();
  }
  const std::optional<SetOptions> options = read_options(call);
  if (!options) return;
  std::optional<Time> deadline;
  if (options->time.form) {
    deadline = deadline_argument(call, options->time.word, *options->time.form, 1);
    if (!deadline) return;
  }
  set_with(call, *options, deadline);
}

void setnx(Call& call) {
  const std::string_view key = call.word(1);
  const bool is_new = call.find_to_write(key) == kNoSlot;
  if (is_new) {
    call.put_string(key, call.word(2));
    tell_set(call, key);
  }
  call.reply().integer(is_new);
}

void setex(Call& call) { set_for(call, {.is_seconds = true, .is_absolute = false}); }

void psetex(Call& call) { set_for(call, {.is_seconds = false, .is_absolute = false}); }

void getset(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.string_to_read(key);
  if (call.has_failed()) return;
  reply_string(call, slot);
  replace_value(call, slot, key, call.word(2));
  tell_set(call, key);
  call.propagate_as("SET", key, call.word(2));
}

// MSET key value [key value ...]
void mset(Call& call) {
  if (call.count() % 2 == 0) return call.fail_arity();
  for (std::size_t i = 1; i < call.count(); i += 2) {
    replace_value(call, call.find_to_write(call.word(i)), call.word(i), call.word(i + 1));
    tell_set(call, call.word(i));
  }
  call.reply().ok();
}

// All or nothing: no key is set if one of them is there.
void msetnx(Call& call) {
  if (call.count() % 2 == 0) return call.fail_arity();
  for (std::size_t i = 1; i < call.count(); i += 2) {
    if (call.find_to_write(call.word(i)) != kNoSlot) return call.reply().integer(0);
  }
  for (std::size_t i = 1; i < call.count(); i += 2) {
    replace_value(call, call.find_to_write(call.word(i)), call.word(i), call.word(i + 1));
    tell_set(call, call.word(i));
  }
  call.reply().integer(1);
}

}  // namespace mayfly
