// SPDX-License-Identifier: Apache-2.0
#include "keyspace/stream/stream_cursor.h"

#include "keyspace/listpack/listpack_entry.h"
#include "keyspace/stream/stream_pieces.h"

namespace mayfly {

// ---- StreamBlockCursor ----

StreamBlockCursor::StreamBlockCursor(const StreamBlock& block, std::size_t skipped)
    : first_(block.first()), listpack_(block.listpack().data()) {
  end_ = listpack_ + block.listpack().size() - 1;
  fields_ = skip_piece(skip_piece(listpack_ + kListpackHeader));
  count_ = read_piece_size(fields_);
  entries_ = fields_;
  for (std::size_t i = 0; i <= count_; ++i) entries_ = skip_piece(entries_);  // the last is the 0
  at_ = entries_ + skipped;
}

bool StreamBlockCursor::has_same_fields() const { return (*at_ & kStreamEntrySameFields) != 0; }
bool StreamBlockCursor::is_deleted() const { return (*at_ & kStreamEntryDeleted) != 0; }

void StreamBlockCursor::stand(const char* at) {
  at_ = at;
  content_ = skip_piece(at);
  id_.ms = first_.ms + static_cast<std::uint64_t>(read_piece(content_));
  id_.seq = first_.seq + static_cast<std::uint64_t>(read_piece(content_));
  behind_ = nullptr;
}

bool StreamBlockCursor::next() {
  if (content_ != nullptr) {
    if (behind_ == nullptr) {
      behind_ = content_;
      std::size_t pieces = has_same_fields() ? count_ : 2 * read_piece_size(behind_);
      for (++pieces; pieces > 0; --pieces) behind_ = skip_piece(behind_);
    }
    at_ = behind_;
    content_ = nullptr;
  }
  if (at_ == end_) return false;
  stand(at_);
  return true;
}

bool StreamBlockCursor::previous() {
  const char* const behind = at_;
  const char* at = previous_entry(behind);
  const char* count = at;
  std::size_t pieces = read_piece_size(count);
  if (pieces == 0) {
    content_ = nullptr;
    return false;
  }
  for (; pieces > 0; --pieces) at = previous_entry(at);
  stand(at);
  behind_ = behind;
  return true;
}

void StreamBlockCursor::to_end() {
  at_ = end_;
  content_ = nullptr;
}

bool StreamBlockCursor::seek(StreamId id) {
  const char* const begin = at_;
  to_end();
  if (!previous() || id_ < id) return false;
  const bool has_one_ms = id_.ms == first_.ms;
  const std::uint64_t whole = has_one_ms ? id_.seq - first_.seq : id_.ms - first_.ms;
  const std::uint64_t part = has_one_ms ? id.seq - first_.seq : id.ms - first_.ms;
  if (id > first_ && part > whole / 2) {
    while (id_ >= id && previous()) continue;
    return next();
  }
  at_ = begin;
  content_ = nullptr;
  while (next()) {
    if (id_ >= id) return true;
  }
  return false;
}

// ---- StreamWords ----

const char* StreamWords::read_words(const char* at, std::size_t index, std::size_t end,
                                    std::size_t step) {
  for (; index < end; index += step) {
    ListpackValue value;
    at = read_entry(at, value);
    words_[index] = value.as_text(digits_[index].text);
  }
  return at;
}

std::span<const std::string_view> StreamWords::read(StreamBlockCursor& cursor) {
  const char* at = cursor.content_;
  const bool has_same_fields = cursor.has_same_fields();
  const std::size_t count = 2 * (has_same_fields ? cursor.count_ : read_piece_size(at));
  if (count > words_.size()) {
    words_.resize(count);
    digits_.resize(count);
    fields_ = nullptr;
  }
  if (has_same_fields) {
    if (fields_ != cursor.fields_) read_words(cursor.fields_, 0, count, 2);
    fields_ = cursor.fields_;
    at = read_words(at, 1, count, 2);
  } else {
    fields_ = nullptr;
    at = read_words(at, 0, count, 1);
  }
  cursor.behind_ = skip_piece(at);
  return {words_.data(), count};
}

}  // namespace mayfly
