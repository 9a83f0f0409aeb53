// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_to_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::size_t kMembersPerCommand = 500;
constexpr std::array<std::string_view, kCopyTypes.size()> kWriters = {"SET",  "HMSET", "SADD",
                                                                      "ZADD", "RPUSH", "XADD"};

std::string_view writer_of(CopyType type) { return kWriters[static_cast<std::size_t>(type)]; }

std::string ms_text(Time moment) { return fmt::to_string(moment.time_since_epoch().count()); }

Error target_error(const ReplyValue& reply) {
  std::string_view advice;
  if (reply.text.starts_with("OOM")) advice = " (increase maxmemory of the target)";
  if (reply.text.starts_with("READONLY")) advice = " (write to its primary)";
  if (reply.text.starts_with("MOVED")) advice = " (clusters are not supported)";
  return {Code::denied, fmt::format("the target replied with an error: {}{}", reply.text, advice)};
}

Status check_reply(const ReplyValue& reply) {
  if (reply.kind == ReplyValue::Kind::error) return target_error(reply);
  return Done{};
}

// The replies of EXEC: one command may fail while the others succeed.
Status check_replies(const ReplyValue& reply) {
  for (const ReplyValue& one : reply.items) {
    if (one.kind == ReplyValue::Kind::error) return target_error(one);
  }
  return check_reply(reply);
}

// "7.0.15" is at least 6.2.
bool is_version_at_least(std::string_view version, int major, int minor) {
  int numbers[2] = {0, 0};
  for (int& number : numbers) {
    const auto [end, failure] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (failure != std::errc()) break;
    version.remove_prefix(
        std::min(version.size(), static_cast<std::size_t>(end - version.data()) + 1));
  }
  return numbers[0] > major || (numbers[0] == major && numbers[1] >= minor);
}

}  // namespace

ServerTarget::ServerTarget(RespClient client, ServerAddress address, Choice choice,
                           const Clock& clock)
    : client_(std::move(client)),
      address_(std::move(address)),
      choice_(choice),
      clock_(clock),
      selected_(address_.database) {}

Result<std::unique_ptr<ServerTarget>> ServerTarget::open(const ServerAddress& address,
                                                         Choice choice, const Clock& clock) {
  Result<RespClient> client = RespClient::connect(address);
  if (!client) return client.error();
  return open(std::move(*client), address, choice, clock);
}

Result<std::unique_ptr<ServerTarget>> ServerTarget::open(RespClient client,
                                                         const ServerAddress& address,
                                                         Choice choice, const Clock& clock) {
  std::unique_ptr<ServerTarget> target(new ServerTarget(std::move(client), address, choice, clock));
  if (const Status status = target->probe_server(); !status) return status.error();
  return target;
}

Status ServerTarget::probe_server() {
  mark_ = ServerMark::identify(client_);
  const Result<ReplyValue> info = client_.call("INFO", "server");
  if (info) {
    const std::string version(info_value(info->text, "redis_version"));
    has_pxat_ = is_version_at_least(version, 6, 2);
    if (is_version_at_least(version, 7, 0)) newest_stream_ = rdb::Type::stream2;
    if (is_version_at_least(version, 7, 2)) newest_stream_ = rdb::Type::stream3;
  }
  for (std::size_t i = 0; i < kWriters.size(); ++i) {
    const Result<bool> knows = knows_command(client_, kWriters[i]);
    if (!knows) return knows.error();
    has_type_[i] = *knows;
  }
  for (std::size_t i = 0; i < kDeadlineCommands.size(); ++i) {
    if (kDeadlineCommands[i].write.empty()) continue;
    const Result<bool> expires = knows_command(client_, kDeadlineCommands[i].write);
    if (!expires) return expires.error();
    expires_members_[i] = *expires;
  }
  return Done{};
}

// The count of FLUSHALL and the like is as of open(), so that a later one is noticed when resuming.
Result<std::string> ServerTarget::mark() {
  if (const Status status = mark_.count(client_, choice_.all_databases); !status)
    return status.error();
  return mark_.text();
}

Result<std::string> ServerTarget::loss_since(std::string_view mark) {
  if (const Status status = mark_.count(client_, choice_.all_databases); !status)
    return status.error();
  return mark_.loss_since(ServerMark::parse(mark));
}

Status ServerTarget::select(int database) {
  if (!choice_.all_databases || database == selected_) return Done{};
  const Result<ReplyValue> reply = client_.call("SELECT", fmt::to_string(database));
  if (!reply) {
    return Error{reply.error().code,
                 fmt::format("cannot copy database {}: {} (increase 'databases' of the target, or "
                             "name the database of the source and of the target)",
                             database, reply.error().message)};
  }
  selected_ = database;
  return Done{};
}

// Removes existing keys from `items`. Strings are checked by SET NX itself.
Status ServerTarget::drop_known(std::vector<CopyItem>& items, CopyCounts& counts) {
  std::vector<CopyItem> unknown;
  RespDialogue dialogue(client_);
  for (CopyItem& item : items) {
    if (item.type == CopyType::string && has_pxat_) {
      unknown.push_back(std::move(item));
      continue;
    }
    const auto take = [&](const ReplyValue& reply) -> Status {
      if (reply.integer == 0) unknown.push_back(std::move(item));
      counts.kept += static_cast<std::uint64_t>(reply.integer);
      return check_reply(reply);
    };
    dialogue.ask(take, "EXISTS", item.key);
  }
  const Status status = dialogue.finish();
  items = std::move(unknown);
  return status;
}

// Changes deadlines to what the server supports.
Status ServerTarget::prepare(CopyItem& item, CopyCounts& counts) const {
  const auto has_own = [](const CopyMember& member) { return member.deadline != kNever; };
  const auto number = std::ranges::count_if(item.members, has_own);
  if (number == 0) return Done{};
  if (expires_members_[static_cast<std::size_t>(item.type)]) return Done{};
  if (item.type == CopyType::list || item.type == CopyType::stream) {  // one from a store
    ++counts.loosened;
  } else if (choice_.drops_member_ttls) {
    counts.dropped += static_cast<std::uint64_t>(number);
  } else {
    const bool is_hash = item.type == CopyType::hash;
    return Error{
        Code::unsupported,
        fmt::format("{} {} has {} with TTLs, which {} does not support (use {}Mayfly, or "
                    "--without-member-ttl)",
                    name_of(item.type), bytes_as_json(item.key), is_hash ? "fields" : "members",
                    address_.text(), is_hash ? "Redis 7.4, Valkey 9 or " : "")};
  }
  // The key still ends with its last member.
  Time latest = Time::min();
  for (CopyMember& member : item.members) {
    latest = std::max(latest, std::exchange(member.deadline, kNever));
  }
  item.deadline = std::min(item.deadline, latest);
  return Done{};
}

Status ServerTarget::write(std::vector<CopyItem>& items, CopyCounts& counts) {
  if (items.empty()) return Done{};
  if (const Status status = select(items.front().database); !status) return status;
  if (choice_.keeps) {
    if (const Status status = drop_known(items, counts); !status) return status;
  }
  RespDialogue dialogue(client_);
  for (CopyItem& item : items) {
    if (!has_type_[static_cast<std::size_t>(item.type)]) {
      counts.skip(fmt::format("{}, not supported by the target", name_of(item.type)), item.key);
    } else if (!drop_due(item, clock_.now())) {
      ++counts.gone;
    } else {
      if (const Status status = prepare(item, counts); !status) return status;
      if (item.type == CopyType::string && has_pxat_) {
        put_string(dialogue, item, counts);
      } else if (item.type == CopyType::stream) {
        put_stream(dialogue, item, counts);
      } else {
        put_members(dialogue, item, counts);
      }
    }
  }
  return dialogue.finish();
}

void ServerTarget::put_string(RespDialogue& dialogue, const CopyItem& item,
                              CopyCounts& counts) const {
  const std::string ms = ms_text(item.deadline);
  std::vector<std::string_view> words = {"SET", item.key, item.value};
  if (item.deadline != kNever) words.insert(words.end(), {"PXAT", ms});
  if (choice_.keeps) words.push_back("NX");
  const auto take = [&item, &counts](const ReplyValue& reply) {
    if (reply.kind == ReplyValue::Kind::null) {
      ++counts.kept;
    } else {
      counts.copied(item);
    }
    return check_reply(reply);
  };
  dialogue.ask(take, Words(words));
}

void ServerTarget::put_stream(RespDialogue& dialogue, const CopyItem& item, CopyCounts& counts) {
  const Result<std::string> payload = streams_.payload(item.members, newest_stream_);
  if (!payload) return counts.skip("streams not written by an import", item.key);
  const std::string ms = item.deadline == kNever ? "0" : ms_text(item.deadline);
  const auto done = [&item, &counts](const ReplyValue& reply) {
    counts.copied(item);
    return check_reply(reply);
  };
  dialogue.ask(done, "RESTORE", item.key, ms, *payload, "REPLACE", "ABSTTL");
}

void ServerTarget::put_members(RespDialogue& dialogue, const CopyItem& item,
                               CopyCounts& counts) const {
  dialogue.ask(check_reply, "MULTI");
  dialogue.ask(check_reply, "DEL", item.key);
  if (item.type == CopyType::string) dialogue.ask(check_reply, "SET", item.key, item.value);
  for (std::size_t from = 0; from < item.members.size(); from += kMembersPerCommand) {
    std::vector<std::string_view> words = {writer_of(item.type), item.key};
    const std::size_t to = std::min(item.members.size(), from + kMembersPerCommand);
    for (std::size_t i = from; i < to; ++i) {
      const CopyMember& member = item.members[i];
      if (item.type == CopyType::zset) words.push_back(member.value);
      if (item.type != CopyType::list) words.push_back(member.name);
      if (item.type == CopyType::hash || item.type == CopyType::list) words.push_back(member.value);
    }
    dialogue.ask(check_reply, Words(words));
  }
  put_member_deadlines(dialogue, item);
  if (item.deadline != kNever)
    dialogue.ask(check_reply, "PEXPIREAT", item.key, ms_text(item.deadline));
  const auto done = [&item, &counts](const ReplyValue& reply) {
    counts.copied(item);
    return check_replies(reply);
  };
  dialogue.ask(done, "EXEC");
}

void ServerTarget::put_member_deadlines(RespDialogue& dialogue, const CopyItem& item) const {
  const DeadlineCommands& commands = kDeadlineCommands[static_cast<std::size_t>(item.type)];
  std::map<Time, std::vector<std::string_view>> members;
  for (const CopyMember& member : item.members) {
    if (member.deadline != kNever) members[member.deadline].push_back(member.name);
  }
  for (const auto& [deadline, names] : members) {
    const std::string ms = ms_text(deadline);
    for (std::size_t from = 0; from < names.size(); from += kMembersPerCommand) {
      const std::size_t to = std::min(names.size(), from + kMembersPerCommand);
      const std::string number = fmt::to_string(to - from);
      std::vector<std::string_view> words = {commands.write, item.key, ms, commands.word, number};
      words.insert(words.end(), names.begin() + static_cast<long>(from),
                   names.begin() + static_cast<long>(to));
      dialogue.ask(check_reply, Words(words));
    }
  }
}

}  // namespace mayfly
