// SPDX-License-Identifier: Apache-2.0
// XXH3 of each key, and of each field of a hash, combined by exclusive or.

#include "server/persistence/digest.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "keyspace/hasher.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kSeeds[] = {1, 2, 3};

// Lengths go along, so that no two lists of parts read the same.
void append_part(std::string& thing, std::string_view part) {
  const std::uint64_t size = part.size();
  thing.append(reinterpret_cast<const char*>(&size), sizeof(size));
  thing.append(part);
}

void append_number(std::string& thing, std::int64_t number) {
  thing.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

void Digest::add(const std::string& thing) {
  for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] ^= hash_bytes(thing, kSeeds[i]);
}

std::string Digest::text() const {
  return fmt::format("{:016x}{:016x}{:08x}", bits_[0], bits_[1], bits_[2] & 0xFFFFFFFF);
}

Digest digest_of_value(const ExecContext& context, Database& database, Slot slot) {
  Digest digest;
  std::string thing;
  append_number(thing, database.deadline(slot).time_since_epoch().count());
  append_part(thing, type_name(database.type(slot)));
  const auto add_string = [&](std::string_view text) {
    append_part(thing, text);
    digest.add(thing);
  };
  const auto add_members = [&](const auto&) {
    digest.add(thing);
    database.members(context, slot).each([&](const Member& member) {
      std::string entry;
      append_part(entry, member.name);
      append_part(entry, member.value);
      append_number(entry, member.deadline.time_since_epoch().count());
      digest.add(entry);
      return true;
    });
  };
  visit_value(database.node(slot), Overloaded{add_string, add_members});
  return digest;
}

Digest digest_of(const ExecContext& context, Keyspace& keyspace) {
  Digest digest;
  for (int number = 0; number < keyspace.count(); ++number) {
    Database& database = keyspace[number];
    database.each([&](Slot slot) {
      if (!database.is_alive(context, slot)) return true;
      std::string thing;
      append_number(thing, number);
      append_part(thing, database.key(slot));
      append_part(thing, digest_of_value(context, database, slot).text());
      digest.add(thing);
      return true;
    });
  }
  return digest;
}

}  // namespace mayfly
