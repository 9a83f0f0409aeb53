// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_from_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "resp/numbers.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::size_t kKeysAtOnce = 100;   // limits the memory for large values
constexpr std::size_t kReadAtOnce = 1000;  // members of one key

Error source_error(const ReplyValue& reply) {
  return {Code::unsupported, fmt::format("the server replied with an error: {}", reply.text)};
}

std::optional<CopyType> type_named(std::string_view name) {
  const auto found = std::ranges::find(kCopyTypes, name);
  if (found == kCopyTypes.end()) return std::nullopt;
  return static_cast<CopyType>(found - kCopyTypes.begin());
}

// The score in its shortest form: servers format it differently.
std::string score_text(const std::string& text) {
  const std::optional<double> score = parse_double(text);
  return score ? format_double(*score) : text;
}

// HSCAN and the like may return a member twice; the last one is right.
void drop_repeated(std::vector<CopyMember>& members) {
  std::ranges::stable_sort(members, {}, &CopyMember::name);
  std::vector<CopyMember> unique;
  for (CopyMember& member : members) {
    if (!unique.empty() && unique.back().name == member.name) unique.pop_back();
    unique.push_back(std::move(member));
  }
  members = std::move(unique);
}

}  // namespace

ServerSource::ServerSource(RespClient client, ServerAddress address, Choice choice,
                           const Clock& clock)
    : client_(std::move(client)),
      address_(std::move(address)),
      choice_(std::move(choice)),
      clock_(clock),
      selected_(address_.database) {}

Result<std::unique_ptr<ServerSource>> ServerSource::open(const ServerAddress& address,
                                                         Choice choice, const Clock& clock) {
  Result<RespClient> client = RespClient::connect(address);
  if (!client) return client.error();
  return open(std::move(*client), address, std::move(choice), clock);
}

Result<std::unique_ptr<ServerSource>> ServerSource::open(RespClient client,
                                                         const ServerAddress& address,
                                                         Choice choice, const Clock& clock) {
  std::unique_ptr<ServerSource> source(
      new ServerSource(std::move(client), address, std::move(choice), clock));
  if (const Status status = source->probe_server(); !status) return status.error();
  return source;
}

Status ServerSource::probe_server() {
  if (const Status status = find_databases(); !status) return status;
  mark_ = ServerMark::identify(client_);
  const Result<bool> has_expiretime = knows_command(client_, "PEXPIRETIME");
  if (!has_expiretime) return has_expiretime.error();
  has_expiretime_ = *has_expiretime;
  for (std::size_t i = 0; i < kDeadlineCommands.size(); ++i) {
    if (kDeadlineCommands[i].read.empty()) continue;
    const Result<bool> expires = knows_command(client_, kDeadlineCommands[i].read);
    if (!expires) return expires.error();
    expires_members_[i] = *expires;
  }
  return Done{};
}

Status ServerSource::find_databases() {
  if (choice_.all_databases) {
    Result<std::vector<DatabaseKeys>> found = databases_of(client_);
    if (found) {
      databases_ = std::move(*found);
      return Done{};
    }
    // A user without the right to INFO: this database only. The summary names the others.
    if (found.error().code != Code::unsupported) return found.error();
  }
  const Result<ReplyValue> size = client_.call("DBSIZE");
  if (!size) return size.error();
  databases_ = {{address_.database, static_cast<std::uint64_t>(size->integer)}};
  return Done{};
}

bool ServerSource::is_cut_off() {
  const Result<ReplyValue> info = client_.call("INFO", "replication");
  return info && info_value(info->text, "master_link_status") == "down";
}

Result<double> ServerSource::total() {
  double keys = 0;
  for (const DatabaseKeys& database : databases_) keys += static_cast<double>(database.keys);
  return keys;
}

std::string ServerSource::place() const {
  if (at_ == databases_.size()) return "end";
  return fmt::format("{}:{}", databases_[at_].number, cursor_);
}

Status ServerSource::go_to(std::string_view place) {
  const std::size_t colon = place.find(':');
  const std::optional<std::int64_t> number = parse_integer(place.substr(0, colon));
  const auto found = std::ranges::find_if(
      databases_, [&](const DatabaseKeys& database) { return database.number >= number; });
  at_ = static_cast<std::size_t>(found - databases_.begin());
  const bool is_there = found != databases_.end() && found->number == number;
  cursor_ = is_there && colon != std::string_view::npos ? place.substr(colon + 1) : "0";
  return Done{};
}

Status ServerSource::select(int database) {
  if (database == selected_) return Done{};
  const Result<ReplyValue> reply = client_.call("SELECT", fmt::to_string(database));
  if (!reply) return reply.error();
  selected_ = database;
  return Done{};
}

Status ServerSource::scan(CopyCounts& counts) {
  if (at_ == databases_.size()) return Done{};
  read_from_ = databases_[at_].number;
  if (const Status status = select(read_from_); !status) return status;
  const std::string count = fmt::to_string(choice_.batch);
  Result<ReplyValue> page =
      choice_.match.empty() ? client_.call("SCAN", cursor_, "COUNT", count)
                            : client_.call("SCAN", cursor_, "COUNT", count, "MATCH", choice_.match);
  if (!page) return page.error();
  if (page->items.size() != 2) return Error{Code::corrupt, "invalid reply to SCAN"};
  cursor_ = page->items[0].text;
  if (cursor_ == "0") ++at_;
  waiting_.clear();
  changed_.clear();
  for (ReplyValue& key : page->items[1].items) waiting_.push_back(std::move(key.text));
  std::ranges::sort(waiting_);
  waiting_.erase(std::unique(waiting_.begin(), waiting_.end()), waiting_.end());
  counts.seen += waiting_.size();
  return Done{};
}

Result<std::vector<CopyItem>> ServerSource::read(CopyCounts& counts) {
  if (waiting_.empty()) {
    if (const Status status = scan(counts); !status) return status.error();
  }
  const std::size_t number = std::min(waiting_.size(), kKeysAtOnce);
  std::vector<std::string> keys(std::make_move_iterator(waiting_.end() - static_cast<long>(number)),
                                std::make_move_iterator(waiting_.end()));
  waiting_.resize(waiting_.size() - number);

  Result<std::vector<Reading>> readings = read_types(std::move(keys), counts);
  if (!readings) return readings.error();
  if (const Status status = read_values(*readings); !status) return status.error();
  if (const Status status = read_member_deadlines(*readings); !status) return status.error();

  std::vector<CopyItem> items;
  for (Reading& reading : *readings) {
    const bool is_empty = reading.item.type != CopyType::string && reading.item.members.empty();
    if (!reading.refusal.empty()) {
      counts.skip(reading.refusal, reading.item.key);
    } else if (reading.is_changed && changed_.insert(reading.item.key).second) {
      waiting_.push_back(std::move(reading.item.key));  // read it again
    } else if (reading.is_gone || reading.is_changed || is_empty) {
      ++counts.gone;
    } else {
      items.push_back(std::move(reading.item));
      items.back().database = read_from_;
    }
  }
  return items;
}

Result<std::vector<ServerSource::Reading>> ServerSource::read_types(std::vector<std::string> keys,
                                                                    CopyCounts& counts) {
  std::vector<Reading> readings;
  readings.reserve(keys.size());
  RespDialogue dialogue(client_);
  for (std::string& key : keys) {
    const auto take = [&](const ReplyValue& reply) -> Status {
      if (reply.kind == ReplyValue::Kind::error) return source_error(reply);
      const std::optional<CopyType> type = type_named(reply.text);
      if (type) {
        readings.emplace_back().item.type = *type;
        readings.back().item.key = std::move(key);
      } else if (reply.text == "none") {
        ++counts.gone;
      } else {
        counts.skip(escape_controls(reply.text), key);
      }
      return Done{};
    };
    dialogue.ask(take, "TYPE", key);
  }
  if (const Status status = dialogue.finish(); !status) return status.error();
  return readings;
}

Status ServerSource::read_values(std::vector<Reading>& readings) {
  RespDialogue dialogue(client_);
  for (Reading& reading : readings) {
    ask_page(dialogue, reading);
    ask_deadline(dialogue, reading);
  }
  if (const Status status = dialogue.finish(); !status) return status;
  for (Reading& reading : readings) {
    if (!reading.has_more) continue;
    if (const Status status = read_rest(reading); !status) return status;
  }
  return Done{};
}

// Reads the deadline again, so that a key deleted meanwhile is not copied in part.
Status ServerSource::read_rest(Reading& reading) {
  while (reading.has_more) {
    RespDialogue dialogue(client_);
    ask_page(dialogue, reading);
    if (const Status status = dialogue.finish(); !status) return status;
  }
  if (reading.item.type != CopyType::list) drop_repeated(reading.item.members);
  RespDialogue dialogue(client_);
  ask_deadline(dialogue, reading);
  return dialogue.finish();
}

void ServerSource::ask_page(RespDialogue& dialogue, Reading& reading) {
  const auto take = [this, &reading](ReplyValue& reply) { return take_page(reading, reply); };
  const std::string& key = reading.item.key;
  const std::string count = fmt::to_string(kReadAtOnce);
  switch (reading.item.type) {
    case CopyType::string:
      return dialogue.ask(take, "GET", key);
    case CopyType::hash:
      return dialogue.ask(take, "HSCAN", key, reading.cursor, "COUNT", count);
    case CopyType::set:
      return dialogue.ask(take, "SSCAN", key, reading.cursor, "COUNT", count);
    case CopyType::zset:
      return dialogue.ask(take, "ZSCAN", key, reading.cursor, "COUNT", count);
    case CopyType::stream:
      return dialogue.ask(take, "DUMP", key);
    case CopyType::list:
      const std::size_t from = reading.item.members.size();
      return dialogue.ask(take, "LRANGE", key, fmt::to_string(from),
                          fmt::to_string(from + kReadAtOnce - 1));
  }
}

// A stream comes whole: DUMP is the only command that tells everything about its groups.
Status ServerSource::take_stream(Reading& reading, const ReplyValue& reply) {
  reading.is_gone = reply.kind == ReplyValue::Kind::null;
  if (reading.is_gone) return Done{};
  if (reply.kind == ReplyValue::Kind::error) {
    reading.refusal = fmt::format("stream, DUMP failed: {}", reply.text);
    return Done{};
  }
  Result<std::vector<CopyMember>> members = streams_.members(reply.text);
  if (members) {
    reading.item.members = std::move(*members);
  } else if (members.error().code == Code::invalid) {
    reading.is_changed = true;
  } else {
    reading.refusal = "stream in a format that is not supported";
  }
  return Done{};
}

Status ServerSource::take_page(Reading& reading, ReplyValue& reply) {
  reading.has_more = false;
  if (reading.item.type == CopyType::stream) return take_stream(reading, reply);
  if (reply.kind == ReplyValue::Kind::error && reply.text.starts_with("WRONGTYPE")) {
    reading.is_changed = true;
    return Done{};
  }
  if (reply.kind == ReplyValue::Kind::error) return source_error(reply);
  CopyItem& item = reading.item;
  if (item.type == CopyType::string) {
    reading.is_gone = reply.kind == ReplyValue::Kind::null;
    item.value = std::move(reply.text);
    return Done{};
  }
  if (item.type == CopyType::list) {
    for (ReplyValue& element : reply.items) item.members.push_back({"", std::move(element.text)});
    reading.has_more = reply.items.size() == kReadAtOnce;
    return Done{};
  }
  if (reply.items.size() != 2)
    return Error{Code::corrupt, "invalid reply to HSCAN, SSCAN or ZSCAN"};
  reading.cursor = reply.items[0].text;
  reading.has_more = reading.cursor != "0";
  std::vector<ReplyValue>& words = reply.items[1].items;
  const std::size_t step = item.type == CopyType::set ? 1 : 2;
  for (std::size_t i = 0; i + step <= words.size(); i += step) {
    CopyMember& member = item.members.emplace_back();
    member.name = std::move(words[i].text);
    if (item.type == CopyType::hash) member.value = std::move(words[i + 1].text);
    if (item.type == CopyType::zset) member.value = score_text(words[i + 1].text);
  }
  return Done{};
}

void ServerSource::ask_deadline(RespDialogue& dialogue, Reading& reading) {
  const auto take = [this, &reading](const ReplyValue& reply) {
    return take_deadline(reading, reply);
  };
  const auto take_time = [this, &reading](const ReplyValue& reply) -> Status {
    if (reading.ttl < Millis(0)) return Done{};
    Time now = clock_.now();
    if (reply.kind == ReplyValue::Kind::array && reply.items.size() == 2) {
      const std::int64_t seconds = parse_integer(reply.items[0].text).value_or(0);
      const std::int64_t micros = parse_integer(reply.items[1].text).value_or(0);
      now = Time(Millis(seconds * 1000 + (micros + 999) / 1000));
    }
    reading.item.deadline = deadline_after(now, reading.ttl);
    return Done{};
  };
  const std::string& key = reading.item.key;
  if (has_expiretime_) return dialogue.ask(take, "PEXPIRETIME", key);
  dialogue.ask(take, "PTTL", key);
  dialogue.ask(take_time, "TIME");
}

// -1: none. -2: the key does not exist.
Status ServerSource::take_deadline(Reading& reading, const ReplyValue& reply) {
  if (reply.kind == ReplyValue::Kind::error) return source_error(reply);
  reading.item.deadline = kNever;
  reading.ttl = Millis(reply.integer);
  if (reply.integer == -2) reading.is_gone = true;
  if (reply.integer >= 0 && has_expiretime_) reading.item.deadline = Time(Millis(reply.integer));
  return Done{};
}

Status ServerSource::read_member_deadlines(std::vector<Reading>& readings) {
  RespDialogue dialogue(client_);
  for (Reading& reading : readings) {
    if (expires_members_[static_cast<std::size_t>(reading.item.type)]) {
      ask_member_deadlines(dialogue, reading);
    }
  }
  return dialogue.finish();
}

void ServerSource::ask_member_deadlines(RespDialogue& dialogue, Reading& reading) {
  const auto& [command, ignored, word] =
      kDeadlineCommands[static_cast<std::size_t>(reading.item.type)];
  std::vector<CopyMember>& members = reading.item.members;
  for (std::size_t from = 0; from < members.size(); from += kReadAtOnce) {
    const std::size_t to = std::min(members.size(), from + kReadAtOnce);
    const std::string number = fmt::to_string(to - from);
    std::vector<std::string_view> words = {command, reading.item.key, word, number};
    for (std::size_t i = from; i < to; ++i) words.push_back(members[i].name);
    const auto take = [&members, from](const ReplyValue& reply) -> Status {
      if (reply.kind == ReplyValue::Kind::error && reply.text.starts_with("WRONGTYPE"))
        return Done{};
      if (reply.kind == ReplyValue::Kind::error) return source_error(reply);
      const std::size_t asked = std::min(members.size() - from, kReadAtOnce);
      for (std::size_t i = 0; i < std::min(reply.items.size(), asked); ++i) {
        const std::int64_t ms = reply.items[i].integer;
        // A member that was deleted is due at once, so that the target skips it.
        if (ms >= 0 || ms == -2) members[from + i].deadline = Time(Millis(std::max(ms, 0L)));
      }
      return Done{};
    };
    dialogue.ask(take, Words(words));
  }
}

}  // namespace mayfly
