// SPDX-License-Identifier: Apache-2.0
// ACL: there is one user, who may run every command; and the categories of commands.

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "commands/words.h"
#include "server/admin/command_replies.h"
#include "server/core/server_call.h"

namespace mayfly {
namespace {

constexpr std::string_view kCategories[] = {
    "keyspace", "read",   "write",       "set",       "sortedset",  "list",        "hash",
    "string",   "bitmap", "hyperloglog", "geo",       "stream",     "pubsub",      "admin",
    "fast",     "slow",   "blocking",    "dangerous", "connection", "transaction", "scripting"};

// Groups whose category has another name. "server" has none.
struct GroupName {
  std::string_view group;
  std::string_view category;
};
constexpr GroupName kGroups[] = {
    {"generic", "keyspace"}, {"transactions", "transaction"}, {"sorted-set", "sortedset"}};

struct FlagName {
  std::string_view category;
  std::uint64_t flags;
};
constexpr FlagName kCategoryFlags[] = {
    {"read", flag::readonly},
    {"write", flag::write},
    {"admin", flag::admin},
    {"pubsub", flag::pubsub},
    {"fast", flag::fast},
    {"blocking", flag::blocking},
    {"dangerous", flag::admin | flag::dangerous},
};

}  // namespace

std::span<const std::string_view> acl_categories() { return kCategories; }

bool is_in_category(const Command& command, std::string_view category) {
  if (category == "slow") return (command.flags & flag::fast) == 0;
  const auto by_flag = std::ranges::find(kCategoryFlags, category, &FlagName::category);
  if (by_flag != std::end(kCategoryFlags)) return (command.flags & by_flag->flags) != 0;
  const auto by_group = std::ranges::find(kGroups, command.group, &GroupName::group);
  return category == (by_group != std::end(kGroups) ? by_group->category : command.group);
}

namespace {

constexpr std::string_view kUser = "default";
constexpr std::string_view kHidden = "(hidden)";  // stands for the password

bool has_password(Call& call) { return !parts_of(call).config.requirepass.empty(); }

void reply_commands(Call& call, std::string_view category) {
  const std::size_t place = call.reply().defer();
  std::size_t count = 0;
  const auto see = [&](const Command& command) {
    if (command.handler == nullptr || !is_in_category(command, category)) return;
    call.reply().bulk(full_name(command));
    ++count;
  };
  for (const Command* const row : parts_of(call).commands.rows()) {
    see(*row);
    for (const Command& subcommand : row->subcommands) see(subcommand);
  }
  call.reply().array_at(place, count);
}

void acl_whoami(Call& call) { call.reply().bulk(kUser); }

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

void acl_list(Call& call) {
  call.reply().array(1);
  call.reply().bulk(fmt::format("user {} on {} ~* &* +@all", kUser,
                                has_password(call) ? kHidden : std::string_view("nopass")));
}

void acl_users(Call& call) {
  call.reply().array(1);
  call.reply().bulk(kUser);
}

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

void acl_log(Call& call) {
  if (call.count() > 3) return call.fail_arity();
  call.is(2, "reset") ? call.reply().ok() : call.reply().array(0);
}

void acl_unsupported(Call& call) {
  call.fail(
      fmt::format("ERR ACL {} is not supported: there is one user, default, whose password "
                  "is requirepass",
                  call.word(1)));
}

void acl_no_file(Call& call) {
  call.fail(
      "ERR This instance is not configured to use an ACL file. There is one user, default, whose "
      "password is requirepass.");
}

constexpr std::uint64_t kAclHelp = flag::loading | flag::stale;
constexpr std::uint64_t kAclFlags = kAclHelp | flag::noscript;
constexpr std::uint64_t kAclAdmin = kAclFlags | flag::admin;

// clang-format off
constexpr Command kAclRows[] = {
    {"whoami", acl_whoami, 2, kAclFlags, {}, "server", "6.0.0", "",
     "Returns the name of the user of this connection.", {}, "acl"},
    {"cat", acl_cat, -2, kAclFlags, {}, "server", "6.0.0", "[categoryname]",
     "Returns categories of commands, or the commands of one.", {}, "acl"},
    {"list", acl_list, 2, kAclAdmin, {}, "server", "6.0.0", "", "Lists the rules of all users.", {},
     "acl"},
    {"users", acl_users, 2, kAclAdmin, {}, "server", "6.0.0", "", "Returns the names of all users.",
     {}, "acl"},
    {"getuser", acl_getuser, 3, kAclAdmin, {}, "server", "6.0.0", "username",
     "Returns the rules of a user.", {}, "acl"},
    {"genpass", acl_genpass, -2, kAclFlags, {}, "server", "6.0.0", "[bits:int]",
     "Generates a password.", {}, "acl"},
    {"log", acl_log, -2, kAclAdmin, {}, "server", "6.0.0", "[operation:(count:int | RESET)]",
     "Returns what was denied.", {}, "acl"},
    {"setuser", acl_unsupported, -3, kAclAdmin, {}, "server", "6.0.0", "username [rule...]",
     "Creates or changes a user; not supported yet.", {}, "acl"},
    {"deluser", acl_unsupported, -3, kAclAdmin, {}, "server", "6.0.0", "username...",
     "Removes users; not supported yet.", {}, "acl"},
    {"dryrun", acl_unsupported, -4, kAclAdmin, {}, "server", "7.0.0", "username command [arg...]",
     "Checks whether a user may run a command; not supported yet.", {}, "acl"},
    {"load", acl_no_file, 2, kAclAdmin, {}, "server", "6.0.0", "",
     "Reads users from a file; not supported yet.", {}, "acl"},
    {"save", acl_no_file, 2, kAclAdmin, {}, "server", "6.0.0", "",
     "Writes users to a file; not supported yet.", {}, "acl"},
    {"help", reply_help, 2, kAclHelp, {}, "server", "6.0.0", "", "Prints this help.", {}, "acl"},
};

constexpr Command kAclCommands[] = {
    {"acl", nullptr, -2, 0, {}, "server", "6.0.0", "", "Shows users and what they may do.",
     kAclRows},
};
// clang-format on

}  // namespace

std::span<const Command> acl_commands() { return kAclCommands; }

}  // namespace mayfly
