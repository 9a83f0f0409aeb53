// SPDX-License-Identifier: Apache-2.0
// XGROUP: creates, changes and removes the groups of a stream and their consumers.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "commands/command.h"
#include "commands/stream/stream_steps.h"
#include "commands/words.h"

namespace mayfly {
namespace {

// The options of CREATE and SETID.
struct GroupOptions {
  bool makes_stream = false;
  std::optional<std::uint64_t> entries_read;
};

void fail_group_syntax(Call& call) {
  call.fail(
      fmt::format("ERR unknown subcommand or wrong number of arguments for '{}'. Try XGROUP HELP.",
                  call.word(1).substr(0, 128)));
}

// [MKSTREAM] [ENTRIESREAD entries-read] from word 5 on; nothing after an error reply.
std::optional<GroupOptions> read_group_options(Call& call, bool is_create) {
  GroupOptions options;
  for (std::size_t i = 5; i < call.count(); ++i) {
    if (is_create && call.is(i, "mkstream")) {
      options.makes_stream = true;
    } else if (call.is(i, "entriesread") && i + 1 < call.count()) {
      const std::optional<std::int64_t> count = call.integer(++i);
      if (count && *count < -1) {
        call.fail("ERR value for ENTRIESREAD must be positive or -1");
      }
      if (!count || *count < -1) return std::nullopt;
      options.entries_read.reset();
      if (*count >= 0) options.entries_read = static_cast<std::uint64_t>(*count);
    } else {
      fail_group_syntax(call);
      return std::nullopt;
    }
  }
  return options;
}

// The stream of word 2; null if there is none, or after an error reply.
Stream* find_group_stream(Call& call) {
  return stream_at(call, call.find_to_write(call.word(2), ValueType::stream));
}

// The same for a stream that must exist.
Stream* find_existing_stream(Call& call) {
  Stream* const stream = find_group_stream(call);
  if (stream != nullptr || call.has_failed()) return stream;
  call.fail(
      "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to "
      "use the MKSTREAM option to create an empty stream automatically.");
  return nullptr;
}

// The group that words 2 and 3 name; without a group after an error reply.
GroupUse find_existing_group(Call& call) {
  Stream* const stream = find_existing_stream(call);
  StreamGroup* const group = stream == nullptr ? nullptr : stream->group(call.word(3));
  if (stream != nullptr && group == nullptr) {
    call.fail(fmt::format("NOGROUP No such consumer group '{}' for key name '{}'", call.word(3),
                          call.word(2)));
  }
  return {call.word(2), call.word(3), stream, group};
}

void report_group_change(Call& call, std::string_view event) {
  call.count_changes(1);
  call.notify(Event::stream, event, call.word(2));
}

// XGROUP CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]
void xgroup_create(Call& call) {
  const std::string_view key = call.word(2);
  const std::optional<GroupOptions> options = read_group_options(call, true);
  if (!options) return;
  Stream* stream = options->makes_stream ? find_group_stream(call) : find_existing_stream(call);
  if (call.has_failed()) return;
  if (call.count() > 8) return fail_group_syntax(call);
  StreamId last = stream == nullptr ? kStreamIdMin : stream->last_id();
  if (call.word(4) != "$") {
    const std::optional<StreamId> id = read_stream_id(call, 4);
    if (!id) return;
    last = *id;
  }
  if (stream == nullptr) {
    stream = &call.database().stream(call.make_stream(key));
    call.changed(key, 0);
  }
  if (stream->make_group(call.word(3), last, options->entries_read) == nullptr) {
    return call.fail("BUSYGROUP Consumer Group name already exists");
  }
  report_group_change(call, "xgroup-create");
  call.reply().ok();
}

// XGROUP SETID key group <id | $> [ENTRIESREAD entries-read]
void xgroup_setid(Call& call) {
  const std::optional<GroupOptions> options = read_group_options(call, false);
  if (!options) return;
  const GroupUse use = find_existing_group(call);
  if (use.group == nullptr) return;
  if (call.count() > 7) return fail_group_syntax(call);
  StreamId last = use.stream->last_id();
  if (call.word(4) == "-") {
    last = kStreamIdMin;
  } else if (call.word(4) == "+") {
    last = kStreamIdMax;
  } else if (call.word(4) != "$") {
    const std::optional<StreamId> id = read_stream_id(call, 4);
    if (!id) return;
    last = *id;
  }
  use.group->last_id = last;
  use.group->entries_read = options->entries_read;
  report_group_change(call, "xgroup-setid");
  call.reply().ok();
}

// XGROUP DESTROY key group
//
// Clients that wait for entries of the group are told that it is gone.
void xgroup_destroy(Call& call) {
  Stream* const stream = find_existing_stream(call);
  if (stream == nullptr) return;
  if (!stream->erase_group(call.word(3))) return call.reply().integer(0);
  report_group_change(call, "xgroup-destroy");
  call.changed(call.word(2), 0);
  call.reply().integer(1);
}

// XGROUP CREATECONSUMER key group consumer
void xgroup_createconsumer(Call& call) {
  const GroupUse use = find_existing_group(call);
  if (use.group == nullptr) return;
  const bool is_new = use.group->make_consumer(call.word(4), call.now()) != nullptr;
  if (is_new) report_group_change(call, "xgroup-createconsumer");
  call.reply().integer(is_new ? 1 : 0);
}

// XGROUP DELCONSUMER key group consumer
void xgroup_delconsumer(Call& call) {
  const GroupUse use = find_existing_group(call);
  if (use.group == nullptr) return;
  if (use.group->consumer(call.word(4)) == nullptr) return call.reply().integer(0);
  const std::size_t pending = use.group->erase_consumer(call.word(4));
  report_group_change(call, "xgroup-delconsumer");
  call.reply().integer(static_cast<std::int64_t>(pending));
}

void xgroup_help(Call& call) {
  constexpr std::array<std::string_view, 17> kLines = {
      "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CREATE <key> <groupname> <id|$> [option]",
      "    Creates a group that reads entries behind <id>. Options are:",
      "    * MKSTREAM",
      "      Creates an empty stream if <key> does not exist.",
      "    * ENTRIESREAD <entries-read>",
      "      Sets how many entries the group has read.",
      "CREATECONSUMER <key> <groupname> <consumer>",
      "    Creates a consumer of the group.",
      "DELCONSUMER <key> <groupname> <consumer>",
      "    Removes the consumer and its pending entries.",
      "DESTROY <key> <groupname>",
      "    Removes the group.",
      "SETID <key> <groupname> <id|$> [ENTRIESREAD <entries-read>]",
      "    Sets the last id that the group has read, and how many entries it has read.",
      "HELP",
      "    Prints this help.",
  };
  call.reply().array(kLines.size());
  for (const std::string_view line : kLines) call.reply().simple(line);
}

}  // namespace

std::span<const Command> stream_group_commands() {
  static constexpr std::uint32_t kChange = flag::write | flag::keeps_entries;
  static constexpr std::uint32_t kMake = kChange | flag::denyoom;
  static constexpr KeyRange kInserted = {2, 2, 1, access::rw | access::insert};
  static constexpr KeyRange kUpdated = {2, 2, 1, access::rw | access::update};
  static constexpr KeyRange kRemoved = {2, 2, 1, access::rw | access::remove};
  // clang-format off
  static constexpr Command kSubcommands[] = {
      {"create", xgroup_create, -5, kMake, kInserted, "stream", "5.0.0",
       "key group id-selector:(id | $) [MKSTREAM] [ENTRIESREAD entries-read:int]",
       "Creates a group.", {}, "xgroup"},
      {"createconsumer", xgroup_createconsumer, 5, kMake, kInserted, "stream", "6.2.0",
       "key group consumer", "Creates a consumer of a group.", {}, "xgroup"},
      {"delconsumer", xgroup_delconsumer, 5, kChange, kRemoved, "stream", "5.0.0",
       "key group consumer", "Removes a consumer of a group.", {}, "xgroup"},
      {"destroy", xgroup_destroy, 4, kChange, kRemoved, "stream", "5.0.0",
       "key group", "Removes a group.", {}, "xgroup"},
      {"help", xgroup_help, 2, flag::loading | flag::stale, {}, "stream", "5.0.0",
       "", "Lists the subcommands of XGROUP.", {}, "xgroup"},
      {"setid", xgroup_setid, -5, kChange, kUpdated, "stream", "5.0.0",
       "key group id-selector:(id | $) [ENTRIESREAD entries-read:int]",
       "Sets the last id that a group has read.", {}, "xgroup"},
  };
  static constexpr Command kRows[] = {
      {"xgroup", nullptr, -2, 0, {}, "stream", "5.0.0",
       "", "A container for commands about the groups of a stream.", kSubcommands},
  };
  // clang-format on
  return kRows;
}

}  // namespace mayfly
