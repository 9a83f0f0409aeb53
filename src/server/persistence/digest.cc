// SPDX-License-Identifier: Apache-2.0
// XXH3 of each key, and of each member, element or entry, combined by exclusive or.

#include "server/persistence/digest.h"

#include <fmt/format.h>

#include <cstdint>
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

void append_id(std::string& thing, StreamId id) {
  append_number(thing, static_cast<std::int64_t>(id.ms));
  append_number(thing, static_cast<std::int64_t>(id.seq));
}

// Elements count with their places.
void add_list(Digest& digest, const ListValue auto& list) {
  std::int64_t index = 0;
  list.each_chunk([&](const ListEntries& chunk) {
    const char* at = chunk.bytes.data();
    for (std::size_t i = 0; i < chunk.count; ++i) {
      ListpackValue value;
      char scratch[24];
      at = read_entry(at, value);
      std::string thing;
      append_number(thing, index++);
      append_part(thing, value.as_text(scratch));
      digest.add(thing);
    }
  });
}

void add_group(Digest& digest, std::string_view name, const StreamGroup& group) {
  std::string begin;
  append_part(begin, "group");
  append_part(begin, name);
  std::string thing = begin;
  append_id(thing, group.last_id);
  append_number(thing, static_cast<std::int64_t>(group.entries_read.value_or(UINT64_MAX)));
  digest.add(thing);
  for (const auto& [consumer_name, consumer] : group.consumers()) {
    thing = begin;
    append_part(thing, consumer_name);
    digest.add(thing);
  }
  for (const auto& [id, pending] : group.pending()) {
    thing = begin;
    append_part(thing, pending.consumer->name);
    append_id(thing, id);
    append_number(thing, pending.delivered.time_since_epoch().count());
    append_number(thing, static_cast<std::int64_t>(pending.deliveries));
    digest.add(thing);
  }
}

// Not when consumers were seen or active: replicas and logs are not told.
void add_stream(Digest& digest, const Stream& stream) {
  std::string thing;
  append_id(thing, stream.last_id());
  append_id(thing, stream.max_deleted_id());
  append_number(thing, static_cast<std::int64_t>(stream.entries_added()));
  digest.add(thing);
  stream.each(kStreamIdMin, kStreamIdMax, true, [&](const StreamEntry& entry) {
    thing.clear();
    append_id(thing, entry.id);
    for (const std::string_view word : entry.words) append_part(thing, word);
    digest.add(thing);
    return true;
  });
  for (const auto& [name, group] : stream.groups()) add_group(digest, name, *group);
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
  append_number(thing, database.stale_time(slot).count());
  append_part(thing, type_name(database.type(slot)));
  const auto add_string = [&](std::string_view text) {
    append_part(thing, text);
    digest.add(thing);
  };
  const auto add_members = [&] {
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
  visit_value(database.node(slot),
              Overloaded{add_string, [&](const MembersValue auto&) { add_members(); },
                         [&](const ListValue auto& list) {
                           digest.add(thing);
                           add_list(digest, list);
                         },
                         [&](const Stream& stream) {
                           digest.add(thing);
                           add_stream(digest, stream);
                         }});
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
