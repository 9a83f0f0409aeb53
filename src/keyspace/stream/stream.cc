// SPDX-License-Identifier: Apache-2.0
#include "keyspace/stream/stream.h"

#include <algorithm>
#include <cassert>

#include "keyspace/stream/stream_cursor.h"

namespace mayfly {
namespace {

constexpr std::size_t kBlockRoomMost = 4096;  // that a block gets at first

}  // namespace

Stream::Stream() = default;
Stream::~Stream() = default;

// ---- Blocks ----

template <class Change>
auto Stream::change_block(std::size_t index, Change change) {
  StreamBlock& block = blocks_[index];
  block_bytes_ -= block.allocated();
  const auto result = change(block);
  block_bytes_ += block.allocated();
  return result;
}

void Stream::push_block(StreamBlock block) {
  block_bytes_ += block.allocated();
  blocks_.push_back(std::move(block));
}

void Stream::drop_block(std::size_t index) {
  block_bytes_ -= blocks_[index].allocated();
  size_ -= blocks_[index].live();
  if (index == 0) front_skipped_ = 0;
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
}

std::size_t Stream::block_of(StreamId id) const {
  const auto behind = std::ranges::upper_bound(blocks_, id, {}, &StreamBlock::first);
  return behind == blocks_.begin() ? 0 : static_cast<std::size_t>(behind - blocks_.begin()) - 1;
}

void Stream::find_first() {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    StreamBlockCursor cursor(blocks_[i], i == 0 ? front_skipped_ : 0);
    while (cursor.next()) {
      if (cursor.is_deleted()) continue;
      first_id_ = cursor.id();
      if (i == 0) front_skipped_ = cursor.skipped();
      return;
    }
  }
  first_id_ = kStreamIdMin;
}

// ---- Reading ----

StreamId Stream::top_id() const {
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    StreamBlockCursor cursor(blocks_[i]);
    cursor.to_end();
    while (cursor.previous()) {
      if (!cursor.is_deleted()) return cursor.id();
    }
  }
  return kStreamIdMin;
}

bool Stream::contains(StreamId id) const {
  if (size_ == 0 || id < first_id_ || id > last_id_) return false;
  StreamBlockCursor cursor(blocks_[block_of(id)]);
  return cursor.seek(id) && cursor.id() == id && !cursor.is_deleted();
}

void Stream::each(StreamId from, StreamId to, bool is_forward, const Visit& visit) const {
  if (blocks_.empty() || from > to || from > last_id_) return;
  StreamWords words;
  // Whether to go on.
  const auto show = [&](StreamBlockCursor& cursor) {
    return cursor.is_deleted() || visit({cursor.id(), words.read(cursor)});
  };
  if (is_forward) {
    const std::size_t begin = block_of(from);
    for (std::size_t i = begin; i < blocks_.size(); ++i) {
      StreamBlockCursor cursor(blocks_[i], i == 0 ? front_skipped_ : 0);
      for (bool is_there = i == begin ? cursor.seek(from) : cursor.next(); is_there;
           is_there = cursor.next()) {
        if (cursor.id() > to || !show(cursor)) return;
      }
    }
    return;
  }
  for (std::size_t i = block_of(to) + 1; i-- > 0;) {
    StreamBlockCursor cursor(blocks_[i]);
    cursor.to_end();
    while (cursor.previous()) {
      if (cursor.id() > to) continue;
      if (cursor.id() < from || !show(cursor)) return;
    }
  }
}

std::optional<std::uint64_t> Stream::entries_up_to(StreamId id) const {
  if (entries_added_ == 0) return 0;
  if (size_ == 0 && id <= last_id_) return entries_added_;
  if (id != kStreamIdMin && id < max_deleted_id_) return std::nullopt;
  if (id == last_id_) return entries_added_;
  if (id > last_id_ || max_deleted_id_ >= first_id_) return std::nullopt;
  if (id > first_id_) return std::nullopt;
  return entries_added_ - size_ + (id == first_id_ ? 1 : 0);
}

bool Stream::has_deleted_after(StreamId id) const {
  return size_ != 0 && max_deleted_id_ != kStreamIdMin && id <= max_deleted_id_;
}

// ---- Changes ----

void Stream::append(StreamId id, std::span<const std::string_view> words,
                    const StreamLimits& limits) {
  assert(id > last_id_ && words.size() % 2 == 0);
  std::size_t text_bytes = 0;
  for (const std::string_view word : words) text_bytes += word.size();
  if (!blocks_.empty() && blocks_.back().takes(text_bytes, limits)) {
    change_block(blocks_.size() - 1, [&](StreamBlock& block) {
      block.append(id, words);
      return true;
    });
  } else {
    push_block(StreamBlock(id, words, close_block(limits)));
  }
  count_added(id);
}

Stream::Place Stream::append(StreamId id, const EncodedStreamEntry& entry,
                             const StreamLimits& limits) {
  assert(id > last_id_);
  std::size_t begin = 0;
  if (!blocks_.empty() && blocks_.back().takes(entry.text_bytes, limits)) {
    StreamBlock& block = blocks_.back();
    const std::size_t before = block.allocated();
    begin = block.append(id, entry);
    block_bytes_ += block.allocated() - before;
  } else {
    push_block(StreamBlock(id, entry, close_block(limits)));
    StreamBlockCursor cursor(blocks_.back());
    cursor.next();
    begin = cursor.offset();
  }
  count_added(id);
  return {blocks_.back(), begin};
}

// A stream that has filled a block will fill the next one, too.
std::size_t Stream::close_block(const StreamLimits& limits) {
  if (blocks_.empty()) return 0;
  change_block(blocks_.size() - 1, [](StreamBlock& block) {
    block.shrink_to_fit();
    return true;
  });
  const std::size_t most = limits.block_bytes == 0 ? kBlockRoomMost : limits.block_bytes;
  return std::min(most, kBlockRoomMost);
}

void Stream::count_added(StreamId id) {
  if (++size_ == 1) first_id_ = id;
  last_id_ = id;
  ++entries_added_;
}

bool Stream::erase(StreamId id) {
  if (size_ == 0 || id < first_id_ || id > last_id_) return false;
  const std::size_t index = block_of(id);
  if (!change_block(index, [id](StreamBlock& block) { return block.erase(id); })) return false;
  --size_;
  if (blocks_[index].live() == 0) drop_block(index);
  if (id == first_id_) find_first();
  max_deleted_id_ = std::max(max_deleted_id_, id);
  return true;
}

std::size_t Stream::trim(const StreamTrim& trim, const StreamLimits&) {
  if (!trim.keep && !trim.least) return 0;
  const std::size_t most = trim.most == 0 ? SIZE_MAX : trim.most;
  const std::size_t before = size_;
  while (!blocks_.empty()) {
    if (trim.keep && size_ <= *trim.keep) break;
    const StreamBlock& block = blocks_.front();
    const std::size_t live = block.live();
    if (before - size_ + live > most) break;
    const bool is_whole = trim.keep ? size_ - live >= *trim.keep : block.last() < *trim.least;
    if (is_whole) {
      drop_block(0);
      continue;
    }
    if (trim.is_exact) {
      const std::size_t excess = trim.keep ? size_ - *trim.keep : SIZE_MAX;
      const StreamId end = trim.keep ? kStreamIdMax : *trim.least;
      size_ -= change_block(0, [=, this](StreamBlock& front) {
        return front.erase_front(excess, end, front_skipped_);
      });
    }
    break;
  }
  if (size_ != before) find_first();
  return before - size_;
}

std::size_t Stream::trim_block() {
  if (blocks_.size() < 2) return 0;
  const std::size_t before = size_;
  drop_block(0);
  find_first();
  return before - size_;
}

void Stream::set_last_id(StreamId id) {
  last_id_ = std::max(id, top_id());
  // Entries behind it are deleted ones. New ones may have lower ids, so they have to go.
  while (!blocks_.empty() && blocks_.back().last() > last_id_) {
    const std::size_t index = blocks_.size() - 1;
    const bool is_empty = change_block(index, [this](StreamBlock& block) {
      block.drop_deleted_after(last_id_);
      return block.live() + block.deleted() == 0;
    });
    if (is_empty) drop_block(index);
    front_skipped_ = 0;
  }
}

// ---- Groups ----

StreamGroup* Stream::group(std::string_view name) {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : found->second.get();
}

StreamGroup* Stream::make_group(std::string_view name, StreamId last_id,
                                std::optional<std::uint64_t> entries_read) {
  if (groups_.find(name) != groups_.end()) return nullptr;
  auto made = std::make_unique<StreamGroup>();
  made->last_id = last_id;
  made->entries_read = entries_read;
  return groups_.emplace(name, std::move(made)).first->second.get();
}

bool Stream::erase_group(std::string_view name) {
  const auto found = groups_.find(name);
  if (found == groups_.end()) return false;
  groups_.erase(found);
  return true;
}

std::optional<std::int64_t> Stream::lag(const StreamGroup& group) const {
  if (entries_added_ == 0) return 0;
  std::optional<std::uint64_t> read = group.entries_read;
  if (!read || has_deleted_after(group.last_id)) read = entries_up_to(group.last_id);
  if (!read) return std::nullopt;
  return static_cast<std::int64_t>(entries_added_ - *read);
}

}  // namespace mayfly
