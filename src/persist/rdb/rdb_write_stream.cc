// SPDX-License-Identifier: Apache-2.0
// Streams, as rdb_stream.h describes them.

#include <algorithm>
#include <limits>

#include "persist/rdb/rdb_writer.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kCountNotKnown = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void RdbWriter::put_id(StreamId id) {
  put_length(id.ms);
  put_length(id.seq);
}

// The greatest byte first, so that the ids of blocks sort as they should.
void RdbWriter::put_id_key(StreamId id) {
  put_int64(static_cast<std::int64_t>(__builtin_bswap64(id.ms)));
  put_int64(static_cast<std::int64_t>(__builtin_bswap64(id.seq)));
}

void RdbWriter::put_time(Time moment) {
  put_int64(std::max<std::int64_t>(0, moment.time_since_epoch().count()));
}

void RdbWriter::put_stream(const Stream& stream, rdb::Type type) {
  put_length(stream.blocks());
  stream.each_block([this](StreamId first, std::string_view listpack) {
    put_length(2 * sizeof(std::uint64_t));
    put_id_key(first);
    put_string(listpack);
  });
  put_length(stream.size());
  put_id(stream.last_id());
  if (type != rdb::Type::stream) {
    put_id(stream.first_id());
    put_id(stream.max_deleted_id());
    put_length(stream.entries_added());
  }
  put_length(stream.groups().size());
  for (const auto& [name, group] : stream.groups()) {
    put_string(name);
    put_group(*group, type);
  }
}

void RdbWriter::put_group(const StreamGroup& group, rdb::Type type) {
  put_id(group.last_id);
  if (type != rdb::Type::stream) put_length(group.entries_read.value_or(kCountNotKnown));
  put_length(group.pending().size());
  for (const auto& [id, pending] : group.pending()) {
    put_id_key(id);
    put_time(pending.delivered);
    put_length(pending.deliveries);
  }
  put_length(group.consumers().size());
  for (const auto& [name, consumer] : group.consumers()) {
    put_string(name);
    put_consumer(*consumer, type);
  }
}

void RdbWriter::put_consumer(const StreamConsumer& consumer, rdb::Type type) {
  put_time(consumer.seen);
  if (type == rdb::Type::stream3) {
    consumer.active ? put_time(*consumer.active) : put_int64(-1);
  }
  put_length(consumer.pending.size());
  for (const StreamId id : consumer.pending) put_id_key(id);
}

}  // namespace mayfly
