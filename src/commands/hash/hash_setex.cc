// SPDX-License-Identifier: Apache-2.0
// HSETEX: fields set together with their deadline, all of them or none.
//
//   HSETEX key [NX | XX] [FNX | FXX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//          FIELDS numfields field value [field value ...]
//
// NX and XX are about the key, FNX and FXX about the fields. Replies 1 if the fields were set (or
// removed, where the time is past) and 0 if a condition did not hold. A condition on the key is
// asked before the time is read, one on the fields after it.
//
// The other form is in hash_setex_short.cc.

#include "commands/hash/hash_setex.h"

#include <utility>

#include "commands/hash/hash_handlers.h"

namespace mayfly {
namespace {

enum class Only { any, absent, present };

struct Setting {
  Only key = Only::any;
  Only fields = Only::any;
  ExpiryOption expiry;
  Words pairs;

  // Whether the words mean the same whenever and wherever they are said.
  bool is_plain() const { return key == Only::any && fields == Only::any && !expiry.form; }
};

// Whether the choice goes with the one made before.
bool choose(Only& only, Only choice) {
  if (only != Only::any && only != choice) return false;
  only = choice;
  return true;
}

// Reads the option at word `i`; as read_expiry_option() does.
std::size_t read_option(const Call& call, std::size_t i, std::size_t end, Setting& setting) {
  if (call.is(i, "nx")) return choose(setting.key, Only::absent) ? i + 1 : 0;
  if (call.is(i, "xx")) return choose(setting.key, Only::present) ? i + 1 : 0;
  if (call.is(i, "fnx")) return choose(setting.fields, Only::absent) ? i + 1 : 0;
  if (call.is(i, "fxx")) return choose(setting.fields, Only::present) ? i + 1 : 0;
  return read_expiry_option(call, i, end, "keepttl", setting.expiry);
}

std::optional<Setting> read_setting(Call& call) {
  const std::optional<std::size_t> at = fields_position(call, 2);
  if (!at) return std::nullopt;
  Setting setting;
  for (std::size_t i = 2; i < *at;) {
    i = read_option(call, i, *at, setting);
    if (i == 0) {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  const std::optional<Words> pairs = counted_words(call, *at, 2, kWrongCount);
  if (!pairs) return std::nullopt;
  setting.pairs = *pairs;
  return setting;
}

bool holds(Only only, bool is_present) {
  return only == Only::any || (only == Only::present) == is_present;
}

bool fields_hold(HashRef& hash, const Setting& setting) {
  if (setting.fields == Only::any) return true;
  for (std::size_t i = 0; i < setting.pairs.size(); i += 2) {
    if (!holds(setting.fields, hash.find(setting.pairs[i]).has_value())) return false;
  }
  return true;
}

void set_pairs(Call& call, HashRef& hash, const Setting& setting, Time deadline) {
  const Words pairs = setting.pairs;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (setting.expiry.is_instead) {
      hash.put_keeping_deadline(pairs[i], pairs[i + 1]);
    } else {
      hash.put(pairs[i], pairs[i + 1], deadline);
    }
  }
  tell_change(call, hash, "hset", pairs.size() / 2);
  if (setting.expiry.form) call.notify(Event::hash, "hexpire", call.word(1));
  if (!setting.is_plain()) propagate_pairs(call, deadline, setting.expiry.is_instead, pairs);
}

// kNever if no time is given; nothing after an error.
std::optional<Time> read_deadline(Call& call, const ExpiryOption& expiry) {
  if (!expiry.form) return kNever;
  return field_deadline(call, expiry.time, *expiry.form);
}

}  // namespace

void remove_pairs(Call& call, HashRef& hash, Words pairs) {
  FieldNames removed;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (hash.expire(pairs[i])) removed.push_back(pairs[i]);
  }
  // What was there, alive or due, has been counted already.
  call.keyspace().stats().expired_fields +=
      pairs.size() / 2 - removed.size() - hash.reclaimed().size();

  const std::string_view key = call.word(1);
  const bool is_gone = hash.settle();
  for (const std::string_view event : {"hset", "hexpire", "hexpired"}) {
    call.notify(Event::hash, event, key);
  }
  if (is_gone) call.notify(Event::generic, "del", key);
  if (removed.empty()) return;
  call.changed(key, static_cast<std::int64_t>(removed.size()));
  propagate_removal(call, removed);
}

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

void hsetex(Call& call) {
  if (is_short_hsetex(call)) return run_short_hsetex(call);
  if (call.count() < 6) return call.fail_arity();
  const std::optional<Setting> setting = read_setting(call);
  if (!setting) return;
  Slot slot = call.hash_to_write(call.word(1));
  if (call.has_failed()) return;
  if (!holds(setting->key, slot != kNoSlot)) return call.reply().integer(0);
  const std::optional<Time> deadline = read_deadline(call, setting->expiry);
  if (!deadline) return;

  if (slot == kNoSlot && setting->fields == Only::present) return call.reply().integer(0);
  if (slot == kNoSlot) slot = call.make_hash(call.word(1));
  HashRef hash = call.database().hash(slot);
  if (!fields_hold(hash, *setting)) {
    call.settle(hash, call.word(1));
    return call.reply().integer(0);
  }
  if (is_past(call, *deadline)) {
    remove_pairs(call, hash, setting->pairs);
  } else {
    set_pairs(call, hash, *setting, *deadline);
  }
  call.reply().integer(1);
}

}  // namespace mayfly
