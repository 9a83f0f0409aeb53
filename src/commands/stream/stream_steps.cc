// SPDX-License-Identifier: Apache-2.0
#include "commands/stream/stream_steps.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <string>

namespace mayfly {
namespace {

constexpr std::uint64_t kSeqMax = std::numeric_limits<std::uint64_t>::max();

struct RangeBound {
  StreamId id;
  bool is_included = true;
};

std::optional<RangeBound> read_bound(Call& call, std::size_t i, std::uint64_t missing_seq) {
  const std::string_view word = call.word(i);
  if (word == "-") return RangeBound{kStreamIdMin};
  if (word == "+") return RangeBound{kStreamIdMax};
  const bool is_included = word.size() < 2 || word.front() != '(';
  const auto id = parse_stream_id(is_included ? word : word.substr(1), missing_seq);
  if (id) return RangeBound{*id, is_included};
  fail_stream_id(call);
  return std::nullopt;
}

}  // namespace

// ---- Reading ids ----

void fail_stream_id(Call& call) {
  call.fail("ERR Invalid stream ID specified as stream command argument");
}

std::optional<StreamId> read_stream_id(Call& call, std::size_t i) {
  const std::optional<StreamId> id = parse_stream_id(call.word(i), 0);
  if (!id) fail_stream_id(call);
  return id;
}

std::optional<std::vector<StreamId>> read_stream_ids(Call& call, std::size_t first) {
  std::vector<StreamId> ids;
  ids.reserve(call.count() - first);
  for (std::size_t i = first; i < call.count(); ++i) {
    const std::optional<StreamId> id = read_stream_id(call, i);
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

std::optional<StreamId> read_range_start(Call& call, std::size_t i) {
  const std::optional<RangeBound> bound = read_bound(call, i, 0);
  if (!bound || bound->is_included) return bound ? std::optional(bound->id) : std::nullopt;
  const std::optional<StreamId> first = bound->id.next();
  if (!first) call.fail("ERR invalid start ID for the interval");
  return first;
}

std::optional<StreamId> read_range_end(Call& call, std::size_t i) {
  const std::optional<RangeBound> bound = read_bound(call, i, kSeqMax);
  if (!bound || bound->is_included) return bound ? std::optional(bound->id) : std::nullopt;
  const std::optional<StreamId> last = bound->id.previous();
  if (!last) call.fail("ERR invalid end ID for the interval");
  return last;
}

// ---- Replying ----

void reply_stream_id(Reply& reply, StreamId id) {
  std::array<char, 48> text;  // two numbers of 20 digits at most, and a hyphen
  char* const limit = text.data() + text.size();
  char* end = std::to_chars(text.data(), limit, id.ms).ptr;
  *end++ = '-';
  end = std::to_chars(end, limit, id.seq).ptr;
  reply.bulk({text.data(), static_cast<std::size_t>(end - text.data())});
}

void reply_stream_entry(Reply& reply, const StreamEntry& entry) {
  reply.array(2);
  reply_stream_id(reply, entry.id);
  reply.array(entry.words.size());
  for (const std::string_view word : entry.words) reply.bulk(word);
}

bool reply_stream_entry(Reply& reply, const Stream& stream, StreamId id) {
  bool is_found = false;
  stream.each(id, id, true, [&](const StreamEntry& entry) {
    reply_stream_entry(reply, entry);
    is_found = true;
    return false;
  });
  return is_found;
}

void reply_stream_entries(Reply& reply, const Stream& stream, const EntryRange& range) {
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  stream.each(range.from, range.to, range.is_forward, [&](const StreamEntry& entry) {
    reply_stream_entry(reply, entry);
    return ++count < range.most;
  });
  reply.array_at(place, count);
}

// ---- Groups ----

Stream* stream_at(Call& call, Slot slot) {
  return slot == kNoSlot ? nullptr : &call.database().stream(slot);
}

void fail_no_group(Call& call, std::string_view key, std::string_view group,
                   std::string_view where) {
  call.fail(fmt::format("NOGROUP No such key '{}' or consumer group '{}'{}", key, group, where));
}

ConsumerUse use_consumer(Call& call, const GroupUse& use, std::string_view name) {
  StreamConsumer* const found = use.group->consumer(name);
  if (found != nullptr) {
    found->seen = call.now();
    return {*found, false};
  }
  StreamConsumer* const made = use.group->make_consumer(name, call.now());
  call.count_changes(1);
  call.notify(Event::stream, "xgroup-createconsumer", use.key);
  return {*made, true};
}

// ---- Propagating ----

void propagate_claim(Call& call, const GroupUse& use, StreamId id, const StreamPending& pending) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  call.propagate_as("XCLAIM", use.key, use.name, pending.consumer->name, "0", id.text(), "TIME",
                    std::to_string(pending.delivered.time_since_epoch().count()), "RETRYCOUNT",
                    std::to_string(pending.deliveries), "FORCE", "JUSTID", "LASTID",
                    use.group->last_id.text());
}

void propagate_group_id(Call& call, const GroupUse& use) {
  if (!call.wants_propagation()) return call.propagate_nothing();
  const std::optional<std::uint64_t>& read = use.group->entries_read;
  call.propagate_as("XGROUP", "SETID", use.key, use.name, use.group->last_id.text(), "ENTRIESREAD",
                    read ? std::to_string(*read) : "-1");
}

void propagate_consumer(Call& call, const GroupUse& use, std::string_view consumer) {
  call.propagate_as("XGROUP", "CREATECONSUMER", use.key, use.name, consumer);
}

}  // namespace mayfly
