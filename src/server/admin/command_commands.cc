// SPDX-License-Identifier: Apache-2.0
// COMMAND: information about commands.

#include <algorithm>
#include <functional>

#include "commands/scan_options.h"
#include "commands/words.h"
#include "resp/glob.h"
#include "server/admin/command_replies.h"
#include "server/core/server_call.h"

namespace mayfly {
namespace {

const CommandTable& table_of(Call& call) { return parts_of(call).commands; }

// By "config" or "config|get"; null if there is none.
const Command* find_command(const CommandTable& table, std::string_view name) {
  const std::size_t bar = name.find('|');
  const Command* const found = table.find(name.substr(0, bar));
  if (found == nullptr || bar == std::string_view::npos) return found;
  const auto row = std::ranges::find_if(found->subcommands, [&](const Command& subcommand) {
    return equals(name.substr(bar + 1), subcommand.name);
  });
  return row == found->subcommands.end() ? nullptr : &*row;
}

void command_all(Call& call) {
  const auto& rows = table_of(call).rows();
  call.reply().array(rows.size());
  for (const Command* const row : rows) reply_command_info(call.reply(), *row);
}

void command_count(Call& call) {
  call.reply().integer(static_cast<std::int64_t>(table_of(call).rows().size()));
}

void command_info(Call& call) {
  if (call.count() == 2) return command_all(call);
  call.reply().array(call.count() - 2);
  for (const std::string_view name : call.words().subspan(2)) {
    const Command* const found = find_command(table_of(call), name);
    found == nullptr ? call.reply().null() : reply_command_info(call.reply(), *found);
  }
}

// COMMAND DOCS [name ...]: unknown names are left out.
void command_docs(Call& call) {
  std::vector<const Command*> rows;
  if (call.count() == 2) rows = table_of(call).rows();
  for (const std::string_view name : call.words().subspan(2)) {
    const Command* const found = find_command(table_of(call), name);
    if (found != nullptr) rows.push_back(found);
  }
  call.reply().map(rows.size());
  for (const Command* const row : rows) {
    call.reply().bulk(full_name(*row));
    reply_command_docs(call.reply(), *row);
  }
}

// The command that COMMAND GETKEYS asks about, and the positions of its keys; null after an error.
const Command* asked_command(Call& call, std::vector<std::size_t>& positions) {
  const Words words = call.words().subspan(2);
  const Command* found = table_of(call).find(words[0]);
  if (found != nullptr) found = table_of(call).resolve(*found, words);
  if (found == nullptr) {
    call.fail("ERR Invalid command specified");
  } else if (found->keys.first == 0) {
    call.fail("ERR The command has no key arguments");
  } else if (!fits(*found, words.size())) {
    call.fail("ERR Invalid number of arguments specified for command");
  } else {
    positions = key_positions(*found, words);
    return found;
  }
  return nullptr;
}

void command_getkeys(Call& call) {
  std::vector<std::size_t> positions;
  if (asked_command(call, positions) == nullptr) return;
  call.reply().array(positions.size());
  for (const std::size_t position : positions) call.reply().bulk(call.word(position + 2));
}

void command_getkeysandflags(Call& call) {
  std::vector<std::size_t> positions;
  const Command* const found = asked_command(call, positions);
  if (found == nullptr) return;
  call.reply().array(positions.size());
  for (const std::size_t position : positions) {
    call.reply().array(2);
    call.reply().bulk(call.word(position + 2));
    const KeyRange& keys = found->keys;
    const bool is_stored = (found->flags & flag::store_option) != 0 && position > 1;
    const bool is_target = is_stored || static_cast<int>(position) == keys.target;
    reply_key_flags(call.reply(), is_target ? target_key(keys) : keys);
  }
}

using Filter = std::function<bool(const Command&)>;

// [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]; null after an error.
Filter read_filter(Call& call) {
  if (call.count() == 2) return [](const Command&) { return true; };
  const bool is_filter = call.count() == 5 && call.is(2, "filterby");
  const std::string_view word = call.word(call.count() - 1);
  if (is_filter && call.is(3, "module")) return [](const Command&) { return false; };
  if (is_filter && call.is(3, "pattern")) {
    if (fails_pattern(call, word)) return nullptr;
    return [pattern = GlobPattern(word, true)](const Command& command) {
      return pattern.matches(full_name(command));
    };
  }
  if (is_filter && call.is(3, "aclcat")) {
    return [category = lowered(word)](const Command& command) {
      const auto known = acl_categories();
      return std::ranges::find(known, category) != known.end() && is_in_category(command, category);
    };
  }
  call.fail_syntax();
  return nullptr;
}

void command_list(Call& call) {
  const Filter fits_filter = read_filter(call);
  if (fits_filter == nullptr) return;
  const std::size_t place = call.reply().defer();
  std::size_t count = 0;
  const auto see = [&](const Command& command) {
    if (!fits_filter(command)) return;
    call.reply().bulk(full_name(command));
    ++count;
  };
  for (const Command* const row : table_of(call).rows()) {
    see(*row);
    for (const Command& subcommand : row->subcommands) see(subcommand);
  }
  call.reply().array_at(place, count);
}

constexpr std::uint64_t kCommandFlags = flag::loading | flag::stale;

// clang-format off
constexpr Command kCommandRows[] = {
    {"count", command_count, 2, kCommandFlags, {}, "connection", "2.8.13", "",
     "Returns how many commands there are.", {}, "command"},
    {"info", command_info, -2, kCommandFlags, {}, "connection", "2.8.13", "[command-name...]",
     "Returns the properties of some commands.", {}, "command"},
    {"docs", command_docs, -2, kCommandFlags, {}, "connection", "7.0.0", "[command-name...]",
     "Returns documentation of commands.", {}, "command"},
    {"list", command_list, -2, kCommandFlags, {}, "connection", "7.0.0",
     "[FILTERBY filter:(MODULE module-name | ACLCAT category | PATTERN pattern:pattern)]",
     "Returns the names of commands.", {}, "command"},
    {"getkeys", command_getkeys, -3, kCommandFlags, {}, "connection", "2.8.13", "command [arg...]",
     "Returns the keys in a request.", {}, "command"},
    {"getkeysandflags", command_getkeysandflags, -3, kCommandFlags, {}, "connection", "7.0.0",
     "command [arg...]", "Returns the keys in a request, and what it does to them.", {}, "command"},
    {"help", reply_help, 2, kCommandFlags, {}, "connection", "5.0.0", "", "Prints this help.", {},
     "command"},
};

constexpr Command kCommandCommands[] = {
    {"command", command_all, -1, kCommandFlags, {}, "connection", "2.8.13", "",
     "Returns the properties of all commands.", kCommandRows},
};
// clang-format on

}  // namespace

std::span<const Command> command_commands() { return kCommandCommands; }

}  // namespace mayfly
