// SPDX-License-Identifier: Apache-2.0
#include "cli/import/import_stream.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "cli/scratch_keyspace.h"
#include "persist/rdb/rdb_restore.h"
#include "persist/rdb/rdb_save.h"

namespace mayfly {
namespace {

std::optional<StreamId> id_in(std::string_view member) {
  if (member.size() != kStreamIdBytes) return std::nullopt;
  return StreamId{from_big_endian(member.substr(0, 8)), from_big_endian(member.substr(8))};
}

std::string bytes_of(StreamId id) { return big_endian(id.ms, 8) + big_endian(id.seq, 8); }

std::string bytes_of(std::span<const std::string_view> words) {
  std::string bytes;
  for (const std::string_view word : words) {
    bytes.append(big_endian(word.size(), kLengthBytes)).append(word);
  }
  return bytes;
}

Error not_imported() { return {Code::corrupt, "an entry was not written by an import"}; }

// Everything but the entries.
void move_state(Stream& from, Stream& to) {
  to.set_last_id(std::max(from.last_id(), to.last_id()));
  to.set_max_deleted_id(from.max_deleted_id());
  to.set_entries_added(std::max(from.entries_added(), to.entries_added()));
  to.groups() = std::move(from.groups());
}

}  // namespace

struct StreamCopier::Scratch : ScratchKeyspace {
  Result<Slot> restore(std::string_view payload) {
    return restore_value(context, database, "stream", payload, {.allows_newer = true});
  }
  void clear() {
    database.clear();
    keyspace.lazy_free().free_some(std::numeric_limits<std::size_t>::max());
  }

  const ExecContext context{};
};

StreamCopier::StreamCopier() : scratch_(std::make_unique<Scratch>()) {}
StreamCopier::~StreamCopier() = default;

Result<std::vector<CopyMember>> StreamCopier::members(std::string_view payload) {
  scratch_->clear();
  const Result<Slot> slot = scratch_->restore(payload);
  if (!slot) return Error{Code::corrupt, slot.error().message};
  Database& database = scratch_->database;
  if (database.type(*slot) != ValueType::stream) return Error{Code::invalid, "it is no stream"};
  std::vector<CopyMember> members(1);  // the state
  Stream& stream = database.stream(*slot);
  stream.each(kStreamIdMin, kStreamIdMax, true, [&](const StreamEntry& entry) {
    members.push_back({bytes_of(entry.id), bytes_of(entry.words)});
    return true;
  });
  auto state = std::make_unique<Stream>();
  move_state(stream, *state);
  members[0].value =
      dump_value(database, database.put_stream(scratch_->context, "stream", std::move(state)), {});
  scratch_->clear();
  return members;
}

Result<std::string> StreamCopier::payload(const std::vector<CopyMember>& members,
                                          rdb::Type newest) {
  auto stream = std::make_unique<Stream>();
  Database& database = scratch_->database;
  const CopyMember* state = nullptr;
  for (const CopyMember& member : members) {
    if (member.name.empty()) {
      state = &member;
      continue;
    }
    const std::optional<StreamId> id = id_in(member.name);
    const std::optional<std::vector<std::string_view>> words = stream_words(member.value);
    if (!id || !words || *id <= stream->last_id()) return not_imported();
    stream->append(*id, *words, {});
  }
  scratch_->clear();
  if (state != nullptr) {
    const Result<Slot> slot = scratch_->restore(state->value);
    if (!slot || database.type(*slot) != ValueType::stream) return not_imported();
    move_state(database.stream(*slot), *stream);
  }
  const Slot slot = database.put_stream(scratch_->context, "stream", std::move(stream));
  std::string payload = dump_value(database, slot, {.streams = newest});
  scratch_->clear();
  return payload;
}

std::optional<std::string> stream_id_text(std::string_view member) {
  const std::optional<StreamId> id = id_in(member);
  return id ? std::optional(id->text()) : std::nullopt;
}

std::optional<std::vector<std::string_view>> stream_words(std::string_view value) {
  std::vector<std::string_view> words;
  while (!value.empty()) {
    if (value.size() < kLengthBytes) return std::nullopt;
    const std::uint64_t size = from_big_endian(value.substr(0, kLengthBytes));
    value.remove_prefix(kLengthBytes);
    if (value.size() < size) return std::nullopt;
    words.push_back(value.substr(0, size));
    value.remove_prefix(size);
  }
  if (words.empty() || words.size() % 2 != 0) return std::nullopt;
  return words;
}

}  // namespace mayfly
