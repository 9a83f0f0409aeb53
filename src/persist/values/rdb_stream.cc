// SPDX-License-Identifier: Apache-2.0
#include "persist/values/rdb_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

namespace mayfly {
namespace {

constexpr std::uint64_t kPartBytes = 1 << 18;  // 256 KiB of blocks at a time

constexpr std::uint64_t kIdBytes = 16;
constexpr std::uint64_t kTimeBytes = 8;
constexpr std::uint64_t kUnknownCount = std::numeric_limits<std::uint64_t>::max();

// The greatest byte first.
StreamId id_of(std::string_view bytes) {
  StreamId id;
  std::memcpy(&id.ms, bytes.data(), sizeof id.ms);
  std::memcpy(&id.seq, bytes.data() + sizeof id.ms, sizeof id.seq);
  return {__builtin_bswap64(id.ms), __builtin_bswap64(id.seq)};
}

}  // namespace

void RdbStream::begin(rdb::Type type) {
  type_ = type;
  stream_ = std::make_unique<Stream>();
  pending_.clear();
  groups_left_ = 0;
  blocks_left_ = reader_.count(2);
}

void RdbStream::go_on() {
  if (groups_left_ > 0) {
    --groups_left_;
    read_group();
  } else {
    read_blocks();
    if (blocks_left_ == 0) read_numbers();
  }
  reader_.release();
  if (!reader_.failed()) return;
  blocks_left_ = groups_left_ = 0;
  stream_.reset();
}

void RdbStream::read_blocks() {
  const std::uint64_t begin = reader_.offset();
  while (blocks_left_ > 0 && reader_.offset() - begin < kPartBytes) {
    --blocks_left_;
    const std::string_view first = reader_.string();
    const std::string_view listpack = reader_.string();
    if (reader_.failed()) return;
    if (first.size() != kIdBytes) return damaged("a block of a stream without its id");
    if (const std::string wrong = stream_->adopt_block(id_of(first), listpack); !wrong.empty()) {
      return damaged(wrong);
    }
    reader_.release();
  }
}

StreamId RdbStream::read_id() {
  const std::uint64_t ms = reader_.length();
  return {ms, reader_.length()};
}

StreamId RdbStream::read_id_key() {
  const std::string_view bytes = reader_.raw(kIdBytes);
  return reader_.failed() ? StreamId() : id_of(bytes);
}

Time RdbStream::read_time() {
  const auto ms = reader_.fixed<std::int64_t>();
  if (ms < 0) damaged(fmt::format("a time of {}", ms));
  return Time(Millis(ms));
}

void RdbStream::read_numbers() {
  const std::uint64_t entries = reader_.length();
  const StreamId last = read_id();
  StreamId deleted;
  std::uint64_t added = entries;
  if (type_ != rdb::Type::stream) {
    read_id();  // the first one: the blocks have it
    deleted = read_id();
    added = reader_.length();
  }
  const std::uint64_t groups = reader_.count(1);
  if (reader_.failed()) return;
  if (entries != stream_->size()) {
    return damaged(fmt::format("a stream of {} entries that claims {}", stream_->size(), entries));
  }
  if (last < stream_->top_id()) return damaged("a stream whose last id is before that of an entry");
  if (added < entries) return damaged("a stream with more entries than were added");
  stream_->set_last_id(last);
  stream_->set_max_deleted_id(deleted);
  stream_->set_entries_added(added);
  groups_left_ = groups;
}

void RdbStream::read_group() {
  const std::string_view name = reader_.string();
  const StreamId last = read_id();
  std::optional<std::uint64_t> read;
  if (type_ != rdb::Type::stream) {
    read = reader_.length();
    if (read == kUnknownCount) read.reset();
  }
  if (reader_.failed()) return;
  if (type_ == rdb::Type::stream) read = stream_->entries_up_to(last);
  StreamGroup* const group = stream_->make_group(name, last, read);
  if (group == nullptr) return damaged("duplicate group in a stream");
  reader_.release();
  read_pending();
  const std::uint64_t consumers = reader_.count(1 + kTimeBytes + 1);
  for (std::uint64_t i = 0; i < consumers && !reader_.failed(); ++i) read_consumer(*group);
  const auto is_free = [](const Delivery& pending) { return !pending.is_taken; };
  if (std::ranges::any_of(pending_, is_free)) damaged("a pending entry without a consumer");
  pending_.clear();
}

void RdbStream::read_pending() {
  const std::uint64_t count = reader_.count(kIdBytes + kTimeBytes + 1);
  for (std::uint64_t i = 0; i < count && !reader_.failed(); ++i) {
    const StreamId id = read_id_key();
    const Time delivered = read_time();
    pending_.push_back({id, delivered, reader_.length()});
    reader_.release();
  }
  // They are sorted, unless the file is damaged.
  std::ranges::sort(pending_, {}, &Delivery::id);
  const auto twice = std::ranges::adjacent_find(pending_, {}, &Delivery::id);
  if (twice != pending_.end()) damaged("duplicate pending entry in a group");
}

void RdbStream::read_consumer(StreamGroup& group) {
  const std::string_view name = reader_.string();
  const Time seen = read_time();
  std::optional<Time> active = seen;
  if (type_ == rdb::Type::stream3) {
    const auto ms = reader_.fixed<std::int64_t>();
    if (ms < -1) damaged(fmt::format("a time of {}", ms));
    active = ms < 0 ? std::nullopt : std::optional(Time(Millis(ms)));
  }
  const std::uint64_t count = reader_.count(kIdBytes);
  if (reader_.failed()) return;
  StreamConsumer* const consumer = group.make_consumer(name, seen);
  if (consumer == nullptr) return damaged("duplicate consumer in a group");
  consumer->active = active;
  reader_.release();
  for (std::uint64_t i = 0; i < count && !reader_.failed(); ++i) {
    const StreamId id = read_id_key();
    if (reader_.failed()) return;
    reader_.release();
    const auto found = std::ranges::lower_bound(pending_, id, {}, &Delivery::id);
    if (found == pending_.end() || found->id != id) {
      return damaged("an entry pending for a consumer, but not in its group");
    }
    if (found->is_taken) return damaged("an entry pending for two consumers");
    found->is_taken = true;
    group.deliver(id, *consumer, found->delivered, found->deliveries);
  }
}

}  // namespace mayfly
