// SPDX-License-Identifier: Apache-2.0
// ACL: what can be said truly while there is one user, who may do everything.

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "commands/words.h"
#include "server/admin/acl_categories.h"
#include "server/admin/compatibility_handlers.h"
#include "server/admin/help.h"
#include "server/core/server.h"
#include "server/monitoring/command_times.h"

namespace mayfly {
namespace {

constexpr std::string_view kUser = "default";
constexpr std::string_view kHidden = "(hidden)";  // stands for the password

bool has_password(Call& call) { return !client_call(call).server.config().requirepass.empty(); }

void reply_commands(Call& call, std::string_view category) {
  const std::size_t place = call.reply().defer();
  std::size_t count = 0;
  const auto see = [&](const Command& command) {
    if (command.handler == nullptr || !is_in_category(command, category)) return;
    call.reply().bulk(full_name(command));
    ++count;
  };
  for (const Command* const row : client_call(call).server.commands().rows()) {
    see(*row);
    for (const Command& subcommand : row->subcommands) see(subcommand);
  }
  call.reply().array_at(place, count);
}

}  // namespace

// ACL WHOAMI
void acl_whoami(Call& call) { call.reply().bulk(kUser); }

// ACL CAT [category]
void acl_cat(Call& call) {
  const auto categories = acl_categories();
  if (call.count() > 3) return call.fail_arity();
  if (call.count() == 3) {
    const std::string name = lowered(call.word(2));
    if (std::ranges::find(categories, name) != categories.end()) return reply_commands(call, name);
    return call.fail(fmt::format("ERR Unknown category '{:.128}'", call.word(2)));
  }
  call.reply().array(categories.size());
  for (const std::string_view category : categories) call.reply().bulk(category);
}

// ACL LIST
void acl_list(Call& call) {
  call.reply().array(1);
  call.reply().bulk(fmt::format("user {} on {} ~* &* +@all", kUser,
                                has_password(call) ? kHidden : std::string_view("nopass")));
}

// ACL USERS
void acl_users(Call& call) {
  call.reply().array(1);
  call.reply().bulk(kUser);
}

// ACL GETUSER name
void acl_getuser(Call& call) {
  Reply& reply = call.reply();
  if (call.word(2) != kUser) return reply.null();
  reply.map(6);
  reply.bulk("flags");
  reply.set(has_password(call) ? 1 : 2);
  reply.bulk("on");
  if (!has_password(call)) reply.bulk("nopass");
  reply.bulk("passwords");
  reply.array(has_password(call) ? 1 : 0);
  if (has_password(call)) reply.bulk(kHidden);
  reply.bulk("commands");
  reply.bulk("+@all");
  reply.bulk("keys");
  reply.bulk("~*");
  reply.bulk("channels");
  reply.bulk("&*");
  reply.bulk("selectors");
  reply.array(0);
}

// ACL GENPASS [bits]
void acl_genpass(Call& call) {
  constexpr std::int64_t kMost = 4096;
  std::int64_t bits = 256;
  if (call.count() > 3) return call.fail_arity();
  if (call.count() == 3) {
    const auto given = call.integer(2, 1, kMost,
                                    "ERR ACL GENPASS argument must be the number of bits for the "
                                    "output password, a positive number up to 4096");
    if (!given) return;
    bits = *given;
  }
  const auto digits = static_cast<std::size_t>((bits + 3) / 4);
  std::random_device device;
  std::string password;
  while (password.size() < digits) password += fmt::format("{:08x}", device());
  password.resize(digits);
  call.reply().bulk(password);
}

// ACL LOG [count | RESET]
void acl_log(Call& call) {
  if (call.count() > 3) return call.fail_arity();
  call.is(2, "reset") ? call.reply().ok() : call.reply().array(0);
}

void acl_unsupported(Call& call) {
  call.fail(
      fmt::format("ERR ACL {} is not there yet: there is one user, default, whose password "
                  "is requirepass",
                  call.word(1)));
}

void acl_no_file(Call& call) {
  call.fail(
      "ERR This instance is not configured to use an ACL file. There is one user, default, whose "
      "password is requirepass.");
}

void acl_help(Call& call) {
  static constexpr std::string_view kLines[] = {
      "CAT [<category>]",
      "    Returns the categories of commands, or the commands of one.",
      "GENPASS [<bits>]",
      "    Makes up a password.",
      "GETUSER <username>",
      "    Tells what a user may do.",
      "LIST",
      "    Tells the same of all users: there is one.",
      "LOG [<count> | RESET]",
      "    Returns what was denied, which is nothing.",
      "USERS",
      "    Returns the names of all users.",
      "WHOAMI",
      "    Returns the name of the user of this connection.",
  };
  reply_help(call, "ACL", kLines);
}

}  // namespace mayfly
