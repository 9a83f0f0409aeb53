// SPDX-License-Identifier: Apache-2.0
// LCS: the longest common subsequence of two strings.
//
// The textbook's table: cell (i, j) has the length for the first i bytes of one string and the
// first j of the other. Walking back from its last cell gives the subsequence, last byte first, and
// where its runs stand in both strings.
//
//   time and memory   O(a * b); more than 512 MiB of table is refused

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/call.h"
#include "commands/command.h"

namespace mayfly {
namespace {

struct LcsOptions {
  bool length = false;           // LEN
  bool places = false;           // IDX
  bool match_length = false;     // WITHMATCHLEN
  std::int64_t least_match = 0;  // MINMATCHLEN
};

// Bytes that both strings have in a row: where they begin, and how many.
struct LcsMatch {
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  std::size_t size = 0;
};

class LcsTable {
 public:
  LcsTable(std::string_view a, std::string_view b)
      : a_(a), b_(b), cells_((a.size() + 1) * (b.size() + 1), 0) {
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j) {
        cell(i, j) = a[i - 1] == b[j - 1] ? cell(i - 1, j - 1) + 1
                                          : std::max(cell(i - 1, j), cell(i, j - 1));
      }
    }
  }

  std::size_t length() { return cell(a_.size(), b_.size()); }

  // Runs that match, the last one first.
  std::vector<LcsMatch> matches() {
    std::vector<LcsMatch> found;
    LcsMatch run;
    std::size_t i = a_.size();
    std::size_t j = b_.size();
    while (i > 0 && j > 0) {
      if (a_[i - 1] == b_[j - 1]) {
        run = {--i, --j, run.size + 1};
        continue;
      }
      if (run.size > 0) found.push_back(run);
      run.size = 0;
      if (cell(i - 1, j) > cell(i, j - 1)) {
        --i;
      } else {
        --j;
      }
    }
    if (run.size > 0) found.push_back(run);
    return found;
  }

 private:
  std::uint32_t& cell(std::size_t i, std::size_t j) { return cells_[i * (b_.size() + 1) + j]; }

  std::string_view a_;
  std::string_view b_;
  std::vector<std::uint32_t> cells_;
};

// A string to compare, empty if there is none. Fails if the key holds something else.
std::string_view operand(Call& call, std::string_view key) {
  const Slot slot = call.find_to_read(key);
  if (slot == kNoSlot) return {};
  if (call.is_string(slot)) return call.database().string(slot);
  if (!call.has_failed()) call.fail("ERR The specified keys must contain string values");
  return {};
}

std::optional<LcsOptions> read_lcs_options(Call& call) {
  LcsOptions options;
  for (std::size_t i = 3; i < call.count(); ++i) {
    if (call.is(i, "idx")) {
      options.places = true;
    } else if (call.is(i, "len")) {
      options.length = true;
    } else if (call.is(i, "withmatchlen")) {
      options.match_length = true;
    } else if (call.is(i, "minmatchlen") && i + 1 < call.count()) {
      const std::optional<std::int64_t> least = call.integer(++i);
      if (!least) return std::nullopt;
      options.least_match = *least;
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  if (!options.places || !options.length) return options;
  call.fail("ERR If you want both the length and indexes, please just use IDX.");
  return std::nullopt;
}

void reply_place(Reply& reply, std::size_t first, std::size_t size) {
  reply.array(2);
  reply.integer(static_cast<std::int64_t>(first));
  reply.integer(static_cast<std::int64_t>(first + size - 1));
}

void reply_places(Reply& reply, LcsTable& table, const LcsOptions& options) {
  std::vector<LcsMatch> matches = table.matches();
  std::erase_if(matches, [&](const LcsMatch& match) {
    return static_cast<std::int64_t>(match.size) < options.least_match;
  });
  reply.map(2);
  reply.bulk("matches");
  reply.array(matches.size());
  for (const LcsMatch& match : matches) {
    reply.array(options.match_length ? 3 : 2);
    reply_place(reply, match.in_a, match.size);
    reply_place(reply, match.in_b, match.size);
    if (options.match_length) reply.integer(static_cast<std::int64_t>(match.size));
  }
  reply.bulk("len");
  reply.integer(static_cast<std::int64_t>(table.length()));
}

void reply_bytes(Reply& reply, LcsTable& table, std::string_view a) {
  std::vector<LcsMatch> matches = table.matches();
  std::ranges::reverse(matches);
  std::string bytes;
  for (const LcsMatch& match : matches) bytes.append(a.substr(match.in_a, match.size));
  reply.bulk(bytes);
}

// LCS key key [LEN] [IDX] [MINMATCHLEN length] [WITHMATCHLEN]
void lcs(Call& call) {
  const std::string_view a = operand(call, call.word(1));
  const std::string_view b = operand(call, call.word(2));
  if (call.has_failed()) return;
  const std::optional<LcsOptions> options = read_lcs_options(call);
  if (!options) return;
  const std::size_t cells_max = call.string_bytes_max() / sizeof(std::uint32_t);
  if (a.size() + 1 > cells_max / (b.size() + 1)) {
    return call.fail(
        "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
  }

  LcsTable table(a, b);
  if (options->places) return reply_places(call.reply(), table, *options);
  if (!options->length) return reply_bytes(call.reply(), table, a);
  call.reply().integer(static_cast<std::int64_t>(table.length()));
}

}  // namespace

std::span<const Command> string_lcs_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"lcs", lcs, -3, flag::readonly, {1, 2, 1, access::ro | access::access}, "string", "7.0.0",
       "key1:key key2:key [LEN] [IDX] [MINMATCHLEN len:int] [WITHMATCHLEN]",
       "Returns the longest common subsequence of two strings."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
