// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/moves/slot_filter.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "commands/words.h"
#include "keyspace/stream/stream_cursor.h"
#include "resp/encode.h"

namespace mayfly {
namespace {

constexpr std::string_view kMulti = "*1\r\n$5\r\nMULTI\r\n";
constexpr std::string_view kExec = "*1\r\n$4\r\nEXEC\r\n";

// An entry of the expiry log.
struct LoggedExpiry {
  std::string_view key;
  std::string_view type;
  std::string_view member;
  bool has_key = false;
  bool has_member = false;
};

LoggedExpiry read_logged(std::span<const std::string_view> words) {
  LoggedExpiry expiry;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "key") expiry.key = words[i + 1], expiry.has_key = true;
    if (words[i] == "member") expiry.member = words[i + 1], expiry.has_member = true;
    if (words[i] == "type") expiry.type = words[i + 1];
  }
  return expiry;
}

// The command that removes a member of a key of this type.
std::string_view member_removal(std::string_view type) {
  if (type == "set") return "SREM";
  return type == "zset" ? "ZREM" : "HDEL";
}

}  // namespace

SlotFilter::SlotFilter(const CommandTable& commands, const SlotSet& slots, std::size_t bytes_max,
                       std::string_view left_out)
    : commands_(commands), slots_(slots), bytes_max_(bytes_max), left_out_(left_out) {}

void SlotFilter::take(int database, std::string_view command) {
  if (!failure_.empty()) return;
  if (database == kAnyDatabase) {
    in_unit_ = command == kMulti;
    if (!in_unit_) end_unit();
    return;
  }
  if (database != 0) return;
  parser_.reset();
  if (parser_.parse(command) != Parsed::request) return fail("a command cannot be read");
  take_words(parser_.words(), command);
  if (!in_unit_) end_unit();
}

void SlotFilter::take_words(Words words, std::string_view bytes) {
  const Command* const found = commands_.find(words[0]);
  const Command* const command = found == nullptr ? nullptr : commands_.resolve(*found, words);
  if (command == nullptr) return fail(fmt::format("'{}' is no command", words[0]));
  if (command->name == "flushall" || command->name == "flushdb") {
    return fail("all keys were removed (FLUSHALL)");
  }
  if (command->name == "xexpired") return take_expired(words[2], words[3]);
  std::size_t wanted = 0;
  std::size_t others = 0;
  each_key(*command, words, [&](std::string_view key) { ++(wants(key) ? wanted : others); });
  if (wanted == 0) return;
  if (others == 0) return keep(bytes);
  if (command->name == "del" || command->name == "unlink") return take_removal(words);
  fail(fmt::format("'{}' wrote to several slots, and only some of them move", command->name));
}

void SlotFilter::take_removal(Words words) {
  std::vector<std::string_view> kept = {words[0]};
  for (const std::string_view key : words.subspan(1)) {
    if (wants(key)) kept.push_back(key);
  }
  std::string bytes;
  append_request(bytes, kept);
  keep(bytes);
}

// REQUIRES: the block is sound, as it comes from this server.
void SlotFilter::take_expired(std::string_view id, std::string_view block_bytes) {
  const std::optional<StreamId> first = parse_stream_id(id, 0);
  if (!first) return fail("XEXPIRED has a wrong id");
  const StreamBlock block(*first, block_bytes);
  StreamBlockCursor cursor(block);
  StreamWords reader;
  std::string bytes;
  while (cursor.next()) {
    const LoggedExpiry expiry = read_logged(reader.read(cursor));
    if (!expiry.has_key || !wants(expiry.key)) continue;
    std::vector<std::string_view> words = {"UNLINK", expiry.key};
    if (expiry.has_member) words = {member_removal(expiry.type), expiry.key, expiry.member};
    bytes.clear();
    append_request(bytes, words);
    keep(bytes);
  }
}

void SlotFilter::keep(std::string_view bytes) {
  if (bytes_.size() + unit_.size() + bytes.size() > bytes_max_) {
    return fail(
        "more is written than the target takes (see client-output-buffer-limit, class replica)");
  }
  unit_ += bytes;
  ++unit_count_;
  ++count_;
}

void SlotFilter::end_unit() {
  if (unit_count_ > 1) bytes_ += kMulti;
  bytes_ += unit_;
  if (unit_count_ > 1) bytes_ += kExec;
  unit_.clear();
  unit_count_ = 0;
}

std::string SlotFilter::take_bytes() { return std::exchange(bytes_, {}); }

void SlotFilter::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  bytes_ = {};
  unit_ = {};
  unit_count_ = 0;
}

}  // namespace mayfly
