// SPDX-License-Identifier: Apache-2.0
// Rows of the command table in the form in which clients read them.

#include "server/admin/command_replies.h"

#include <algorithm>
#include <bit>
#include <string>

#include "commands/syntax.h"

namespace mayfly {
namespace {

struct Name {
  std::uint64_t bit;
  std::string_view text;
};

constexpr Name kFlagNames[] = {
    {flag::write, "write"},
    {flag::readonly, "readonly"},
    {flag::denyoom, "denyoom"},
    {flag::admin, "admin"},
    {flag::pubsub, "pubsub"},
    {flag::noscript, "noscript"},
    {flag::blocking, "blocking"},
    {flag::loading, "loading"},
    {flag::stale, "stale"},
    {flag::skip_monitor, "skip_monitor"},
    {flag::skip_slowlog, "skip_slowlog"},
    {flag::fast, "fast"},
    {flag::no_auth, "no_auth"},
    {flag::may_replicate, "may_replicate"},
    {flag::no_async_loading, "no_async_loading"},
    {flag::no_multi, "no_multi"},
    {flag::movablekeys, "movablekeys"},
    {flag::allow_busy, "allow_busy"},
    {flag::no_mandatory_keys, "no_mandatory_keys"},
};

constexpr std::uint64_t kIncomplete = 1u << 31;  // not all keys are found in this way
constexpr std::uint64_t kVariable = 1u << 30;    // the access depends on the other words

constexpr Name kAccessNames[] = {
    {access::ro, "RO"},          {access::rw, "RW"},
    {access::ow, "OW"},          {access::rm, "RM"},
    {access::access, "access"},  {access::update, "update"},
    {access::insert, "insert"},  {access::remove, "delete"},
    {kIncomplete, "incomplete"}, {kVariable, "variable_flags"},
};

void reply_names(Reply& reply, std::span<const Name> names, std::uint64_t bits) {
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  for (const Name& name : names) {
    if ((bits & name.bit) == 0) continue;
    reply.simple(name.text);
    ++count;
  }
  reply.set_at(place, count);
}

void reply_categories(Reply& reply, const Command& command) {
  const std::size_t place = reply.defer();
  std::size_t count = 0;
  for (const std::string_view category : acl_categories()) {
    // A container does nothing itself, so it is in no group.
    const bool is_plain = command.handler != nullptr || category == "slow";
    if (!is_plain || !is_in_category(command, category)) continue;
    reply.simple(std::string("@").append(category));
    ++count;
  }
  reply.set_at(place, count);
}

void reply_type(Reply& reply, std::string_view type) {
  reply.map(2);
  reply.bulk("type");
  reply.bulk(type);
  reply.bulk("spec");
}

void reply_field(Reply& reply, std::string_view name, std::int64_t value) {
  reply.bulk(name);
  reply.integer(value);
}

void reply_text(Reply& reply, std::string_view name, std::string_view text) {
  reply.bulk(name);
  reply.bulk(text);
}

// A word before the keys has their number.
void reply_counted_keys(Reply& reply, const KeyRange& keys) {
  reply_type(reply, "index");
  reply.map(1);
  reply_field(reply, "index", keys.count_at);
  reply.bulk("find_keys");
  reply_type(reply, "keynum");
  reply.map(3);
  reply_field(reply, "keynumidx", 0);
  reply_field(reply, "firstkey", keys.first - keys.count_at);
  reply_field(reply, "keystep", keys.step);
}

// The keys are the first half of the words behind a keyword.
void reply_keys_behind(Reply& reply, const KeyRange& keys) {
  reply_type(reply, "keyword");
  reply.map(2);
  reply_text(reply, "keyword", keys.keyword);
  reply_field(reply, "startfrom", keys.first);
  reply.bulk("find_keys");
  reply_type(reply, "range");
  reply.map(3);
  reply_field(reply, "lastkey", keys.last);
  reply_field(reply, "keystep", keys.step);
  reply_field(reply, "limit", 2);
}

// One range, counted from its first key.
void reply_key_range(Reply& reply, const KeyRange& keys) {
  reply.map(3);
  reply.bulk("flags");
  reply_key_flags(reply, keys);
  reply.bulk("begin_search");
  if (keys.count_at > 0) return reply_counted_keys(reply, keys);
  if (!keys.keyword.empty()) return reply_keys_behind(reply, keys);
  reply_type(reply, "index");
  reply.map(1);
  reply_field(reply, "index", keys.first);
  reply.bulk("find_keys");
  reply_type(reply, "range");
  reply.map(3);
  reply_field(reply, "lastkey", keys.last < 0 ? keys.last : keys.last - keys.first);
  reply_field(reply, "keystep", keys.step);
  reply_field(reply, "limit", 0);
}

// The keys behind KEYS, which is looked for from the end.
void reply_keys_option(Reply& reply, const KeyRange& keys) {
  reply.map(3);
  reply.bulk("flags");
  reply_names(reply, kAccessNames, keys.access | kIncomplete);
  reply.bulk("begin_search");
  reply_type(reply, "keyword");
  reply.map(2);
  reply.bulk("keyword");
  reply.bulk("KEYS");
  reply_field(reply, "startfrom", -2);
  reply.bulk("find_keys");
  reply_type(reply, "range");
  reply.map(3);
  reply_field(reply, "lastkey", -1);
  reply_field(reply, "keystep", 1);
  reply_field(reply, "limit", 0);
}

// GEORADIUS ... STORE key, or STOREDIST key
bool stores_positions(const Command& command) {
  return (command.flags & flag::store_option) != 0 && command.group == "geo";
}

// The key behind a keyword, which is looked for behind the words that must be there.
void reply_stored_key(Reply& reply, const Command& command, std::string_view keyword) {
  reply.map(3);
  reply.bulk("flags");
  reply_names(reply, kAccessNames, access::ow | access::update | kVariable);
  reply.bulk("begin_search");
  reply_type(reply, "keyword");
  reply.map(2);
  reply_text(reply, "keyword", keyword);
  reply_field(reply, "startfrom", -command.arity);
  reply.bulk("find_keys");
  reply_type(reply, "range");
  reply.map(3);
  reply_field(reply, "lastkey", 0);
  reply_field(reply, "keystep", 1);
  reply_field(reply, "limit", 0);
}

void reply_key_specs(Reply& reply, const Command& command) {
  const KeyRange& keys = command.keys;
  if (keys.first == 0) return reply.set(0);
  if (stores_positions(command)) {
    reply.set(3);
    reply_key_range(reply, keys);
    reply_stored_key(reply, command, "STORE");
    return reply_stored_key(reply, command, "STOREDIST");
  }
  if ((command.flags & flag::keys_option) != 0) {
    reply.set(2);
    reply_key_range(reply, keys);
    return reply_keys_option(reply, keys);
  }
  reply.set(keys.target > 0 ? 2 : 1);
  const bool is_first = keys.target < keys.first;
  if (keys.target > 0 && is_first) reply_key_range(reply, target_key(keys));
  reply_key_range(reply, keys);
  if (keys.target > 0 && !is_first) reply_key_range(reply, target_key(keys));
}

// First key, last key and step for clients that know one range only.
KeyRange plain_range(const KeyRange& keys) {
  if (keys.count_at > 0) return keys.target > 0 ? target_key(keys) : KeyRange{};
  if (!keys.keyword.empty()) return {};
  KeyRange range = keys;
  if (keys.target > 0) range.first = std::min(keys.first, keys.target);
  if (keys.last >= 0) range.last = std::max(keys.last, keys.target);
  return range;
}

// Which of the command's key specs an argument belongs to: they are in the same order, and several
// keys in a row may share the last one.
class KeySpecs {
 public:
  explicit KeySpecs(const Command& command) {
    const KeyRange& keys = command.keys;
    const bool has_two = (command.flags & flag::keys_option) != 0 || keys.target > 0;
    count_ = keys.first == 0 ? 0 : 1 + (has_two ? 1 : 0);
    if (stores_positions(command)) count_ = 3;
  }
  std::int64_t next() {
    const std::int64_t index = next_;
    next_ = std::min(next_ + 1, std::max<std::int64_t>(count_ - 1, 0));
    return index;
  }

 private:
  std::int64_t count_ = 0;
  std::int64_t next_ = 0;
};

void reply_arguments(Reply& reply, const std::vector<Argument>& arguments, KeySpecs& specs);

void reply_argument_flags(Reply& reply, const Argument& argument) {
  std::vector<std::string_view> flags;
  if (argument.is_optional) flags.push_back("optional");
  if (argument.is_repeated) flags.push_back("multiple");
  if (argument.repeats_token) flags.push_back("multiple_token");
  reply.bulk("flags");
  reply.set(flags.size());
  for (const std::string_view flag : flags) reply.simple(flag);
}

void reply_argument(Reply& reply, const Argument& argument, KeySpecs& specs) {
  const bool has_parts = !argument.parts.empty();
  const bool has_flags = argument.is_optional || argument.is_repeated;
  const bool is_key = argument.kind == ArgumentKind::key;
  reply.map(std::size_t{3} + is_key + !argument.token.empty() + has_flags);
  reply_text(reply, "name", argument.name);
  reply_text(reply, "type", kind_name(argument.kind));
  if (!has_parts) reply_text(reply, "display_text", argument.name);
  if (is_key) reply_field(reply, "key_spec_index", specs.next());
  if (!argument.token.empty()) reply_text(reply, "token", argument.token);
  if (has_flags) reply_argument_flags(reply, argument);
  if (!has_parts) return;
  reply.bulk("arguments");
  reply_arguments(reply, argument.parts, specs);
}

void reply_arguments(Reply& reply, const std::vector<Argument>& arguments, KeySpecs& specs) {
  reply.array(arguments.size());
  for (const Argument& argument : arguments) reply_argument(reply, argument, specs);
}

}  // namespace

void reply_key_flags(Reply& reply, const KeyRange& keys) {
  reply_names(reply, kAccessNames, keys.access);
}

void reply_command_info(Reply& reply, const Command& command) {
  reply.array(10);
  reply.bulk(full_name(command));
  reply.integer(command.arity);
  reply_names(reply, kFlagNames, command.flags);
  const KeyRange range = plain_range(command.keys);
  reply.integer(range.first);
  reply.integer(range.last);
  reply.integer(range.step);
  reply_categories(reply, command);
  reply.set(0);  // tips
  reply_key_specs(reply, command);
  reply.array(command.subcommands.size());
  for (const Command& subcommand : command.subcommands) reply_command_info(reply, subcommand);
}

void reply_command_docs(Reply& reply, const Command& command) {
  const bool has_arguments = !command.syntax.empty();
  reply.map(std::size_t{3} + has_arguments + !command.subcommands.empty());
  reply_text(reply, "summary", command.summary);
  reply_text(reply, "since", command.since);
  reply_text(reply, "group", command.group);
  if (has_arguments) {
    reply.bulk("arguments");
    const Result<std::vector<Argument>> arguments = parse_syntax(command.syntax);
    KeySpecs specs(command);
    reply_arguments(reply, arguments ? *arguments : std::vector<Argument>(), specs);
  }
  if (command.subcommands.empty()) return;
  reply.bulk("subcommands");
  reply.map(command.subcommands.size());
  for (const Command& subcommand : command.subcommands) {
    reply.bulk(full_name(subcommand));
    reply_command_docs(reply, subcommand);
  }
}

}  // namespace mayfly
