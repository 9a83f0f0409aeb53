// SPDX-License-Identifier: Apache-2.0
// The handlers of the string commands that do not stand beside their rows in string_commands.cc,
// and the steps that they share.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "commands/expire_time.h"
#include "mayfly/slot.h"

namespace mayfly {

// string_set.cc
void set(Call& call);
void setnx(Call& call);
void setex(Call& call);
void psetex(Call& call);
void getset(Call& call);
void mset(Call& call);
void msetnx(Call& call);

// string_msetex.cc
void msetex(Call& call);

// string_get.cc
void getex(Call& call);
void getdel(Call& call);
void delifeq(Call& call);

// string_change.cc
void append(Call& call);
void setrange(Call& call);

// string_numbers.cc
void incr(Call& call);
void decr(Call& call);
void incrby(Call& call);
void decrby(Call& call);
void incrbyfloat(Call& call);

// string_lcs.cc
void lcs(Call& call);

// EX, PX, EXAT or PXAT among the options of a command.
struct TimeOption {
  std::optional<TimeForm> form;
  std::size_t word = 0;  // the one with the number

  // Whether it is at word `i`, with a number behind it; then it is read. It may be repeated, and
  // the last one counts, but two different ones do not go together.
  bool read(const Call& call, std::size_t i);
};

// Gives a key a string and no deadline. `slot` is where the key is, or kNoSlot. A string is
// replaced where it stands; anything else is thrown away. Tells `new` if nothing was there.
Slot replace_value(Call& call, Slot slot, std::string_view key, std::string_view value);

// Replies with the string at `slot`, or null if that is kNoSlot.
void reply_string(Call& call, Slot slot);

}  // namespace mayfly
