// SPDX-License-Identifier: Apache-2.0
// What the commands of streams share: reading ids, replying with entries, and telling replicas what
// was delivered.
//
// Groups, consumers and pending entries are no part of what WATCH sees, nor do they wake clients
// that wait for entries: such changes are counted, but the key is not reported as changed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "keyspace/stream/stream.h"

namespace mayfly {

// ---- Reading ids. After an error reply they return nothing. ----

// "ms-seq", or "ms" with 0 as its number.
std::optional<StreamId> read_stream_id(Call& call, std::size_t i);

// All words from `first` on.
std::optional<std::vector<StreamId>> read_stream_ids(Call& call, std::size_t first);

// The bounds of a range: an id, `-`, `+`, or `(` and an id that is not included.
std::optional<StreamId> read_range_start(Call& call, std::size_t i);
std::optional<StreamId> read_range_end(Call& call, std::size_t i);

void fail_stream_id(Call& call);

// ---- Replying ----

void reply_stream_id(Reply& reply, StreamId id);

// [id, [field, value, ...]]
void reply_stream_entry(Reply& reply, const StreamEntry& entry);

// The entry with this id. Returns false, without a reply, if there is none.
bool reply_stream_entry(Reply& reply, const Stream& stream, StreamId id);

// An array of at most `most` entries between the ids, both included.
struct EntryRange {
  StreamId from = kStreamIdMin;
  StreamId to = kStreamIdMax;
  bool is_forward = true;
  std::size_t most = SIZE_MAX;
};
void reply_stream_entries(Reply& reply, const Stream& stream, const EntryRange& range);

// ---- Groups ----

// The stream at the slot, or null for kNoSlot.
Stream* stream_at(Call& call, Slot slot);

// A group of a stream, as a command names it.
struct GroupUse {
  std::string_view key;
  std::string_view name;
  Stream* stream = nullptr;
  StreamGroup* group = nullptr;
};

// "NOGROUP No such key ... or consumer group ...", and `where` behind it.
void fail_no_group(Call& call, std::string_view key, std::string_view group,
                   std::string_view where = {});

// The consumer, which is created if there is none, with `xgroup-createconsumer`. It was seen now.
struct ConsumerUse {
  StreamConsumer& consumer;
  bool is_new;
};
ConsumerUse use_consumer(Call& call, const GroupUse& use, std::string_view name);

// ---- Propagating. Nothing is built if there is no receiver. ----

// XCLAIM of one pending entry, with its owner, time and count, and the last id of the group. If the
// entry is gone from the stream, the receiver forgets that it is pending.
void propagate_claim(Call& call, const GroupUse& use, StreamId id, const StreamPending& pending);

// XGROUP SETID: the last id of the group and how many entries it has read.
void propagate_group_id(Call& call, const GroupUse& use);

// XGROUP CREATECONSUMER
void propagate_consumer(Call& call, const GroupUse& use, std::string_view consumer);

}  // namespace mayfly
