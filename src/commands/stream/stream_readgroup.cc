// SPDX-License-Identifier: Apache-2.0
// XREADGROUP: delivers entries of streams to a consumer of a group, or replies with those that it
// has got and not acknowledged.
//
// It is propagated as what it did: an XCLAIM for each entry that was delivered, XGROUP SETID if the
// group has advanced, and XGROUP CREATECONSUMER if the consumer is new and no XCLAIM names it.

#include <fmt/format.h>

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

// What is read of a key.
struct GroupRead {
  GroupUse use;
  std::optional<StreamId> after;  // of the consumer's own pending entries; nothing: new entries
};

void fail_meaningless_id(Call& call, std::string_view id) {
  call.fail(
      fmt::format("ERR The {0} ID is meaningless in the context of XREADGROUP: you want to read "
                  "the history of this consumer by specifying a proper ID, or use the > ID to get "
                  "new messages. The {0} ID would just return an empty result set.",
                  id));
}

// The key number `i`, and its id. Nothing after an error reply.
std::optional<GroupRead> read_group_read(Call& call, const StreamsRequest& request, std::size_t i) {
  const std::string_view key = request.keys[i];
  const Slot slot = call.find_to_read(key, ValueType::stream);
  if (call.has_failed()) return std::nullopt;
  Stream* const stream = stream_at(call, slot);
  StreamGroup* const group = stream == nullptr ? nullptr : stream->group(request.group);
  if (group == nullptr) {
    fail_no_group(call, key, request.group, " in XREADGROUP with GROUP option");
    return std::nullopt;
  }
  GroupRead read{{key, request.group, stream, group}, std::nullopt};
  const std::string_view id = call.word(request.ids_at + i);
  if (id == ">") return read;
  if (id == "$" || id == "+") {
    fail_meaningless_id(call, id);
    return std::nullopt;
  }
  read.after = read_stream_id(call, request.ids_at + i);
  if (!read.after) return std::nullopt;
  if (read.after == kStreamIdMax) read.after.reset();  // Valkey takes it for `>`
  return read;
}

// The group has got this entry. Returns whether it has advanced.
bool advance(const GroupUse& use, StreamId id) {
  StreamGroup& group = *use.group;
  const Stream& stream = *use.stream;
  if (id <= group.last_id) return false;
  const bool is_next = group.entries_read && group.last_id >= stream.first_id() &&
                       !stream.has_deleted_after(group.last_id);
  if (is_next) {
    ++*group.entries_read;
  } else if (stream.entries_added() > 0) {
    group.entries_read = stream.entries_up_to(id);
  }
  group.last_id = id;
  return true;
}

// Entries that the group has not got yet.
void reply_new(Call& call, const StreamsRequest& request, const GroupUse& use,
               StreamConsumer& consumer) {
  Reply& reply = call.reply();
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  bool has_advanced = false;
  const StreamId from = *use.group->last_id.next();
  use.stream->each(from, kStreamIdMax, true, [&](const StreamEntry& entry) {
    has_advanced |= advance(use, entry.id);
    reply_stream_entry(reply, entry);
    if (!request.acknowledges) {
      use.group->deliver(entry.id, consumer, call.now(), 1);
      consumer.active = call.now();
      propagate_claim(call, use, entry.id, {&consumer, call.now(), 1});
    }
    return ++count < request.most;
  });
  reply.array_at(place, count);
  if (has_advanced) propagate_group_id(call, use);
}

// Entries that the consumer has got and not acknowledged. One that is gone has no fields.
void reply_history(Call& call, std::size_t most, const GroupUse& use, StreamId after,
                   const StreamConsumer& consumer) {
  Reply& reply = call.reply();
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  auto next = consumer.pending.upper_bound(after);
  for (; next != consumer.pending.end() && count < most; ++next, ++count) {
    if (reply_stream_entry(reply, *use.stream, *next)) {
      StreamPending& pending = *use.group->find_pending(*next);
      pending.delivered = call.now();
      ++pending.deliveries;
      propagate_claim(call, use, *next, pending);
    } else {
      reply.array(2);
      reply_stream_id(reply, *next);
      reply.null_array();
    }
  }
  reply.array_at(place, count);
}

// Replies with the key and its entries. Returns false, without a reply, if there are no new ones.
bool serve_group_read(Call& call, const StreamsRequest& request, const GroupRead& read) {
  const GroupUse& use = read.use;
  const bool has_new =
      !read.after && use.stream->size() > 0 && use.stream->top_id() > use.group->last_id;
  const auto [consumer, is_new] = use_consumer(call, use, request.consumer);
  if (is_new && (!has_new || request.acknowledges)) {
    propagate_consumer(call, use, request.consumer);
  }
  if (!has_new && !read.after) return false;
  if (call.reply().protocol() == 2) call.reply().array(2);
  call.reply().bulk(use.key);
  if (has_new) {
    reply_new(call, request, use, consumer);
  } else {
    reply_history(call, request.most, use, *read.after, consumer);
  }
  call.count_changes(1);
  return true;
}

// XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK]
//   STREAMS key [key ...] id [id ...]
void xreadgroup(Call& call) {
  call.propagate_nothing();
  const std::optional<StreamsRequest> request = read_streams_request(call, true);
  if (!request) return;
  std::vector<GroupRead> reads;
  reads.reserve(request->keys.size());
  for (std::size_t i = 0; i < request->keys.size(); ++i) {
    std::optional<GroupRead> read = read_group_read(call, *request, i);
    if (!read) return;
    reads.push_back(*read);
  }

  Reply& reply = call.reply();
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  for (const GroupRead& read : reads) count += serve_group_read(call, *request, read) ? 1 : 0;
  if (count > 0) {
    return reply.protocol() == 2 ? reply.array_at(place, count) : reply.map_at(place, count);
  }
  if (request->until) {
    const KeyWait wait{.keys = {request->keys.begin(), request->keys.end()},
                       .type = ValueType::stream,
                       .until = *request->until,
                       .wakes_without_key = true};
    if (call.wait_for(wait)) return;
  }
  reply.null_array();
}

}  // namespace

std::span<const Command> stream_readgroup_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"xreadgroup", xreadgroup, -7,
       flag::write | flag::blocking | flag::movablekeys | flag::keeps_entries,
       keys_behind("STREAMS", 4, access::ro | access::access), "stream", "5.0.0",
       "GROUP group-block:(group consumer) [COUNT count:int] [BLOCK milliseconds:int] [NOACK] "
       "STREAMS streams:(key... id...)",
       "Returns new entries of streams for a consumer of a group, or those that it has got "
       "already. Waits until there is one if asked to."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
