// SPDX-License-Identifier: Apache-2.0
// A stream as a whole: copies, files, memory, checks.

#include <algorithm>

#include "keyspace/stream/stream.h"
#include "keyspace/stream/stream_cursor.h"

namespace mayfly {
namespace {

constexpr std::size_t kGroupLinks = 4 * sizeof(void*);  // of a node of std::map, beside its value

// What a deque with so many blocks allocates, as libstdc++ does it: chunks, and a list of them.
std::size_t deque_bytes(std::size_t blocks) {
  constexpr std::size_t kChunk = 512;
  const std::size_t chunks = blocks / (kChunk / sizeof(StreamBlock)) + 1;
  return chunks * kChunk + std::max<std::size_t>(8, chunks + 2) * sizeof(void*);
}

}  // namespace

std::unique_ptr<Stream> Stream::clone() const {
  auto copy = std::make_unique<Stream>();
  for (const StreamBlock& block : blocks_) {
    copy->push_block(StreamBlock(block.first(), block.listpack()));
  }
  copy->size_ = size_;
  copy->first_id_ = first_id_;
  copy->front_skipped_ = front_skipped_;
  copy->last_id_ = last_id_;
  copy->max_deleted_id_ = max_deleted_id_;
  copy->entries_added_ = entries_added_;
  for (const auto& [name, group] : groups_) copy->groups_.emplace(name, group->clone());
  return copy;
}

void Stream::each_block(const std::function<void(StreamId, std::string_view)>& visit) const {
  for (const StreamBlock& block : blocks_) visit(block.first(), block.listpack());
}

std::string Stream::adopt_block(StreamId first, std::string_view listpack) {
  if (std::string wrong = check_stream_block(first, listpack); !wrong.empty()) return wrong;
  if (!blocks_.empty() && first <= blocks_.back().last()) return "stream blocks out of order";
  push_block(StreamBlock(first, listpack));
  const std::size_t live = blocks_.back().live();
  const bool was_empty = size_ == 0;
  size_ += live;
  entries_added_ += live;
  last_id_ = std::max(last_id_, blocks_.back().last());
  if (was_empty) find_first();
  return "";
}

std::size_t Stream::weight() const {
  std::size_t weight = size_;
  for (const auto& [name, group] : groups_) weight += 1 + group->weight();
  return weight;
}

std::size_t Stream::free_some(std::size_t limit) {
  std::size_t freed = 0;
  while (freed < limit && !blocks_.empty()) {
    freed += blocks_.front().live();
    drop_block(0);
  }
  while (freed < limit && !groups_.empty()) {
    StreamGroup& group = *groups_.begin()->second;
    freed += group.free_some(limit - freed);
    if (group.weight() > 0) break;
    groups_.erase(groups_.begin());
    ++freed;
  }
  return weight();
}

std::size_t Stream::bytes() const {
  std::size_t bytes = sizeof *this + block_bytes_ + deque_bytes(blocks_.size());
  for (const auto& [name, group] : groups_) {
    bytes += kGroupLinks + sizeof(Groups::value_type) + name.capacity() + group->bytes();
  }
  return bytes;
}

std::string Stream::check_front() const {
  StreamId first;
  for (std::size_t i = 0; i < blocks_.size() && first == kStreamIdMin; ++i) {
    StreamBlockCursor cursor(blocks_[i]);
    bool has_skipped = i > 0 || front_skipped_ == 0;
    while (first == kStreamIdMin && cursor.next()) {
      has_skipped = has_skipped || cursor.skipped() == front_skipped_;
      if (!cursor.is_deleted()) first = cursor.id();
    }
    if (!has_skipped) return "the skipped bytes are wrong";
  }
  return first == first_id_ ? "" : "the first id is wrong";
}

std::string Stream::check_invariants() const {
  std::size_t size = 0;
  std::size_t bytes = 0;
  StreamId last;
  for (const StreamBlock& block : blocks_) {
    std::string wrong = check_stream_block(block.first(), block.listpack());
    if (!wrong.empty()) return wrong;
    if (&block != &blocks_.front() && block.first() <= last) return "blocks out of order";
    size += block.live();
    bytes += block.allocated();
    last = block.last();
  }
  if (size != size_) return "the number of entries is wrong";
  if (bytes != block_bytes_) return "the bytes of the blocks are wrong";
  if (last > last_id_) return "an entry behind the last id";
  if (std::string wrong = check_front(); !wrong.empty()) return wrong;
  for (const auto& [name, group] : groups_) {
    std::string wrong = group->check_invariants();
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace mayfly
