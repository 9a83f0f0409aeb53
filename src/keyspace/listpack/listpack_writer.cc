// SPDX-License-Identifier: Apache-2.0
#include "keyspace/listpack/listpack_writer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace mayfly {

void ListpackWriter::add(const ListpackText& text) {
  const std::size_t bytes = text.bytes();
  text.write(room_for(bytes));
  size_ += bytes;
  ++count_;
}

void ListpackWriter::add_entries(std::string_view entries, std::size_t count) {
  if (!entries.empty()) std::memcpy(room_for(entries.size()), entries.data(), entries.size());
  size_ += entries.size();
  count_ += count;
}

char* ListpackWriter::room_for(std::size_t bytes) {
  const std::size_t needed = size_ + bytes + 1;  // and what ends the listpack
  if (bytes_.size() < needed) bytes_.resize(std::max(needed, bytes_.size() * 2));
  return bytes_.data() + size_;
}

std::string_view ListpackWriter::finish() {
  *room_for(0) = kListpackEnd;
  const std::size_t size = size_ + 1;
  assert(size < std::size_t{1} << 30);
  write_little(write_little(bytes_.data(), size, 4), std::min(count_, kListpackCountUnknown), 2);
  return {bytes_.data(), size};
}

}  // namespace mayfly
