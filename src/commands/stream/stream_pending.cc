// SPDX-License-Identifier: Apache-2.0
// XACK and XPENDING: entries that were delivered to a consumer of a group and are not acknowledged.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "commands/stream/stream_steps.h"

namespace mayfly {
namespace {

// XACK key group id [id ...]
void xack(Call& call) {
  const Slot slot = call.find_to_read(call.word(1), ValueType::stream);
  if (call.has_failed()) return;
  Stream* const stream = stream_at(call, slot);
  StreamGroup* const group = stream == nullptr ? nullptr : stream->group(call.word(2));
  if (group == nullptr) return call.reply().integer(0);
  const std::optional<std::vector<StreamId>> ids = read_stream_ids(call, 3);
  if (!ids) return;
  std::int64_t count = 0;
  for (const StreamId id : *ids) count += group->acknowledge(id) ? 1 : 0;
  call.count_changes(count);
  call.reply().integer(count);
}

// ---- XPENDING ----

struct PendingRequest {
  std::int64_t least_idle = 0;  // IDLE, in milliseconds
  StreamId from;
  StreamId to;
  std::int64_t most = 0;
  std::optional<std::string_view> consumer;
};

// [IDLE min-idle-time] start end count [consumer] from word 3 on; nothing after an error reply.
std::optional<PendingRequest> read_pending(Call& call) {
  PendingRequest request;
  std::size_t i = 3;
  if (call.is(3, "idle")) {
    const std::optional<std::int64_t> idle = call.integer(4);
    if (idle && call.count() < 8) call.fail_syntax();
    if (call.has_failed()) return std::nullopt;
    request.least_idle = *idle;
    i = 5;
  }
  const std::optional<std::int64_t> most = call.integer(i + 2);
  if (!most) return std::nullopt;
  request.most = *most;
  const std::optional<StreamId> from = read_range_start(call, i);
  if (!from) return std::nullopt;
  const std::optional<StreamId> to = read_range_end(call, i + 1);
  if (!to) return std::nullopt;
  request.from = *from;
  request.to = *to;
  if (i + 3 < call.count()) request.consumer = call.word(i + 3);
  return request;
}

// [count, first id, last id, [[consumer, count], ...]]
void reply_pending_summary(Reply& reply, const StreamGroup& group) {
  reply.array(4);
  reply.integer(static_cast<std::int64_t>(group.pending().size()));
  if (group.pending().empty()) {
    reply.null();
    reply.null();
    return reply.null_array();
  }
  reply_stream_id(reply, group.pending().begin()->first);
  reply_stream_id(reply, group.pending().rbegin()->first);
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  for (const auto& [name, consumer] : group.consumers()) {
    if (consumer->pending.empty()) continue;
    ++count;
    reply.array(2);
    reply.bulk(name);
    reply.bulk_integer(static_cast<std::int64_t>(consumer->pending.size()));
  }
  reply.array_at(place, count);
}

// Replies with pending entries one by one.
class PendingList {
 public:
  PendingList(Call& call, const PendingRequest& request)
      : reply_(call.reply()), now_(call.now()), request_(request), place_(reply_.defer()) {}

  // Whether there is more to come.
  bool is_open(StreamId id) const { return count_ < request_.most && id <= request_.to; }

  void add(StreamId id, const StreamPending& pending) {
    const std::int64_t idle = (now_ - pending.delivered).count();
    if (request_.least_idle != 0 && idle < request_.least_idle) return;
    ++count_;
    reply_.array(4);
    reply_stream_id(reply_, id);
    reply_.bulk(pending.consumer->name);
    reply_.integer(std::max<std::int64_t>(idle, 0));
    reply_.integer(static_cast<std::int64_t>(pending.deliveries));
  }

  void end() { reply_.array_at(place_, static_cast<std::size_t>(count_)); }

 private:
  Reply& reply_;
  Time now_;
  const PendingRequest& request_;
  std::size_t place_;
  std::int64_t count_ = 0;
};

void reply_pending_entries(Call& call, const PendingRequest& request, StreamGroup& group) {
  PendingList list(call, request);
  if (request.consumer) {
    if (const StreamConsumer* const consumer = group.consumer(*request.consumer)) {
      auto next = consumer->pending.lower_bound(request.from);
      for (; next != consumer->pending.end() && list.is_open(*next); ++next) {
        list.add(*next, *group.find_pending(*next));
      }
    }
  } else {
    auto next = group.pending().lower_bound(request.from);
    for (; next != group.pending().end() && list.is_open(next->first); ++next) {
      list.add(next->first, next->second);
    }
  }
  list.end();
}

// XPENDING key group [[IDLE min-idle-time] start end count [consumer]]
void xpending(Call& call) {
  if (call.count() != 3 && (call.count() < 6 || call.count() > 9)) return call.fail_syntax();
  std::optional<PendingRequest> request;
  if (call.count() > 3) {
    request = read_pending(call);
    if (!request) return;
  }
  const Slot slot = call.find_to_read(call.word(1), ValueType::stream);
  if (call.has_failed()) return;
  Stream* const stream = stream_at(call, slot);
  StreamGroup* const group = stream == nullptr ? nullptr : stream->group(call.word(2));
  if (group == nullptr) return fail_no_group(call, call.word(1), call.word(2));
  if (!request) return reply_pending_summary(call.reply(), *group);
  reply_pending_entries(call, *request, *group);
}

}  // namespace

std::span<const Command> stream_pending_commands() {
  // clang-format off
  static constexpr Command kRows[] = {
      {"xack", xack, -4, flag::write | flag::fast | flag::keeps_entries,
       one_key(access::rw | access::update), "stream", "5.0.0", "key group id...",
       "Acknowledges entries that were delivered to a group."},
      {"xpending", xpending, -3, flag::readonly, one_key(access::ro | access::access), "stream",
       "5.0.0", "key group [filters:([IDLE min-idle-time:int] start end count:int [consumer])]",
       "Returns the entries that were delivered to a group and are not acknowledged."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
