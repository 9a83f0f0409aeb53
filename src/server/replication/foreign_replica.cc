// SPDX-License-Identifier: Apache-2.0
#include "server/replication/foreign_replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "commands/words.h"
#include "persist/rdb/rdb_format.h"
#include "persist/rdb/rdb_parser.h"

namespace mayfly {
namespace {

constexpr std::array<std::string_view, 7> kOwnCommands = {
    "spexpireat", "saddex", "spersist", "zpexpireat", "zaddex", "zpersist", "xexpired"};

bool is_known(ValueType type, KnownDeadlines known) {
  return known == KnownDeadlines::all ||
         (known == KnownDeadlines::fields && type == ValueType::hash);
}

// Takes "*3\r\n" or "$3\r\n" from the request; 0 if there is none.
std::size_t take_length(std::string_view& request, char kind) {
  std::size_t length = 0;
  if (!request.starts_with(kind)) return 0;
  const char* const end = request.data() + request.size();
  const std::from_chars_result read = std::from_chars(request.data() + 1, end, length);
  const auto size = static_cast<std::size_t>(read.ptr - request.data()) + 2;
  if (read.ec != std::errc() || size > request.size()) return 0;
  request.remove_prefix(size);
  return length;
}

std::string_view take_word(std::string_view& request) {
  const std::size_t length = take_length(request, '$');
  if (length + 2 > request.size()) return {};
  const std::string_view word = request.substr(0, length);
  request.remove_prefix(length + 2);
  return word;
}

// RESTORE key ttl payload: whether the value is in a type of our own.
bool restores_own_type(std::string_view rest) {
  take_word(rest);
  const std::string_view payload = take_word(rest);
  return !payload.empty() &&
         static_cast<unsigned char>(payload[0]) >= static_cast<unsigned>(rdb::Type::set_deadlines);
}

// SET key value PXAT ms PSTALE ms, of which `rest` begins with the value.
bool sets_stale_time(std::size_t count, std::string_view rest) {
  constexpr std::size_t kWords = 7;
  if (count != kWords) return false;
  for (int i = 0; i < 3; ++i) take_word(rest);
  return equals(take_word(rest), "pstale");
}

// What is wrong about the first key that has a stale time; nothing if no key has.
std::string stale_key(const Database& database) {
  std::string about;
  if (!database.knows_stale_times()) return about;
  database.visit_deadlines(Time::min(), kNever, [&](Slot slot, Time) {
    if (database.stale_time(slot) == Millis(0)) return true;
    about = fmt::format("the key '{}' in database {} has a stale time",
                        printable(database.key(slot)), database.number());
    return false;
  });
  return about;
}

}  // namespace

std::string unknown_deadlines(Keyspace& keyspace, KnownDeadlines known) {
  std::string about;
  for (int i = 0; i < keyspace.count() && about.empty(); ++i) {
    const Database& database = keyspace[i];
    database.visit_member_deadlines(Time::min(), kNever, [&](Slot slot, Time) {
      if (is_known(database.type(slot), known)) return true;
      about = fmt::format("the {} '{}' in database {} has {} with deadlines",
                          type_name(database.type(slot)), printable(database.key(slot)), i,
                          database.type(slot) == ValueType::hash ? "fields" : "members");
      return false;
    });
    if (about.empty() && known != KnownDeadlines::all) about = stale_key(database);
  }
  return about;
}

std::string mayfly_only(std::string_view request) {
  const std::size_t count = take_length(request, '*');
  const std::string_view name = take_word(request);
  if (name.empty() || (name[0] | 0x20) < 'r' || (name[0] | 0x20) > 'z') return {};
  const std::string_view key = take_word(request);
  bool is_own = false;
  if (equals(name, "restore")) {
    is_own = restores_own_type(request);
  } else if (equals(name, "set")) {
    is_own = sets_stale_time(count, request);
  } else {
    is_own =
        std::ranges::any_of(kOwnCommands, [&](std::string_view own) { return equals(name, own); });
  }
  return is_own ? fmt::format("{} of the key '{}'", name, printable(key)) : "";
}

}  // namespace mayfly
