// SPDX-License-Identifier: Apache-2.0
#include "commands/stream/stream_trim.h"

#include <algorithm>
#include <string>

#include "commands/stream/stream_steps.h"

namespace mayfly {
namespace {

// Without LIMIT, `~` removes at most as many entries as so many blocks have.
constexpr std::uint64_t kBlocksAtOnce = 100;
constexpr std::uint64_t kLimitMost = 1'000'000;
constexpr std::uint64_t kLimitOfUnlimitedBlocks = 10'000;

std::size_t usual_limit(const StreamLimits& limits) {
  if (limits.block_entries == 0) return kLimitOfUnlimitedBlocks;
  const std::uint64_t entries = std::min<std::uint64_t>(limits.block_entries, kLimitMost);
  return std::min(kBlocksAtOnce * entries, kLimitMost);
}

// MAXLEN or MINID at word `i`.
bool read_threshold(Call& call, std::size_t& i, TrimOptions& options) {
  if (options.threshold != 0) {
    call.fail("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
    return false;
  }
  const bool is_length = call.is(i, "maxlen");
  options.trim.is_exact = true;
  if (i + 2 < call.count() && (call.word(i + 1) == "~" || call.word(i + 1) == "=")) {
    options.trim.is_exact = call.word(++i) == "=";
  }
  options.threshold = ++i;
  if (!is_length) {
    options.trim.least = read_stream_id(call, i);
    return options.trim.least.has_value();
  }
  const std::optional<std::int64_t> length = call.integer(i);
  if (length && *length < 0) call.fail("ERR The MAXLEN argument must be >= 0.");
  if (!length || *length < 0) return false;
  options.trim.keep = static_cast<std::size_t>(*length);
  return true;
}

bool read_limit(Call& call, std::size_t& i, TrimOptions& options) {
  const std::optional<std::int64_t> limit = call.integer(++i);
  if (limit && *limit < 0) call.fail("ERR The LIMIT argument must be >= 0.");
  if (!limit || *limit < 0) return false;
  options.has_limit = true;
  options.limit = *limit;
  return true;
}

}  // namespace

bool read_trim_option(Call& call, std::size_t& i, TrimOptions& options) {
  if (i + 1 >= call.count()) return false;
  if (call.is(i, "maxlen") || call.is(i, "minid")) return read_threshold(call, i, options);
  return call.is(i, "limit") && read_limit(call, i, options);
}

bool check_trim(Call& call, TrimOptions& options) {
  StreamTrim& trim = options.trim;
  if (options.limit > 0 && options.threshold == 0) {
    call.fail("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
    return false;
  }
  // A primary or a log says what was removed there. LIMIT has had its effect.
  if (call.context().policy == Policy::show) return true;
  if (options.has_limit && (trim.is_exact || options.threshold == 0)) {
    call.fail("ERR syntax error, LIMIT cannot be used without the special ~ option");
    return false;
  }
  if (options.limit > 0) {
    trim.most = static_cast<std::size_t>(options.limit);
  } else if (!trim.is_exact && !options.has_limit) {
    trim.most = usual_limit(call.keyspace().options().stream_limits);
  }
  return true;
}

std::size_t trim_stream(Call& call, Stream& stream, std::string_view key,
                        const TrimOptions& options) {
  const StreamLimits& limits = call.keyspace().options().stream_limits;
  const std::size_t removed = stream.trim(options.trim, limits);
  if (removed > 0) call.notify(Event::stream, "xtrim", key);
  return removed;
}

void make_trim_exact(Propagated& words, const Stream& stream, const TrimOptions& options) {
  words[options.threshold - 1] = "=";
  words[options.threshold] = options.trim.keep
                                 ? std::to_string(stream.size())
                                 : (stream.size() > 0 ? stream.first_id() : kStreamIdMax).text();
}

}  // namespace mayfly
