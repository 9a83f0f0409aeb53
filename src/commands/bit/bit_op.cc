// SPDX-License-Identifier: Apache-2.0
// BITOP: strings combined bit by bit. Missing ones count as empty.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "commands/bit/bit_combine.h"
#include "commands/command.h"
#include "commands/steps.h"
#include "commands/words.h"

namespace mayfly {
namespace {

struct OpName {
  std::string_view name;
  BitOp op;
};
constexpr OpName kBitOps[] = {{"and", BitOp::bit_and}, {"or", BitOp::bit_or},
                              {"xor", BitOp::bit_xor}, {"not", BitOp::bit_not},
                              {"diff", BitOp::diff},   {"diff1", BitOp::diff1},
                              {"andor", BitOp::andor}, {"one", BitOp::one}};

constexpr std::size_t kFirstSource = 3;

// The operation that word 1 names; nothing after an error reply.
std::optional<BitOp> read_op(Call& call) {
  const auto found = std::ranges::find_if(
      kBitOps, [&](const OpName& row) { return equals(call.word(1), row.name); });
  if (found == std::end(kBitOps)) {
    call.fail_syntax();
    return std::nullopt;
  }
  const std::size_t sources = call.count() - kFirstSource;
  const BitOp op = found->op;
  if (op == BitOp::bit_not && sources != 1) {
    call.fail("ERR BITOP NOT must be called with a single source key.");
    return std::nullopt;
  }
  if ((op == BitOp::diff || op == BitOp::diff1 || op == BitOp::andor) && sources < 2) {
    std::string name(found->name);
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    call.fail(fmt::format("ERR BITOP {} must be called with at least two source keys.", name));
    return std::nullopt;
  }
  return op;
}

// The keys that are combined.
struct BitopSources {
  std::vector<Slot> slots;  // kNoSlot for one that does not exist
  Slot longest = kNoSlot;
  std::size_t size = 0;  // of the longest, and of the result
};

// It fails if one of them is no string.
BitopSources find_sources(Call& call) {
  BitopSources sources;
  for (const std::string_view key : call.words().subspan(kFirstSource)) {
    const Slot slot = call.find_to_read(key, ValueType::string);
    if (call.has_failed()) return {};
    sources.slots.push_back(slot);
    const std::size_t size = slot == kNoSlot ? 0 : call.database().string(slot).size();
    if (size > sources.size) sources.longest = slot;
    sources.size = std::max(sources.size, size);
  }
  return sources;
}

// Where the result is written: a string of its size, without a deadline.
struct BitopTarget {
  char* bytes;
  bool is_source;  // it has its bytes still
};

BitopTarget make_target(Call& call, Slot slot, const BitopSources& sources) {
  Database& database = call.database();
  const bool is_string = slot != kNoSlot && call.is_string(slot);
  const bool is_source = is_string && std::ranges::find(sources.slots, slot) != sources.slots.end();
  if (!is_string) {
    slot = call.put_string(call.word(2), database.string(sources.longest));
  } else if (!is_source && database.string(slot).size() != sources.size) {
    database.set_string(slot, database.string(sources.longest));  // allocates no more than needed
  }
  database.set_deadline(slot, kNever);
  return {database.resize_string(slot, sources.size), is_source};
}

void write_combined(Call& call, BitOp op, const BitopSources& sources, BitopTarget target) {
  std::vector<std::string_view> strings;
  for (const Slot slot : sources.slots) {
    strings.push_back(slot == kNoSlot ? std::string_view() : call.database().string(slot));
  }
  combine_bits(op, strings, target.bytes, sources.size, target.is_source);
}

// BITOP op target key [key ...]: returns how many bytes the result has. An empty one is not kept.
void bitop(Call& call) {
  const std::optional<BitOp> op = read_op(call);
  if (!op) return;
  const BitopSources sources = find_sources(call);
  if (call.has_failed()) return;

  const std::string_view target = call.word(2);
  const Slot slot = call.find_to_write(target);
  if (sources.size > 0) {
    write_combined(call, *op, sources, make_target(call, slot, sources));
    report_set(call, target);
  } else if (slot != kNoSlot) {
    remove_key(call, slot, target);
  }
  call.reply().integer(static_cast<std::int64_t>(sources.size));
}

}  // namespace

std::span<const Command> bit_op_commands() {
  static constexpr Command kRows[] = {
      {"bitop",
       bitop,
       -4,
       flag::write | flag::denyoom,
       {3, -1, 1, access::ro | access::access, 0, 2},
       "bitmap",
       "2.6.0",
       "operation:(AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE) destkey:key key...",
       "Combines strings bit by bit and stores the result."},
  };
  return kRows;
}

}  // namespace mayfly
