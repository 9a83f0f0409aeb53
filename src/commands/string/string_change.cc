// SPDX-License-Identifier: Apache-2.0
// The commands that change a part of a string where it stands.

#include <algorithm>
#include <cstring>

#include "commands/string/string_handlers.h"

namespace mayfly {
namespace {

// Whether a string may reach so far; if not, that has been said. Neither number is negative, and
// `more` is a word's size: their sum cannot overflow.
bool may_reach(Call& call, std::uint64_t size, std::uint64_t more) {
  if (size + more <= call.string_bytes_max()) return true;
  call.fail("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  return false;
}

std::size_t size_of(Call& call, Slot slot) {
  return slot == kNoSlot ? 0 : call.database().string(slot).size();
}

// Writes `bytes` into the string at `slot`, which is made longer if need be.
void write_at(Call& call, Slot slot, std::size_t offset, std::string_view bytes) {
  const std::size_t size = std::max(size_of(call, slot), offset + bytes.size());
  char* const data = call.database().resize_string(slot, size);
  if (!bytes.empty()) std::memcpy(data + offset, bytes.data(), bytes.size());
}

}  // namespace

void append(Call& call) {
  const std::string_view key = call.word(1);
  const std::string_view bytes = call.word(2);
  const Slot slot = call.string_to_write(key);
  if (call.has_failed()) return;
  const std::size_t size = size_of(call, slot);
  if (!may_reach(call, size, bytes.size())) return;

  if (slot == kNoSlot) {
    call.put_string(key, bytes);
  } else {
    write_at(call, slot, size, bytes);
  }
  call.changed(key);
  call.notify(Event::string, "append", key);
  call.reply().integer(static_cast<std::int64_t>(size + bytes.size()));
}

// SETRANGE key offset value: what is between the end and the offset becomes zero bytes.
void setrange(Call& call) {
  const std::optional<std::int64_t> number = call.integer(2);
  if (!number) return;
  if (*number < 0) return call.fail("ERR offset is out of range");
  const auto offset = static_cast<std::size_t>(*number);
  const std::string_view key = call.word(1);
  const std::string_view bytes = call.word(3);
  Slot slot = call.string_to_write(key);
  if (call.has_failed()) return;

  if (!bytes.empty()) {
    if (!may_reach(call, offset, bytes.size())) return;
    if (slot == kNoSlot) slot = call.put_string(key, {});
    write_at(call, slot, offset, bytes);
    call.changed(key);
    call.notify(Event::string, "setrange", key);
  }
  call.reply().integer(static_cast<std::int64_t>(size_of(call, slot)));
}

}  // namespace mayfly
