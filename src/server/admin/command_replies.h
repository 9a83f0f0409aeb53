// SPDX-License-Identifier: Apache-2.0
// What COMMAND INFO, DOCS and GETKEYSANDFLAGS say about a command.

#pragma once

#include <span>
#include <string_view>

#include "commands/command.h"
#include "resp/reply.h"

namespace mayfly {

// Ten elements: name, arity, flags, first key, last key, step, categories, tips, key specs,
// subcommands.
void reply_command_info(Reply& reply, const Command& command);

// A map: summary, since, group, arguments and subcommands.
void reply_command_docs(Reply& reply, const Command& command);

// "RO", "access" and so on, as a set.
void reply_key_flags(Reply& reply, const KeyRange& keys);

// ---- Categories of access control, derived from flags and group ----

// In Valkey's order, without the "@".
std::span<const std::string_view> acl_categories();

// REQUIRES: `category` is one of acl_categories().
bool is_in_category(const Command& command, std::string_view category);

}  // namespace mayfly
