// SPDX-License-Identifier: Apache-2.0
// The handlers of the key commands that do not stand beside their rows in key_commands.cc, and the
// names of types.

#pragma once

#include <optional>
#include <string_view>

#include "commands/call.h"
#include "mayfly/slot.h"

namespace mayfly {

// key_scan.cc
void keys(Call& call);
void scan(Call& call);

// key_place.cc
void rename(Call& call);
void renamenx(Call& call);
void copy(Call& call);
void move(Call& call);

// key_flush.cc
void flushdb(Call& call);
void flushall(Call& call);
void swapdb(Call& call);

// key_object.cc
void object_encoding(Call& call);
void object_freq(Call& call);
void object_idletime(Call& call);
void object_refcount(Call& call);
void object_help(Call& call);

// "string" or "hash".
std::string_view type_name(const Database& database, Slot slot);

// Word `i` as an int, or an error reply and nothing. `error` is what is said if it is none, instead
// of the usual texts.
std::optional<int> int_argument(Call& call, std::size_t i, std::string_view error = {});

// Whether there is a database of this number; if not, that has been said.
bool has_database(Call& call, int number);

}  // namespace mayfly
