// SPDX-License-Identifier: Apache-2.0
// BITOP: strings combined bit by bit. Shorter and missing ones count as if they had zeros at their
// ends.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/steps.h"
#include "commands/words.h"

namespace mayfly {
namespace {

enum class BitOp {
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  diff,   // in the first, and in none of the others
  diff1,  // in one of the others, but not in the first
  andor,  // in the first, and in one of the others
  one,    // in exactly one
};

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

unsigned byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

// The bits of byte `i` that are in one of the strings, in an odd number of them, in all, in more
// than one.
struct CombinedByte {
  unsigned any = 0;
  unsigned odd = 0;
  unsigned all = 0xFF;
  unsigned repeated = 0;
};

CombinedByte combine(std::span<const std::string_view> sources, std::size_t i) {
  CombinedByte combined;
  for (const std::string_view source : sources) {
    const unsigned byte = byte_at(source, i);
    combined.repeated |= combined.any & byte;
    combined.any |= byte;
    combined.odd ^= byte;
    combined.all &= byte;
  }
  return combined;
}

unsigned result_byte(BitOp op, std::span<const std::string_view> sources, std::size_t i) {
  const unsigned first = byte_at(sources.front(), i);
  switch (op) {
    case BitOp::bit_and:
      return combine(sources, i).all;
    case BitOp::bit_or:
      return combine(sources, i).any;
    case BitOp::bit_xor:
      return combine(sources, i).odd;
    case BitOp::bit_not:
      return ~first;
    case BitOp::diff:
      return first & ~combine(sources.subspan(1), i).any;
    case BitOp::diff1:
      return combine(sources.subspan(1), i).any & ~first;
    case BitOp::andor:
      return first & combine(sources.subspan(1), i).any;
    case BitOp::one: {
      const CombinedByte combined = combine(sources, i);
      return combined.any & ~combined.repeated;
    }
  }
  return 0;
}

// The result, as long as the longest source; it fails if one of them is no string.
std::string combined_strings(Call& call, BitOp op) {
  std::vector<std::string_view> sources;
  std::size_t size = 0;
  for (const std::string_view key : call.words().subspan(kFirstSource)) {
    const Slot slot = call.find_to_read(key, ValueType::string);
    if (call.has_failed()) return {};
    sources.push_back(slot == kNoSlot ? std::string_view() : call.database().string(slot));
    size = std::max(size, sources.back().size());
  }
  std::string result(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    result[i] = static_cast<char>(result_byte(op, sources, i) & 0xFF);
  }
  return result;
}

// BITOP op target key [key ...]: returns how many bytes the result has. An empty one is not kept.
void bitop(Call& call) {
  const std::optional<BitOp> op = read_op(call);
  if (!op) return;
  const std::string result = combined_strings(call, *op);
  if (call.has_failed()) return;

  const std::string_view target = call.word(2);
  const Slot slot = call.find_to_write(target);
  if (!result.empty()) {
    replace_value(call, slot, target, result);
    report_set(call, target);
  } else if (slot != kNoSlot) {
    remove_key(call, slot, target);
  }
  call.reply().integer(static_cast<std::int64_t>(result.size()));
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
