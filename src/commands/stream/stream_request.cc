// SPDX-License-Identifier: Apache-2.0
#include "commands/stream/stream_request.h"

#include <fmt/format.h>

#include <limits>

namespace mayfly {
namespace {

// The milliseconds in word `i` as the end of a wait: 0 means for ever.
std::optional<Time> read_wait_end(Call& call, std::size_t i) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const auto ms = call.integer(i, kLeast, kMost, "ERR timeout is not an integer or out of range");
  if (!ms) return std::nullopt;
  if (*ms == 0) return kNever;
  if (*ms > 0 && *ms <= kMost - call.now().time_since_epoch().count()) {
    return call.now() + Millis(*ms);
  }
  call.fail(*ms < 0 ? "ERR timeout is negative" : "ERR timeout is out of range");
  return std::nullopt;
}

void fail_without_group(Call& call, std::string_view option) {
  call.fail(fmt::format(
      "ERR The {} option is only supported by XREADGROUP. You called XREAD instead.", option));
}

// The option at word `i`, which becomes its last word. False after an error reply.
bool read_streams_option(Call& call, std::size_t& i, bool is_group, StreamsRequest& request) {
  const std::size_t left = call.count() - i - 1;
  if (call.is(i, "block") && left >= 1) {
    request.until = read_wait_end(call, ++i);
  } else if (call.is(i, "count") && left >= 1) {
    if (const std::optional<std::int64_t> count = call.integer(++i)) {
      request.most = *count > 0 ? static_cast<std::size_t>(*count) : SIZE_MAX;
    }
  } else if (call.is(i, "group") && left >= 2) {
    if (!is_group) fail_without_group(call, "GROUP");
    request.group = call.word(i + 1);
    request.consumer = call.word(i + 2);
    i += 2;
  } else if (call.is(i, "noack")) {
    if (!is_group) fail_without_group(call, "NOACK");
    request.acknowledges = true;
  } else {
    call.fail_syntax();
  }
  return !call.has_failed();
}

}  // namespace

std::optional<StreamsRequest> read_streams_request(Call& call, bool is_group) {
  StreamsRequest request;
  std::size_t i = 1;
  for (; i + 1 < call.count() && !call.is(i, "streams"); ++i) {
    if (!read_streams_option(call, i, is_group, request)) return std::nullopt;
  }
  if (i + 1 >= call.count()) {
    // The last word may be an option, but there are no streams.
    if (i >= call.count() || read_streams_option(call, i, is_group, request)) call.fail_syntax();
    return std::nullopt;
  }
  const std::size_t words = call.count() - i - 1;
  if (words % 2 != 0) {
    call.fail(
        fmt::format("ERR Unbalanced '{}' list of streams: for each stream key an ID or '{}' "
                    "must be specified.",
                    call.full_name(), is_group ? '>' : '$'));
    return std::nullopt;
  }
  if (is_group && request.group.data() == nullptr) {
    call.fail("ERR Missing GROUP option for XREADGROUP");
    return std::nullopt;
  }
  request.keys = call.words().subspan(i + 1, words / 2);
  request.ids_at = i + 1 + words / 2;
  return request;
}

}  // namespace mayfly
