// SPDX-License-Identifier: Apache-2.0
#include "keyspace/stream/stream_block.h"

#include <malloc.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>

#include "keyspace/listpack/listpack_entry.h"
#include "keyspace/stream/stream_cursor.h"
#include "keyspace/stream/stream_pieces.h"

namespace mayfly {
namespace {

constexpr std::size_t kEntryFixedPieces = 3;  // flags, ms, seq
constexpr std::size_t kGrowMost = 4096;       // that a block gets at once

void set_block_bytes(char* listpack, std::size_t bytes) { write_little(listpack, bytes, 4); }

void add_pieces(char* listpack, std::size_t added) {
  std::uint16_t count = 0;
  std::memcpy(&count, listpack + 4, sizeof count);
  write_little(listpack + 4, std::min(count + added, kListpackCountUnknown), 2);
}

char* write_piece(char* to, std::uint64_t number) {
  return ListpackText(static_cast<std::int64_t>(number)).write(to);
}

// The same, inline for small numbers.
char* write_short(char* to, std::uint64_t number) {
  if (number > 127) return write_piece(to, number);
  to[0] = static_cast<char>(number);
  to[1] = 1;
  return to + 2;
}

char* copy_encoded(char* to, std::string_view bytes) {
  std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

std::size_t piece_bytes(std::uint64_t number) {
  return ListpackText(static_cast<std::int64_t>(number)).bytes();
}

// Whether the fields, `count` entries from `at` on, are those of the words.
bool has_block_fields(const char* at, std::size_t count, StreamBlock::Words words) {
  if (count * 2 != words.size()) return false;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    ListpackValue field;
    at = read_entry(at, field);
    if (!field.equals(ListpackText(words[i]))) return false;
  }
  return true;
}

// ---- Encoded entries: equal texts have equal bytes ----

std::size_t encoded_bytes_most(const EncodedStreamEntry& entry) {
  constexpr std::size_t kNumbers = 2 + kEntryFixedPieces;  // of fields, of pieces
  return kNumbers * kListpackEntryOverhead + entry.fields.size() + entry.values.size();
}

// Whether these are the fields of the block, whose number is at `at`.
bool has_encoded_fields(std::string_view listpack, const char* at,
                        const EncodedStreamEntry& entry) {
  if (read_piece_size(at) != entry.count) return false;
  const auto skipped = static_cast<std::size_t>(at - listpack.data());
  return listpack.substr(skipped).starts_with(entry.fields);
}

// Fields and values in turn.
char* write_pairs(char* to, const EncodedStreamEntry& entry) {
  const char* field = entry.fields.data();
  const char* value = entry.values.data();
  for (std::size_t i = 0; i < entry.count; ++i) {
    for (const char** const from : {&field, &value}) {
      const char* const end = skip_piece(*from);
      to = copy_encoded(to, {*from, end});
      *from = end;
    }
  }
  return to;
}

// An entry that is to be written.
struct NewStreamEntry {
  StreamId delta;
  StreamBlock::Words words;
  bool has_same_fields;

  std::size_t step() const { return has_same_fields ? 2 : 1; }
  std::size_t begin() const { return step() - 1; }  // of the words that are written
  std::size_t pieces() const {
    return kEntryFixedPieces + (has_same_fields ? words.size() / 2 : 1 + words.size());
  }

  // Its size or a bit more, without a look at the texts.
  std::size_t bytes_most() const {
    std::size_t bytes = (pieces() + 1) * kListpackEntryOverhead;
    for (std::size_t i = begin(); i < words.size(); i += step()) bytes += words[i].size();
    return bytes;
  }

  std::size_t bytes() const {
    std::size_t bytes = 2 + piece_bytes(delta.ms) + piece_bytes(delta.seq);
    if (!has_same_fields) bytes += piece_bytes(words.size() / 2);
    for (std::size_t i = begin(); i < words.size(); i += step()) {
      bytes += ListpackText(words[i]).bytes();
    }
    return bytes + piece_bytes(pieces());
  }

  // Writes it and the end of the listpack over the old end.
  void write(char* listpack) const {
    char* at = listpack + stream_listpack_bytes(listpack) - 1;
    at = write_piece(at, has_same_fields ? kStreamEntrySameFields : 0);
    at = write_piece(write_piece(at, delta.ms), delta.seq);
    if (!has_same_fields) at = write_piece(at, words.size() / 2);
    for (std::size_t i = begin(); i < words.size(); i += step()) {
      at = ListpackText(words[i]).write(at);
    }
    at = write_piece(at, pieces());
    *at = kListpackEnd;
    set_block_bytes(listpack, static_cast<std::size_t>(at + 1 - listpack));
    add_pieces(listpack, pieces() + 1);
  }
};

}  // namespace

// ---- StreamBlock ----

StreamBlock::StreamBlock(StreamId id, Words words, std::size_t room)
    : first_(id), listpack_(nullptr) {
  constexpr std::size_t kPieces = 4;  // beside the fields
  const std::size_t all_words = NewStreamEntry{{}, words, false}.bytes_most();
  reallocate(std::max(room, kListpackEmpty + kPieces * kListpackEntryOverhead + all_words));
  char* at = listpack_ + kListpackHeader;
  at = write_piece(write_piece(at, 1), 0);
  at = write_piece(at, words.size() / 2);
  for (std::size_t i = 0; i < words.size(); i += 2) at = ListpackText(words[i]).write(at);
  at = write_piece(at, 0);
  *at = kListpackEnd;
  set_block_bytes(listpack_, static_cast<std::size_t>(at + 1 - listpack_));
  write_little(listpack_ + 4, 0, 2);
  add_pieces(listpack_, kPieces + words.size() / 2);
  NewStreamEntry{{}, words, true}.write(listpack_);
}

StreamBlock::StreamBlock(StreamId first, std::string_view listpack)
    : first_(first), listpack_(nullptr) {
  reallocate(listpack.size());
  std::memcpy(listpack_, listpack.data(), listpack.size());
}

StreamBlock::~StreamBlock() { std::free(listpack_); }

void StreamBlock::reallocate(std::size_t bytes) {
  void* const moved = std::realloc(listpack_, bytes);
  if (moved == nullptr) throw std::bad_alloc();
  listpack_ = static_cast<char*>(moved);
  room_ = malloc_usable_size(moved);
}

std::string_view StreamBlock::listpack() const {
  return {listpack_, stream_listpack_bytes(listpack_)};
}

std::size_t StreamBlock::live() const {
  const char* at = listpack_ + kListpackHeader;
  return read_piece_size(at);
}

std::size_t StreamBlock::deleted() const {
  const char* at = skip_piece(listpack_ + kListpackHeader);
  return read_piece_size(at);
}

StreamId StreamBlock::last() const {
  StreamBlockCursor cursor(*this);
  cursor.to_end();
  return cursor.previous() ? cursor.id() : first_;
}

bool StreamBlock::takes(std::size_t text_bytes, const StreamLimits& limits) const {
  const std::size_t wanted = limits.block_bytes;
  const std::size_t most =
      wanted == 0 ? kStreamBlockBytesMax : std::min(wanted, kStreamBlockBytesMax);
  if (stream_listpack_bytes(listpack_) + text_bytes >= most) return false;
  if (limits.block_entries == 0) return true;
  const char* at = listpack_ + kListpackHeader;
  const std::size_t live = read_piece_size(at);
  return live + read_piece_size(at) < limits.block_entries;
}

void StreamBlock::append(StreamId id, Words words) {
  const char* at = skip_piece(skip_piece(listpack_ + kListpackHeader));
  const std::size_t fields = read_piece_size(at);
  const StreamId delta = {id.ms - first_.ms, id.seq - first_.seq};
  const NewStreamEntry entry{delta, words, has_block_fields(at, fields, words)};
  const std::size_t bytes = listpack().size() + kListpackEntryOverhead;  // `live` may grow
  const std::size_t room = allocated();
  if (bytes + entry.bytes_most() > room) {
    const std::size_t needed = bytes + entry.bytes();
    if (needed > room) reallocate(std::max(needed, bytes + std::min(bytes, kGrowMost)));
  }
  count_one();
  entry.write(listpack_);
}

// ---- Encoded entries ----

StreamBlock::StreamBlock(StreamId id, const EncodedStreamEntry& entry, std::size_t room)
    : first_(id), listpack_(nullptr) {
  constexpr std::size_t kPieces = 4;  // beside the fields
  reallocate(std::max(room, kListpackEmpty + kPieces * kListpackEntryOverhead +
                                entry.fields.size() + encoded_bytes_most(entry)));
  char* at = write_piece(write_piece(listpack_ + kListpackHeader, 0), 0);
  at = copy_encoded(write_piece(at, entry.count), entry.fields);
  at = write_piece(at, 0);
  *at = kListpackEnd;
  set_block_bytes(listpack_, static_cast<std::size_t>(at + 1 - listpack_));
  write_little(listpack_ + 4, kPieces + entry.count, 2);
  append(id, entry);
}

std::size_t StreamBlock::append(StreamId id, const EncodedStreamEntry& entry) {
  const std::size_t most = encoded_bytes_most(entry) + kListpackEntryOverhead;  // `live` may grow
  const std::size_t bytes = stream_listpack_bytes(listpack_) + most;
  if (bytes > room_) reallocate(bytes + std::min(bytes, kGrowMost));
  count_one();

  const char* const own = skip_piece(skip_piece(listpack_ + kListpackHeader));
  const bool has_same_fields = has_encoded_fields(listpack(), own, entry);
  const std::size_t begin = stream_listpack_bytes(listpack_) - 1;
  char* at = listpack_ + begin;
  at = write_short(at, has_same_fields ? kStreamEntrySameFields : 0);
  at = write_short(at, id.ms - first_.ms);
  at = write_short(at, id.seq - first_.seq);
  std::size_t pieces = kEntryFixedPieces + entry.count;
  if (has_same_fields) {
    at = copy_encoded(at, entry.values);
  } else {
    pieces += 1 + entry.count;
    at = write_pairs(write_piece(at, entry.count), entry);
  }
  at = write_short(at, pieces);
  *at = kListpackEnd;
  set_block_bytes(listpack_, static_cast<std::size_t>(at + 1 - listpack_));
  add_pieces(listpack_, pieces + 1);
  return begin;
}

void StreamBlock::count_one() {
  char& live = listpack_[kListpackHeader];
  if (static_cast<unsigned char>(live) < 127) {
    ++live;
  } else {
    set_number(kListpackHeader, this->live() + 1);
  }
}

bool StreamBlock::erase(StreamId id) {
  StreamBlockCursor cursor(*this);
  if (!cursor.seek(id) || cursor.id() != id || cursor.is_deleted()) return false;
  listpack_[cursor.offset()] |= kStreamEntryDeleted;
  set_counts(live() - 1, deleted() + 1);
  return true;
}

std::size_t StreamBlock::erase_front(std::size_t most, StreamId end, std::size_t skipped) {
  std::size_t erased = 0;
  StreamBlockCursor cursor(*this, skipped);
  while (erased < most && cursor.next() && cursor.id() < end) {
    if (cursor.is_deleted()) continue;
    listpack_[cursor.offset()] |= kStreamEntryDeleted;
    ++erased;
  }
  set_counts(live() - erased, deleted() + erased);
  return erased;
}

void StreamBlock::drop_deleted_after(StreamId id) {
  StreamBlockCursor cursor(*this);
  cursor.to_end();
  std::size_t end = listpack().size() - 1;
  std::size_t dropped = 0;
  while (cursor.previous() && cursor.id() > id && cursor.is_deleted()) {
    end = cursor.offset();
    ++dropped;
  }
  if (dropped == 0) return;
  listpack_[end] = kListpackEnd;
  set_block_bytes(listpack_, end + 1);
  set_counts(live(), deleted() - dropped);
  std::size_t count = 0;
  const char* at = listpack_ + kListpackHeader;
  for (; *at != kListpackEnd; at = skip_piece(at)) ++count;
  write_little(listpack_ + 4, 0, 2);
  add_pieces(listpack_, count);
}

void StreamBlock::shrink_to_fit() {
  const std::size_t bytes = stream_listpack_bytes(listpack_);
  if (bytes < allocated()) reallocate(bytes);
}

void StreamBlock::set_counts(std::size_t live, std::size_t deleted) {
  set_number(kListpackHeader, live);
  const char* const second = skip_piece(listpack_ + kListpackHeader);
  set_number(static_cast<std::size_t>(second - listpack_), deleted);
}

// Replaces the number at `offset`; what is behind it moves if it gets another size.
void StreamBlock::set_number(std::size_t offset, std::size_t number) {
  const ListpackText entry(static_cast<std::int64_t>(number));
  const auto old_end = static_cast<std::size_t>(skip_piece(listpack_ + offset) - listpack_);
  const std::size_t new_end = offset + entry.bytes();
  const std::size_t bytes = stream_listpack_bytes(listpack_);
  if (new_end != old_end) {
    const std::size_t new_bytes = bytes - old_end + new_end;
    if (new_bytes > allocated()) reallocate(new_bytes);
    std::memmove(listpack_ + new_end, listpack_ + old_end, bytes - old_end);
    set_block_bytes(listpack_, new_bytes);
  }
  entry.write(listpack_ + offset);
}

}  // namespace mayfly
