// SPDX-License-Identifier: Apache-2.0
// HSCAN: the fields of a hash in steps.

#include <string>

#include "commands/call.h"
#include "commands/hash/hash_handlers.h"
#include "commands/scan_options.h"

namespace mayfly {
namespace {

// Empty buckets that are visited for each field asked for: a table that has shrunk is not walked
// to its end within one command.
constexpr std::size_t kStepsForEach = 10;

void reply_page(Call& call, std::uint64_t cursor, std::size_t count, std::string_view items) {
  call.reply().array(2);
  call.reply().bulk(std::to_string(cursor));
  call.reply().array(count);
  call.reply().raw(items);
}

}  // namespace

// HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]
//
// COUNT is about fields alive, whether they match or not. A packed hash comes whole.
void hscan(Call& call) {
  if (!scan_cursor(call, 2)) return;
  const Slot slot = call.hash_to_read(call.word(1));
  if (call.has_failed()) return;
  if (slot == kNoSlot) return reply_page(call, 0, 0, "");
  const std::optional<ScanOptions> options = scan_options(call, 3, ScanKind::hash);
  if (!options) return;

  std::string bytes;
  Reply items(bytes, call.reply().protocol());
  std::size_t seen = 0;
  std::size_t matched = 0;
  const HashRef hash = call.database().hash(slot);
  const auto see = [&](const HashField& field) {
    ++seen;
    if (!options->matches(field.field)) return true;
    ++matched;
    items.bulk(field.field);
    if (!options->no_values) items.bulk(field.value);
    return true;
  };
  std::uint64_t cursor = options->cursor;
  std::size_t steps = 0;
  do {
    cursor = hash.scan(cursor, see);
  } while (cursor != 0 && seen < options->count && ++steps / kStepsForEach < options->count);
  reply_page(call, cursor, options->no_values ? matched : matched * 2, bytes);
}

}  // namespace mayfly
