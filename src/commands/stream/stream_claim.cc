// SPDX-License-Identifier: Apache-2.0
// XCLAIM and XAUTOCLAIM: pending entries of a group change hands.
//
// Each entry that is claimed, and each that is no longer pending since the stream has lost it, is
// propagated as an XCLAIM with its owner, time and count. XGROUP CREATECONSUMER goes with it if the
// consumer is new and got nothing.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/stream/stream_steps.h"

namespace mayfly {
namespace {

constexpr std::int64_t kClaimMost = std::numeric_limits<std::int64_t>::max();

// What both commands ask for.
struct ClaimRequest {
  std::int64_t least_idle = 0;                   // in milliseconds
  std::optional<Time> delivered = {};            // IDLE or TIME
  std::optional<std::uint64_t> deliveries = {};  // RETRYCOUNT
  bool forces = false;                           // FORCE
  bool replies_ids = false;                      // JUSTID
  StreamId last_id = {};                         // LASTID
};

// Claims entries one by one for a consumer, and replies with them.
class Claimer {
 public:
  Claimer(Call& call, Reply& reply, const GroupUse& use, const ClaimRequest& request)
      : call_(call),
        reply_(reply),
        use_(use),
        request_(request),
        consumer_(use_consumer(call, use, call.word(3))),
        place_(reply.defer()) {}

  // Whether the stream has the entry. If not, it is no longer pending.
  bool keep_or_forget(StreamId id) {
    if (use_.stream->contains(id)) return true;
    if (const StreamPending* const pending = use_.group->find_pending(id)) {
      propagate_claim(call_, use_, id, *pending);
      has_told_last_id_ = true;
      use_.group->acknowledge(id);
      call_.count_changes(1);
    }
    return false;
  }

  // Returns whether it was claimed. REQUIRES: the stream has the entry.
  bool claim(StreamId id) {
    const StreamPending* const pending = use_.group->find_pending(id);
    if (pending == nullptr && !request_.forces) return false;
    if (pending != nullptr && request_.least_idle > 0 &&
        (call_.now() - pending->delivered).count() < request_.least_idle) {
      return false;
    }
    std::uint64_t deliveries = pending == nullptr ? 1 : pending->deliveries;
    if (!request_.replies_ids) ++deliveries;
    use_.group->deliver(id, consumer_.consumer, request_.delivered.value_or(call_.now()),
                        request_.deliveries.value_or(deliveries));
    consumer_.consumer.active = call_.now();
    ++count_;
    if (request_.replies_ids) {
      reply_stream_id(reply_, id);
    } else {
      reply_stream_entry(reply_, *use_.stream, id);
    }
    propagate_claim(call_, use_, id, *use_.group->find_pending(id));
    has_named_ = true;
    has_told_last_id_ = true;
    call_.count_changes(1);
    return true;
  }

  // Ends the reply, and propagates what no XCLAIM has told.
  void end(bool has_advanced) {
    reply_.array_at(place_, count_);
    if (consumer_.is_new && !has_named_) {
      propagate_consumer(call_, use_, consumer_.consumer.name);
    }
    if (!has_advanced || has_told_last_id_) return;
    propagate_group_id(call_, use_);
    call_.count_changes(1);
  }

 private:
  Call& call_;
  Reply& reply_;
  const GroupUse& use_;
  const ClaimRequest& request_;
  const ConsumerUse consumer_;
  const std::size_t place_;
  std::size_t count_ = 0;
  bool has_named_ = false;         // an XCLAIM has named the consumer
  bool has_told_last_id_ = false;  // an XCLAIM has told the last id of the group
};

// The group that words 1 and 2 name. Without one there is an error reply.
GroupUse find_claimed_group(Call& call, Slot slot) {
  GroupUse use{call.word(1), call.word(2)};
  if (slot != kNoSlot && call.database().type(slot) != ValueType::stream) {
    call.fail_wrong_type();
    return use;
  }
  use.stream = stream_at(call, slot);
  if (use.stream != nullptr) use.group = use.stream->group(use.name);
  if (use.group == nullptr) fail_no_group(call, use.key, use.name);
  return use;
}

// ---- XCLAIM ----

// The number behind an option of XCLAIM; nothing after an error reply.
std::optional<std::int64_t> read_claim_number(Call& call, std::size_t i, std::string_view option) {
  return call.integer(i, std::numeric_limits<std::int64_t>::min(), kClaimMost,
                      fmt::format("ERR Invalid {} option argument for XCLAIM", option));
}

// A moment behind now, or before 1970, becomes now. One that a primary or a log tells was checked.
Time checked_delivery(const Call& call, std::int64_t ms) {
  const Time time{Millis(ms)};
  const bool is_told = call.context().policy == Policy::show;
  return ms < 0 || (time > call.now() && !is_told) ? call.now() : time;
}

// The option at word `i`, which becomes its last word. False after an error reply.
bool read_claim_option(Call& call, std::size_t& i, ClaimRequest& request) {
  const bool has_value = i + 1 < call.count();
  if (call.is(i, "force")) {
    request.forces = true;
  } else if (call.is(i, "justid")) {
    request.replies_ids = true;
  } else if (call.is(i, "idle") && has_value) {
    const std::optional<std::int64_t> idle = read_claim_number(call, ++i, "IDLE");
    const std::int64_t now = call.now().time_since_epoch().count();
    // A moment that does not fit, or is to come, becomes now.
    if (idle) request.delivered = checked_delivery(call, *idle < 0 ? now : now - *idle);
  } else if (call.is(i, "time") && has_value) {
    const std::optional<std::int64_t> time = read_claim_number(call, ++i, "TIME");
    if (time) request.delivered = checked_delivery(call, *time);
  } else if (call.is(i, "retrycount") && has_value) {
    const std::optional<std::int64_t> count = read_claim_number(call, ++i, "RETRYCOUNT");
    request.deliveries.reset();
    if (count && *count >= 0) request.deliveries = static_cast<std::uint64_t>(*count);
  } else if (call.is(i, "lastid") && has_value) {
    if (const std::optional<StreamId> id = read_stream_id(call, ++i)) request.last_id = *id;
  } else {
    call.fail(fmt::format("ERR Unrecognized XCLAIM option '{}'", call.word(i)));
  }
  return !call.has_failed();
}

// XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds]
//   [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID id]
void xclaim(Call& call) {
  const GroupUse use = find_claimed_group(call, call.find_to_read(call.word(1)));
  if (use.group == nullptr) return;
  const auto idle = call.integer(4, std::numeric_limits<std::int64_t>::min(), kClaimMost,
                                 "ERR Invalid min-idle-time argument for XCLAIM");
  if (!idle) return;
  ClaimRequest request{.least_idle = *idle};
  std::vector<StreamId> ids;
  std::size_t i = 5;
  for (; i < call.count(); ++i) {
    const std::optional<StreamId> id = parse_stream_id(call.word(i), 0);
    if (!id) break;
    ids.push_back(*id);
  }
  for (; i < call.count(); ++i) {
    if (!read_claim_option(call, i, request)) return;
  }

  call.propagate_nothing();
  const bool has_advanced = request.last_id > use.group->last_id;
  if (has_advanced) use.group->last_id = request.last_id;
  Claimer claimer(call, call.reply(), use, request);
  for (const StreamId id : ids) {
    if (claimer.keep_or_forget(id)) claimer.claim(id);
  }
  claimer.end(has_advanced);
}

// ---- XAUTOCLAIM ----

struct AutoClaimRequest {
  ClaimRequest claim;
  StreamId from;
  std::int64_t most = 100;  // COUNT
};

// Nothing after an error reply.
std::optional<AutoClaimRequest> read_autoclaim(Call& call) {
  constexpr std::int64_t kCountMost = kClaimMost / 16;
  AutoClaimRequest request;
  const auto idle = call.integer(4, std::numeric_limits<std::int64_t>::min(), kClaimMost,
                                 "ERR Invalid min-idle-time argument for XAUTOCLAIM");
  if (!idle) return std::nullopt;
  request.claim.least_idle = *idle;
  const std::optional<StreamId> from = read_range_start(call, 5);
  if (!from) return std::nullopt;
  request.from = *from;
  for (std::size_t i = 6; i < call.count(); ++i) {
    if (call.is(i, "count") && i + 1 < call.count()) {
      const auto count = call.integer(++i, 1, kCountMost, "ERR COUNT must be > 0");
      if (!count) return std::nullopt;
      request.most = *count;
    } else if (call.is(i, "justid")) {
      request.claim.replies_ids = true;
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return request;
}

// XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID]
//
// It looks at ten times as many entries as it may claim. The reply begins with the id where the
// next call is to go on, and ends with the entries that the stream has lost.
void xautoclaim(Call& call) {
  constexpr std::int64_t kLooksPerClaim = 10;
  const Slot slot = call.find_to_read(call.word(1));
  const std::optional<AutoClaimRequest> request = read_autoclaim(call);
  if (!request) return;
  const GroupUse use = find_claimed_group(call, slot);
  if (use.group == nullptr) return;

  call.propagate_nothing();
  std::string claimed;
  Reply reply(claimed, call.reply().protocol());
  Claimer claimer(call, reply, use, request->claim);
  std::vector<StreamId> lost;
  const StreamGroup::Pending& pending = use.group->pending();
  auto next = pending.lower_bound(request->from);
  std::int64_t left = request->most;
  for (std::int64_t looks = kLooksPerClaim * left; looks > 0 && left > 0; --looks) {
    if (next == pending.end()) break;
    const StreamId id = (next++)->first;
    if (!claimer.keep_or_forget(id)) {
      lost.push_back(id);
      --left;
    } else if (claimer.claim(id)) {
      --left;
    }
  }
  const StreamId cursor = next == pending.end() ? kStreamIdMin : next->first;
  claimer.end(false);

  call.reply().array(3);
  reply_stream_id(call.reply(), cursor);
  call.reply().raw(claimed);
  call.reply().array(lost.size());
  for (const StreamId id : lost) reply_stream_id(call.reply(), id);
}

}  // namespace

std::span<const Command> stream_claim_commands() {
  static constexpr std::uint32_t kFast = flag::write | flag::fast | flag::keeps_entries;
  // clang-format off
  static constexpr Command kRows[] = {
      {"xclaim", xclaim, -6, kFast, one_key(access::rw | access::update), "stream", "5.0.0",
       "key group consumer min-idle-time id... [IDLE ms:int] [TIME unix-time-milliseconds:time] "
       "[RETRYCOUNT count:int] [FORCE] [JUSTID] [LASTID lastid]",
       "Gives pending entries of a group to another consumer."},
      {"xautoclaim", xautoclaim, -6, kFast, one_key(access::rw | access::remove), "stream",
       "6.2.0", "key group consumer min-idle-time start [COUNT count:int] [JUSTID]",
       "Gives all entries of a group that have been pending for some time to another consumer."},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
