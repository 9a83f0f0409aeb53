// SPDX-License-Identifier: Apache-2.0
// XINFO: what a stream, its groups and their consumers consist of.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "commands/command.h"
#include "commands/stream/stream_steps.h"

namespace mayfly {
namespace {

// The stream of word 2; null after an error reply.
Stream* find_shown_stream(Call& call) {
  const Slot slot = call.find_to_read(call.word(2), ValueType::stream);
  if (slot == kNoSlot && !call.has_failed()) call.fail("ERR no such key");
  return stream_at(call, slot);
}

void reply_number(Reply& reply, std::string_view name, std::int64_t value) {
  reply.bulk(name);
  reply.integer(value);
}

void reply_size(Reply& reply, std::string_view name, std::size_t size) {
  reply_number(reply, name, static_cast<std::int64_t>(size));
}

void reply_named_id(Reply& reply, std::string_view name, StreamId id) {
  reply.bulk(name);
  reply_stream_id(reply, id);
}

// What the group has read, and what it has not: null if that is not known.
void reply_progress(Reply& reply, const Stream& stream, const StreamGroup& group) {
  reply.bulk("entries-read");
  group.entries_read ? reply.integer(static_cast<std::int64_t>(*group.entries_read)) : reply.null();
  reply.bulk("lag");
  const auto lag = stream.lag(group);
  lag ? reply.integer(static_cast<std::int64_t>(*lag)) : reply.null();
}

std::int64_t millis_of(Time time) { return time.time_since_epoch().count(); }

// ---- XINFO STREAM ----

// The first or the last entry, or null.
void reply_edge(Reply& reply, std::string_view name, const Stream& stream, StreamId id) {
  reply.bulk(name);
  if (!reply_stream_entry(reply, stream, id)) reply.null();
}

// [[id, delivered, deliveries], ...]
void reply_consumer_pending(Reply& reply, StreamGroup& group, const StreamConsumer& consumer,
                            std::size_t most) {
  const std::size_t count = std::min(most, consumer.pending.size());
  reply.array(count);
  auto next = consumer.pending.begin();
  for (std::size_t i = 0; i < count; ++i, ++next) {
    const StreamPending& pending = *group.find_pending(*next);
    reply.array(3);
    reply_stream_id(reply, *next);
    reply.integer(millis_of(pending.delivered));
    reply.integer(static_cast<std::int64_t>(pending.deliveries));
  }
}

// [[id, consumer, delivered, deliveries], ...]
void reply_group_pending(Reply& reply, const StreamGroup& group, std::size_t most) {
  const std::size_t count = std::min(most, group.pending().size());
  reply.array(count);
  auto next = group.pending().begin();
  for (std::size_t i = 0; i < count; ++i, ++next) {
    reply.array(4);
    reply_stream_id(reply, next->first);
    reply.bulk(next->second.consumer->name);
    reply.integer(millis_of(next->second.delivered));
    reply.integer(static_cast<std::int64_t>(next->second.deliveries));
  }
}

void reply_full_group(Reply& reply, const Stream& stream, std::string_view name, StreamGroup& group,
                      std::size_t most) {
  reply.map(7);
  reply.bulk("name");
  reply.bulk(name);
  reply_named_id(reply, "last-delivered-id", group.last_id);
  reply_progress(reply, stream, group);
  reply_size(reply, "pel-count", group.pending().size());
  reply.bulk("pending");
  reply_group_pending(reply, group, most);
  reply.bulk("consumers");
  reply.array(group.consumers().size());
  for (const auto& [unused, consumer] : group.consumers()) {
    reply.map(5);
    reply.bulk("name");
    reply.bulk(consumer->name);
    reply_number(reply, "seen-time", millis_of(consumer->seen));
    reply_number(reply, "active-time", consumer->active ? millis_of(*consumer->active) : -1);
    reply_size(reply, "pel-count", consumer->pending.size());
    reply.bulk("pending");
    reply_consumer_pending(reply, group, *consumer, most);
  }
}

struct InfoOptions {
  bool is_full = false;
  std::size_t most = 10;
};

void fail_info_syntax(Call& call) {
  call.fail(
      fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try XINFO HELP.",
                  call.word(1).substr(0, 128)));
}

// [FULL [COUNT count]] from word 3 on; nothing after an error reply.
std::optional<InfoOptions> read_info_options(Call& call) {
  InfoOptions options;
  if (call.count() == 3) return options;
  options.is_full = call.is(3, "full");
  const bool has_count = call.count() == 6 && call.is(4, "count");
  if (!options.is_full || (call.count() != 4 && !has_count)) {
    fail_info_syntax(call);
    return std::nullopt;
  }
  if (!has_count) return options;
  const std::optional<std::int64_t> count = call.integer(5);
  if (!count) return std::nullopt;
  if (*count >= 0) options.most = *count == 0 ? SIZE_MAX : static_cast<std::size_t>(*count);
  return options;
}

// XINFO STREAM key [FULL [COUNT count]]
void xinfo_stream(Call& call) {
  Stream* const stream = find_shown_stream(call);
  if (stream == nullptr) return;
  const std::optional<InfoOptions> options = read_info_options(call);
  if (!options) return;
  Reply& reply = call.reply();
  reply.map(options->is_full ? 9 : 10);
  reply_size(reply, "length", stream->size());
  reply_size(reply, "radix-tree-keys", stream->blocks());
  reply_size(reply, "radix-tree-nodes", stream->blocks() + 1);
  reply_named_id(reply, "last-generated-id", stream->last_id());
  reply_named_id(reply, "max-deleted-entry-id", stream->max_deleted_id());
  reply_number(reply, "entries-added", static_cast<std::int64_t>(stream->entries_added()));
  reply_named_id(reply, "recorded-first-entry-id", stream->first_id());
  if (!options->is_full) {
    reply_size(reply, "groups", stream->groups().size());
    reply_edge(reply, "first-entry", *stream, stream->first_id());
    reply_edge(reply, "last-entry", *stream, stream->top_id());
    return;
  }
  reply.bulk("entries");
  reply_stream_entries(reply, *stream, {.most = options->most});
  reply.bulk("groups");
  reply.array(stream->groups().size());
  for (const auto& [name, group] : stream->groups()) {
    reply_full_group(reply, *stream, name, *group, options->most);
  }
}

// ---- XINFO GROUPS, CONSUMERS and HELP ----

// XINFO GROUPS key
void xinfo_groups(Call& call) {
  const Stream* const stream = find_shown_stream(call);
  if (stream == nullptr) return;
  Reply& reply = call.reply();
  reply.array(stream->groups().size());
  for (const auto& [name, group] : stream->groups()) {
    reply.map(6);
    reply.bulk("name");
    reply.bulk(name);
    reply_size(reply, "consumers", group->consumers().size());
    reply_size(reply, "pending", group->pending().size());
    reply_named_id(reply, "last-delivered-id", group->last_id);
    reply_progress(reply, *stream, *group);
  }
}

// XINFO CONSUMERS key group
void xinfo_consumers(Call& call) {
  Stream* const stream = find_shown_stream(call);
  if (stream == nullptr) return;
  const StreamGroup* const group = stream->group(call.word(3));
  if (group == nullptr) {
    return call.fail(fmt::format("NOGROUP No such consumer group '{}' for key name '{}'",
                                 call.word(3), call.word(2)));
  }
  Reply& reply = call.reply();
  reply.array(group->consumers().size());
  for (const auto& [name, consumer] : group->consumers()) {
    const std::int64_t idle = (call.now() - consumer->seen).count();
    reply.map(4);
    reply.bulk("name");
    reply.bulk(name);
    reply_size(reply, "pending", consumer->pending.size());
    reply_number(reply, "idle", std::max<std::int64_t>(idle, 0));
    reply_number(reply, "inactive",
                 consumer->active ? (call.now() - *consumer->active).count() : -1);
  }
}

void xinfo_help(Call& call) {
  constexpr std::array<std::string_view, 9> kLines = {
      "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CONSUMERS <key> <groupname>",
      "    Returns the consumers of the group.",
      "GROUPS <key>",
      "    Returns the groups of the stream.",
      "STREAM <key> [FULL [COUNT <count>]]",
      "    Returns what the stream consists of; with FULL also its first entries and its groups.",
      "HELP",
      "    Prints this help.",
  };
  call.reply().array(kLines.size());
  for (const std::string_view line : kLines) call.reply().simple(line);
}

}  // namespace

std::span<const Command> stream_info_commands() {
  static constexpr KeyRange kShown = {2, 2, 1, access::ro | access::access};
  // clang-format off
  static constexpr Command kSubcommands[] = {
      {"consumers", xinfo_consumers, 4, flag::readonly, kShown, "stream", "5.0.0",
       "key group", "Returns the consumers of a group.", {}, "xinfo"},
      {"groups", xinfo_groups, 3, flag::readonly, kShown, "stream", "5.0.0",
       "key", "Returns the groups of a stream.", {}, "xinfo"},
      {"help", xinfo_help, 2, flag::loading | flag::stale, {}, "stream", "5.0.0",
       "", "Lists the subcommands of XINFO.", {}, "xinfo"},
      {"stream", xinfo_stream, -3, flag::readonly, kShown, "stream", "5.0.0",
       "key [full-block:(FULL [COUNT count:int])]",
       "Returns what a stream consists of.", {}, "xinfo"},
  };
  static constexpr Command kRows[] = {
      {"xinfo", nullptr, -2, 0, {}, "stream", "5.0.0",
       "", "A container for commands that describe streams.", kSubcommands},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
