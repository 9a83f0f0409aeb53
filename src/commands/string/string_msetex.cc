// SPDX-License-Identifier: Apache-2.0
// MSETEX: several keys at once, under one condition and with one deadline.

#include <climits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/expire_time.h"
#include "commands/key/key_steps.h"
#include "commands/string/string_handlers.h"

namespace mayfly {
namespace {

constexpr std::size_t kFirstKey = 2;

struct Request {
  std::size_t end = 0;         // of the keys and values, which begin at kFirstKey
  bool if_absent = false;      // NX
  bool if_present = false;     // XX
  bool keep_deadline = false;  // KEEPTTL
  TimeOption time;
};

// Reads the option at word `i` and returns how many words it takes; 0 if it does not belong there.
std::size_t read_option(const Call& call, std::size_t i, Request& request) {
  if (!request.keep_deadline && request.time.read(call, i)) return 2;
  if (call.is(i, "nx") && !request.if_present) {
    request.if_absent = true;
  } else if (call.is(i, "xx") && !request.if_absent) {
    request.if_present = true;
  } else if (call.is(i, "keepttl") && !request.time.form) {
    request.keep_deadline = true;
  } else {
    return 0;
  }
  return 1;
}

std::optional<Request> read_request(Call& call) {
  const std::optional<std::int64_t> keys =
      call.integer(1, 1, INT_MAX, "ERR invalid numkeys value or out of range");
  if (!keys) return std::nullopt;
  Request request;
  request.end = kFirstKey + static_cast<std::size_t>(*keys) * 2;
  std::size_t i = request.end;
  while (i < call.count()) {
    const std::size_t taken = read_option(call, i, request);
    if (taken == 0) break;
    i += taken;
  }
  if (i == call.count()) return request;
  call.fail_syntax();
  return std::nullopt;
}

// All or nothing: one key that is there (NX), or is not (XX), is enough to set none.
bool may_set(Call& call, const Request& request) {
  if (!request.if_absent && !request.if_present) return true;
  for (std::size_t i = kFirstKey; i < request.end; i += 2) {
    const bool is_there = call.find_to_write(call.word(i)) != kNoSlot;
    if (is_there ? request.if_absent : request.if_present) return false;
  }
  return true;
}

// What setting keys until a moment that is over comes to: those that are there expire.
void expire_all(Call& call, const Request& request) {
  Propagated removal = {std::string(call.host().removal_name())};
  for (std::size_t i = kFirstKey; i < request.end; i += 2) {
    const std::string_view key = call.word(i);
    const Slot slot = call.find_to_write(key);
    if (slot == kNoSlot) continue;
    expire_at_once(call, slot, key);
    removal.emplace_back(key);
  }
  call.propagate_instead(std::move(removal));
}

void set_one(Call& call, std::size_t i, const Request& request, std::optional<Time> deadline) {
  const std::string_view key = call.word(i);
  Slot slot = call.find_to_write(key);
  const bool keeps = request.keep_deadline && slot != kNoSlot;
  const Time until = keeps ? call.database().deadline(slot) : deadline.value_or(kNever);
  slot = replace_value(call, slot, key, call.word(i + 1));
  call.database().set_deadline(slot, until);
  call.changed(key);
  call.notify(Event::string, "set", key);
  if (deadline) call.notify(Event::generic, "expire", key);
}

// Replicas are told what was done: without the condition, and with an absolute time.
void propagate(Call& call, const Request& request, std::optional<Time> deadline) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  const Words kept = call.words().first(request.end);
  Propagated words(kept.begin(), kept.end());
  if (deadline) words.insert(words.end(), {"PXAT", in_millis(*deadline)});
  if (request.keep_deadline) words.emplace_back("KEEPTTL");
  call.propagate_list(std::move(words));
}

}  // namespace

// MSETEX numkeys key value [key value ...] [NX | XX]
//        [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
void msetex(Call& call) {
  const std::optional<Request> request = read_request(call);
  if (!request) return;
  std::optional<Time> deadline;
  if (request->time.form) {
    deadline = deadline_argument(call, request->time.word, *request->time.form, 1);
    if (!deadline) return;
  }
  const bool may = may_set(call, *request);
  call.reply().integer(may);
  if (!may) return;

  if (deadline && is_over(call, *deadline)) return expire_all(call, *request);
  for (std::size_t i = kFirstKey; i < request->end; i += 2) set_one(call, i, *request, deadline);
  const bool has_condition = request->if_absent || request->if_present;
  const bool is_exact =
      !deadline || (request->time.form->is_absolute && !request->time.form->is_seconds);
  if (has_condition || !is_exact) propagate(call, *request, deadline);
}

}  // namespace mayfly
