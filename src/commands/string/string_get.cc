// SPDX-License-Identifier: Apache-2.0
// The commands that reply with a string and then change what becomes of its key.

#include <optional>
#include <string>

#include "commands/expire_time.h"
#include "commands/key/key_steps.h"
#include "commands/string/string_handlers.h"

namespace mayfly {
namespace {

struct GetexOptions {
  bool persist = false;  // PERSIST
  TimeOption time;
};

std::optional<GetexOptions> read_options(Call& call) {
  GetexOptions options;
  for (std::size_t i = 2; i < call.count(); ++i) {
    if (!options.persist && options.time.read(call, i)) {
      ++i;
    } else if (!options.time.form && call.is(i, "persist")) {
      options.persist = true;
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

bool TimeOption::read(const Call& call, std::size_t i) {
  const std::optional<TimeForm> found = time_option(call.word(i));
  if (!found || i + 1 == call.count()) return false;
  const bool is_same =
      !form || (form->is_seconds == found->is_seconds && form->is_absolute == found->is_absolute);
  if (!is_same) return false;
  form = found;
  word = i + 1;
  return true;
}

// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]
void getex(Call& call) {
  const std::optional<GetexOptions> options = read_options(call);
  if (!options) return;
  std::optional<Time> deadline;
  if (options->time.form) {
    deadline = deadline_argument(call, options->time.word, *options->time.form, 1);
    if (!deadline) return;
  }
  const std::string_view key = call.word(1);
  const Slot slot = call.string_to_read(key);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();

  call.reply().bulk(call.database().string(slot));
  if (deadline) set_key_deadline(call, slot, key, *deadline);
  if (options->persist) clear_key_deadline(call, slot, key);
}

void getdel(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.string_to_read(key);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().null();
  call.reply().bulk(call.database().string(slot));
  remove_key(call, slot, key);
  call.propagate_as("DEL", key);
}

// DELIFEQ key value: removes the key if that is its value.
void delifeq(Call& call) {
  const std::string_view key = call.word(1);
  const Slot slot = call.string_to_write(key);
  if (call.has_failed()) return;
  const bool is_equal = slot != kNoSlot && call.database().string(slot) == call.word(2);
  if (is_equal) {
    remove_key(call, slot, key);
    call.propagate_as("DEL", key);
  }
  call.reply().integer(is_equal);
}

}  // namespace mayfly
