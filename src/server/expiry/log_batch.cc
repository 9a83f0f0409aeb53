// SPDX-License-Identifier: Apache-2.0
#include "server/expiry/log_batch.h"

#include <utility>

#include "keyspace/listpack/listpack_entry.h"
#include "keyspace/stream/stream_cursor.h"
#include "keyspace/stream/stream_pieces.h"

namespace mayfly {
namespace {

constexpr std::size_t kEntriesMost = 127;  // a number of two bytes in the block
constexpr std::size_t kBytesMost = 64 * 1024;
constexpr std::size_t kBufferMost = 2 * kBytesMost;

}  // namespace

bool LogBatch::takes(int database, const Stream::Place& place) const {
  return database == database_ && place.block.first() == first_ && count_ < kEntriesMost &&
         block_.size() < kBytesMost;
}

void LogBatch::add(int database, const Stream::Place& place) {
  const std::string_view listpack = place.block.listpack();
  if (count_ == 0) {
    if (block_.capacity() > kBufferMost) block_ = {};
    database_ = database;
    first_ = place.block.first();
    // Its counts are written at the end, and its fields are those of the block.
    const char* const counts = listpack.data() + kListpackHeader;
    const char* at = skip_piece(skip_piece(counts));
    const char* const fields = at;
    for (std::size_t left = read_piece_size(at) + 1; left > 0; --left) at = skip_piece(at);
    block_.assign(kListpackHeader, '\0');
    block_ += {'\0', '\1', '\0', '\1'};
    block_.append(fields, at);
  }
  block_.append(listpack.substr(place.begin, listpack.size() - 1 - place.begin));
  ++count_;
}

LogBatch::Request LogBatch::take() {
  block_ += kListpackEnd;
  write_little(block_.data(), block_.size(), 4);
  write_little(block_.data() + 4, kListpackCountUnknown, 2);
  block_[kListpackHeader] = static_cast<char>(std::exchange(count_, 0));
  return {first_.text(), block_};
}

}  // namespace mayfly
