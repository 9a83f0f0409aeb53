// SPDX-License-Identifier: Apache-2.0
// Values: which type of the RDB format they are written as, and how.

#include <algorithm>
#include <cmath>

#include "keyspace/value.h"
#include "persist/rdb/rdb_writer.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

// A small key has at most so many members and bytes: what any reader takes for a listpack.
constexpr std::size_t kListpackMembersMax = 512;
constexpr std::size_t kListpackBytesMax = 1 << 24;  // 16 MiB; listpacks must stay below 1 GiB

// The longest text in a listpack of one text.
constexpr std::size_t kPackedTextMax = 8192;

// The types that a key with members is written as.
struct MemberTypes {
  rdb::Type small;
  rdb::Type large;
  rdb::Type with_deadlines;
};
constexpr MemberTypes kHashTypes = {rdb::Type::hash_listpack, rdb::Type::hash, rdb::Type::hash2};
constexpr MemberTypes kSetTypes = {rdb::Type::set, rdb::Type::set, rdb::Type::set_deadlines};
constexpr MemberTypes kZsetTypes = {rdb::Type::zset_listpack, rdb::Type::zset2,
                                    rdb::Type::zset_deadlines};

const MemberTypes& types_of(ValueType type) {
  if (type == ValueType::set) return kSetTypes;
  return type == ValueType::zset ? kZsetTypes : kHashTypes;
}

bool is_small(const KeyNode& node, const PackedView& packed) {
  return node.is_beyond_limits == 0 && packed.count() <= kListpackMembersMax &&
         packed.bytes() <= kListpackBytesMax;
}

bool has_deadlines(rdb::Type type) {
  using enum rdb::Type;
  return type == hash2 || type == set_deadlines || type == zset_deadlines;
}

bool precedes(const Member& one, const Member& other) {
  if (one.score() != other.score()) return one.score() < other.score();
  return one.name < other.name;
}

// Whether a consumer has asked after it was active last, or was never active.
bool has_idle_consumers(const Stream& stream) {
  for (const auto& [group_name, group] : stream.groups()) {
    for (const auto& [name, consumer] : group->consumers()) {
      if (consumer->active != consumer->seen) return true;
    }
  }
  return false;
}

rdb::Type stream_type(const Stream& stream, rdb::Type newest) {
  const bool needs_third = newest == rdb::Type::stream3 && has_idle_consumers(stream);
  return needs_third ? newest : std::min(newest, rdb::Type::stream2);
}

std::size_t chunks_of(const PackedListView&) { return 1; }
std::size_t chunks_of(const ChunkedList& list) { return list.chunks(); }

}  // namespace

rdb::Type RdbWriter::type_of(const Database& database, Slot slot, const RdbOptions& options) {
  const KeyNode& node = database.node(slot);
  const MemberTypes& types = types_of(mayfly::type_of(node));
  if (node.has_member_deadlines != 0) return types.with_deadlines;
  return visit_value(
      node, Overloaded{[](std::string_view) { return rdb::Type::string; },
                       [&](const PackedView& packed) {
                         return is_small(node, packed) ? types.small : types.large;
                       },
                       [](const IntSetView&) { return rdb::Type::set_intset; },
                       [&](const MemberTable&) { return types.large; },
                       [](const ListValue auto&) { return rdb::Type::list_quicklist2; },
                       [&](const Stream& stream) { return stream_type(stream, options.streams); }});
}

void RdbWriter::value(Database& database, Slot slot) {
  const KeyNode& node = database.node(slot);
  const rdb::Type type = type_of(database, slot, options_);
  visit_value(node, Overloaded{[&](std::string_view text) { put_string(text); },
                               [&](const MembersValue auto&) { put_members_as(node, type); },
                               [&](const ListValue auto& list) { put_list(list); },
                               [&](const Stream& stream) { put_stream(stream, type); }});
}

void RdbWriter::put_members_as(const KeyNode& node, rdb::Type type) {
  switch (type) {
    case rdb::Type::hash_listpack:
      return put_listpack(node);
    case rdb::Type::zset_listpack:
      return put_sorted_listpack(node);
    case rdb::Type::set_intset:
      return put_intset(node);
    default:
      return put_members(node, type);
  }
}

void RdbWriter::put_members(const KeyNode& node, rdb::Type type) {
  visit_members(node, [&](const auto& members) {
    put_length(members.count());
    members.each([&](const Member& member) {
      put_member(member, type);
      return !has_failed();
    });
  });
}

void RdbWriter::put_member(const Member& member, rdb::Type type) {
  put_string(member.name);
  if (type == rdb::Type::hash || type == rdb::Type::hash2) put_string(member.value);
  if (type == rdb::Type::zset2 || type == rdb::Type::zset_deadlines) put_bytes(member.value);
  if (has_deadlines(type)) put_deadline(member.deadline);
}

void RdbWriter::put_listpack(const KeyNode& node) {
  listpack_.clear();
  PackedView(node.value()).each([&](const Member& field) {
    listpack_.add(field.name);
    listpack_.add(field.value);
    return true;
  });
  put_string(listpack_.finish());
}

// The integers lie in the key as they do in the file; only the header differs.
void RdbWriter::put_intset(const KeyNode& node) {
  const IntSetView integers(node.value());
  char header[8];
  write_little(write_little(header, integers.width(), 4), integers.count(), 4);
  std::string bytes(header, sizeof header);
  put_string(bytes.append(node.value().substr(kIntSetEmptySize)));
}

// By score and name: other servers search such a listpack in that order.
void RdbWriter::put_sorted_listpack(const KeyNode& node) {
  sorted_.clear();
  PackedView(node.value()).each([&](const Member& member) {
    sorted_.push_back(member);
    return true;
  });
  std::ranges::sort(sorted_, precedes);
  listpack_.clear();
  for (const Member& member : sorted_) {
    listpack_.add(member.name);
    listpack_.add(format_double(member.score()));
  }
  put_string(listpack_.finish());
}

template <class List>
void RdbWriter::put_list(const List& list) {
  put_length(chunks_of(list));
  list.each_chunk([this](const ListEntries& chunk) { put_chunk(chunk); });
}

// A long text goes without a copy, and a listpack could not hold one of a GiB.
void RdbWriter::put_chunk(const ListEntries& chunk) {
  if (chunk.count == 1) {
    ListpackValue only;
    read_entry(chunk.bytes.data(), only);
    if (only.text.size() > kPackedTextMax) {
      put_length(rdb::kPlainNode);
      return put_string(only.text);
    }
  }
  put_length(rdb::kPackedNode);
  listpack_.clear();
  listpack_.add_entries(chunk.bytes, chunk.count);
  put_string(listpack_.finish());
}

}  // namespace mayfly
