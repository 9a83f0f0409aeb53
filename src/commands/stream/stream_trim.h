// SPDX-License-Identifier: Apache-2.0
// The options that XADD and XTRIM share: [MAXLEN | MINID] [= | ~] threshold [LIMIT count].

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "commands/call.h"
#include "keyspace/stream/stream.h"

namespace mayfly {

struct TrimOptions {
  StreamTrim trim;
  std::size_t threshold = 0;  // the word that it is; 0: nothing is trimmed
  bool has_limit = false;
  std::int64_t limit = 0;
};

// Reads the option at word `i`, and moves `i` to its last word. False if it is no such option, or
// after an error reply.
bool read_trim_option(Call& call, std::size_t& i, TrimOptions& options);

// Checks what all options together say, and completes it: a trim by `~` without LIMIT has a limit
// nevertheless. False after an error reply.
bool check_trim(Call& call, TrimOptions& options);

// Trims, with an event if that removes something; returns how many entries it removed.
std::size_t trim_stream(Call& call, Stream& stream, std::string_view key,
                        const TrimOptions& options);

// The result of a trim by `~` depends on the blocks of a stream. Replaces the words so that they
// ask for just this result.
void make_trim_exact(Propagated& words, const Stream& stream, const TrimOptions& options);

}  // namespace mayfly
