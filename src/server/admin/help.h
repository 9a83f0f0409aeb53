// SPDX-License-Identifier: Apache-2.0
// The reply of HELP subcommands: an array of lines.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "commands/call.h"

namespace mayfly {

// `name` in capital letters. `lines` alternate: how a subcommand is called, then, indented by four
// spaces, what it does.
inline void reply_help(Call& call, std::string_view name, std::span<const std::string_view> lines) {
  std::string head(name);
  head += " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:";
  call.reply().array(lines.size() + 3);
  call.reply().simple(head);
  for (const std::string_view line : lines) call.reply().simple(line);
  call.reply().simple("HELP");
  call.reply().simple("    Prints this help.");
}

}  // namespace mayfly
