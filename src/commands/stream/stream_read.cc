// SPDX-License-Identifier: Apache-2.0
// XLEN, XRANGE and XREVRANGE, and XREAD, which waits for entries.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/stream/stream_request.h"
#include "commands/stream/stream_steps.h"

namespace mayfly {
namespace {

// XLEN key
void xlen(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::stream);
  if (call.has_failed()) return;
  const Stream* const stream = stream_at(call, slot);
  call.reply().integer(stream == nullptr ? 0 : static_cast<std::int64_t>(stream->size()));
}

// ---- Ranges ----

// [COUNT count] from word 4 on; nothing after an error reply. A count below 0 is 0.
std::optional<std::size_t> read_entry_count(Call& call) {
  std::size_t most = SIZE_MAX;
  for (std::size_t i = 4; i < call.count(); i += 2) {
    if (!call.is(i, "count") || i + 1 >= call.count()) {
      call.fail_syntax();
      return std::nullopt;
    }
    const std::optional<std::int64_t> count = call.integer(i + 1);
    if (!count) return std::nullopt;
    most = *count < 0 ? 0 : static_cast<std::size_t>(*count);
  }
  return most;
}

void range_command(Call& call, bool is_forward) {
  EntryRange range{.is_forward = is_forward};
  const std::optional<StreamId> from = read_range_start(call, is_forward ? 2 : 3);
  if (!from) return;
  const std::optional<StreamId> to = read_range_end(call, is_forward ? 3 : 2);
  if (!to) return;
  const std::optional<std::size_t> most = read_entry_count(call);
  if (!most) return;
  range.from = *from;
  range.to = *to;
  range.most = *most;

  const Slot slot = call.find_to_read(call.word(1), ValueType::stream);
  if (call.has_failed()) return;
  if (slot == kNoSlot) return call.reply().array(0);
  if (range.most == 0) return call.reply().null_array();
  reply_stream_entries(call.reply(), call.database().stream(slot), range);
}

// XRANGE key start end [COUNT count]
void xrange(Call& call) { range_command(call, true); }

// XREVRANGE key end start [COUNT count]
void xrevrange(Call& call) { range_command(call, false); }

// ---- XREAD ----

// What is read of a key: the entries behind an id.
struct StreamRead {
  const Stream* stream;
  StreamId after;
};

// The id of the key number `i`. `$` is the last one, and `+` the one before that, so that the last
// entry is read. Nothing after an error reply.
std::optional<StreamId> read_after(Call& call, std::size_t word, const Stream* stream) {
  const std::string_view text = call.word(word);
  if (text == "$") return stream == nullptr ? kStreamIdMin : stream->last_id();
  if (text == "+") {
    const bool has_entries = stream != nullptr && stream->size() > 0;
    return has_entries ? stream->last_id().previous() : kStreamIdMin;
  }
  if (text == ">") {
    call.fail(
        "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> "
        "<consumer> option.");
    return std::nullopt;
  }
  return read_stream_id(call, word);
}

// Lets the client wait. When its request runs again, `$` must still mean what it means now.
bool wait_for_entries(Call& call, const StreamsRequest& request,
                      std::span<const StreamRead> reads) {
  KeyWait wait{.keys = {request.keys.begin(), request.keys.end()},
               .type = ValueType::stream,
               .until = *request.until,
               .words = {call.words().begin(), call.words().end()}};
  for (std::size_t i = 0; i < reads.size(); ++i) {
    std::string& word = wait.words[request.ids_at + i];
    if (word == "$") word = reads[i].after.text();
  }
  return call.wait_for(wait);
}

// XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]
void xread(Call& call) {
  const std::optional<StreamsRequest> request = read_streams_request(call, false);
  if (!request) return;
  std::vector<StreamRead> reads;
  reads.reserve(request->keys.size());
  for (std::size_t i = 0; i < request->keys.size(); ++i) {
    const Slot slot = call.find_to_read(request->keys[i], ValueType::stream);
    if (call.has_failed()) return;
    const Stream* const stream = stream_at(call, slot);
    const std::optional<StreamId> after = read_after(call, request->ids_at + i, stream);
    if (!after) return;
    reads.push_back({stream, *after});
  }

  Reply& reply = call.reply();
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto& [stream, after] = reads[i];
    if (stream == nullptr || stream->size() == 0 || stream->top_id() <= after) continue;
    ++count;
    if (reply.protocol() == 2) reply.array(2);
    reply.bulk(request->keys[i]);
    reply_stream_entries(reply, *stream, {.from = *after.next(), .most = request->most});
  }
  if (count > 0) {
    reply.protocol() == 2 ? reply.array_at(place, count) : reply.map_at(place, count);
  } else if (!request->until || !wait_for_entries(call, *request, reads)) {
    reply.null_array();
  }
}

}  // namespace

std::span<const Command> stream_read_commands() {
  static constexpr KeyRange kGet = one_key(access::ro | access::access);
  // clang-format off
  static constexpr Command kRows[] = {
      {"xlen", xlen, 2, flag::readonly | flag::fast, one_key(access::ro), "stream", "5.0.0",
       "key", "Returns the number of entries of a stream."},
      {"xrange", xrange, -4, flag::readonly, kGet, "stream", "5.0.0",
       "key start end [COUNT count:int]", "Returns the entries of a stream within a range of ids."},
      {"xrevrange", xrevrange, -4, flag::readonly, kGet, "stream", "5.0.0",
       "key end start [COUNT count:int]",
       "Returns the entries of a stream within a range of ids, from the last to the first."},
      {"xread", xread, -4, flag::readonly | flag::blocking | flag::movablekeys,
       keys_behind("STREAMS", 1, access::ro | access::access), "stream", "5.0.0",
       "[COUNT count:int] [BLOCK milliseconds:int] STREAMS streams:(key... id...)",
       "Returns the entries of streams behind given ids. Waits until there is one if asked to."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
