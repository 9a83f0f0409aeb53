// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_to_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "tools/byte_text.h"

namespace mayfly {
namespace {

using Kind = ReplyValue::Kind;

constexpr std::size_t kMembersAtOnce = 500;
constexpr std::array<std::string_view, kCopyTypes.size()> kWriters = {"SET", "HMSET", "SADD",
                                                                      "ZADD", "RPUSH"};

std::string_view writer_of(CopyType type) { return kWriters[static_cast<std::size_t>(type)]; }

std::string ms_text(Time moment) { return fmt::to_string(moment.time_since_epoch().count()); }

Error refused(const ReplyValue& reply) {
  std::string_view advice;
  if (reply.text.starts_with("OOM")) advice = "; it is full: give it more memory (maxmemory)";
  if (reply.text.starts_with("READONLY")) advice = "; write to its primary instead";
  if (reply.text.starts_with("MOVED")) advice = "; clusters are not written to";
  return {Code::denied, fmt::format("the target refused: {}{}", reply.text, advice)};
}

// Of commands of which only errors matter.
Status good(const ReplyValue& reply) {
  if (reply.kind == Kind::error) return refused(reply);
  return Done{};
}

// Of EXEC: one of the commands may have failed though the others have not.
Status all_good(const ReplyValue& reply) {
  for (const ReplyValue& one : reply.items) {
    if (one.kind == Kind::error) return refused(one);
  }
  return good(reply);
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
    : client_(std::move(client)), address_(std::move(address)), choice_(choice), clock_(clock) {}

Result<std::unique_ptr<ServerTarget>> ServerTarget::open(const ServerAddress& address,
                                                         Choice choice, const Clock& clock) {
  Result<RespClient> client = RespClient::connect(address);
  if (!client) return client.error();
  std::unique_ptr<ServerTarget> target(
      new ServerTarget(std::move(*client), address, choice, clock));
  if (const Status status = target->look_around(); !status) return status.error();
  return target;
}

Status ServerTarget::look_around() {
  mark_ = ServerMark::identify(client_);
  const Result<ReplyValue> info = client_.call("INFO", "server");
  if (info) sets_moments_ = is_version_at_least(info_value(info->text, "redis_version"), 6, 2);
  for (std::size_t i = 0; i < kWriters.size(); ++i) {
    const Result<bool> knows = knows_command(client_, kWriters[i]);
    if (!knows) return knows.error();
    has_type_[i] = *knows;
  }
  const Result<bool> expires_fields = knows_command(client_, "HPEXPIREAT");
  if (!expires_fields) return expires_fields.error();
  expires_fields_ = *expires_fields;
  return Done{};
}

// If somebody empties it while it is written to, the mark still says how often it had been emptied
// before: whoever goes on notices it.
Result<std::string> ServerTarget::mark() {
  if (const Status status = mark_.count(client_); !status) return status.error();
  return mark_.text();
}

Result<std::string> ServerTarget::loss_since(std::string_view mark) {
  if (const Status status = mark_.count(client_); !status) return status.error();
  return mark_.loss_since(ServerMark::parse(mark));
}

// Takes out those that the server has and that are to be kept. Strings are asked for by SET itself.
Status ServerTarget::drop_known(std::vector<CopyItem>& items, CopyCounts& counts) {
  std::vector<CopyItem> unknown;
  RespDialogue dialogue(client_);
  for (CopyItem& item : items) {
    if (item.type == CopyType::string && sets_moments_) {
      unknown.push_back(std::move(item));
      continue;
    }
    const auto take = [&](const ReplyValue& reply) -> Status {
      if (reply.integer == 0) unknown.push_back(std::move(item));
      counts.kept += static_cast<std::uint64_t>(reply.integer);
      return good(reply);
    };
    dialogue.ask(take, "EXISTS", item.key);
  }
  const Status status = dialogue.finish();
  items = std::move(unknown);
  return status;
}

// Gives the item the deadlines that a server can keep.
Status ServerTarget::prepare(CopyItem& item, CopyCounts& counts) const {
  const auto has_own = [](const CopyMember& member) { return member.deadline != kNever; };
  const auto number = std::ranges::count_if(item.members, has_own);
  if (number == 0) return Done{};
  if (item.type == CopyType::hash && expires_fields_) return Done{};
  if (item.type == CopyType::hash && !choice_.drops_field_ttls) {
    return Error{Code::unsupported,
                 fmt::format("fields of the hash {} have deadlines of their own, and {} keeps "
                             "none (Redis 7.4, Valkey 9 and Mayfly do); --drop-field-ttls writes "
                             "them without",
                             bytes_as_json(item.key), address_.text())};
  }
  if (item.type == CopyType::hash) {
    counts.dropped += static_cast<std::uint64_t>(number);
  } else {  // only a store has such members
    Time latest = Time::min();
    for (const CopyMember& member : item.members) latest = std::max(latest, member.deadline);
    item.deadline = std::min(item.deadline, latest);
    ++counts.loosened;
  }
  for (CopyMember& member : item.members) member.deadline = kNever;
  return Done{};
}

Status ServerTarget::write(std::vector<CopyItem>& items, CopyCounts& counts) {
  if (choice_.keeps) {
    if (const Status status = drop_known(items, counts); !status) return status;
  }
  RespDialogue dialogue(client_);
  for (CopyItem& item : items) {
    if (!has_type_[static_cast<std::size_t>(item.type)]) {
      counts.skip(fmt::format("{}, which the target does not have", name_of(item.type)), item.key);
    } else if (!drop_due(item, clock_.now())) {
      ++counts.gone;
    } else {
      if (const Status status = prepare(item, counts); !status) return status;
      if (item.type == CopyType::string && sets_moments_) {
        put_string(dialogue, item, counts);
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
    if (reply.kind == Kind::null) {
      ++counts.kept;
    } else {
      counts.copied(item);
    }
    return good(reply);
  };
  dialogue.ask(take, Words(words));
}

void ServerTarget::put_members(RespDialogue& dialogue, const CopyItem& item,
                               CopyCounts& counts) const {
  dialogue.ask(good, "MULTI");
  dialogue.ask(good, "DEL", item.key);
  if (item.type == CopyType::string) dialogue.ask(good, "SET", item.key, item.value);
  for (std::size_t from = 0; from < item.members.size(); from += kMembersAtOnce) {
    std::vector<std::string_view> words = {writer_of(item.type), item.key};
    const std::size_t to = std::min(item.members.size(), from + kMembersAtOnce);
    for (std::size_t i = from; i < to; ++i) {
      const CopyMember& member = item.members[i];
      if (item.type == CopyType::zset) words.push_back(member.value);
      if (item.type != CopyType::list) words.push_back(member.name);
      if (item.type == CopyType::hash || item.type == CopyType::list) words.push_back(member.value);
    }
    dialogue.ask(good, Words(words));
  }
  put_field_deadlines(dialogue, item);
  if (item.deadline != kNever) dialogue.ask(good, "PEXPIREAT", item.key, ms_text(item.deadline));
  const auto done = [&item, &counts](const ReplyValue& reply) {
    counts.copied(item);
    return all_good(reply);
  };
  dialogue.ask(done, "EXEC");
}

void ServerTarget::put_field_deadlines(RespDialogue& dialogue, const CopyItem& item) const {
  std::map<Time, std::vector<std::string_view>> fields;
  for (const CopyMember& member : item.members) {
    if (member.deadline != kNever) fields[member.deadline].push_back(member.name);
  }
  for (const auto& [deadline, names] : fields) {
    const std::string ms = ms_text(deadline);
    for (std::size_t from = 0; from < names.size(); from += kMembersAtOnce) {
      const std::size_t to = std::min(names.size(), from + kMembersAtOnce);
      const std::string number = fmt::to_string(to - from);
      std::vector<std::string_view> words = {"HPEXPIREAT", item.key, ms, "FIELDS", number};
      words.insert(words.end(), names.begin() + static_cast<long>(from),
                   names.begin() + static_cast<long>(to));
      dialogue.ask(good, Words(words));
    }
  }
}

}  // namespace mayfly
