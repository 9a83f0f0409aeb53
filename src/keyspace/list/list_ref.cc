// SPDX-License-Identifier: Apache-2.0
// Lists in both forms, and the steps from one to the other.

#include "keyspace/list/list_ref.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "keyspace/keyspace.h"
#include "keyspace/value.h"

namespace mayfly {

const ListLimits& ListRef::limits() const { return database_.keyspace_.options().list_limits; }

bool ListRef::is_packed() const {
  return database_.node(slot_).encoding() == Encoding::packed_list;
}

ListEntries ListRef::packed() const {
  return PackedListView(database_.node(slot_).value()).entries();
}

ChunkedList& ListRef::chunked() const { return database_.node(slot_).chunked_list(); }

std::size_t ListRef::size() const { return is_packed() ? packed().count : chunked().count(); }

ListpackValue ListRef::at(std::size_t index) const {
  return is_packed() ? packed().at(index) : chunked().at(index);
}

void ListRef::prepare_push(std::span<const std::string_view> texts) {
  announced_ = texts.size();
  if (!is_packed()) return;
  const ListEntries entries = packed();
  std::size_t bytes = entries.bytes.size() + kListpackEmpty;
  for (const std::string_view text : texts) bytes += text.size();
  if (limits().is_exceeded(bytes, entries.count + texts.size())) turn_into_chunks();
}

// Before one more text. Returns whether the list is packed.
bool ListRef::grow_by(std::string_view text) {
  if (announced_ == 0) prepare_push({&text, 1});
  --announced_;
  return is_packed();
}

// Replaces bytes in a packed list, from the first entry on, by room for others, and sets the number
// of elements. Returns where the room is.
char* ListRef::replace_packed(std::size_t offset, std::size_t old_bytes, std::size_t new_bytes,
                              std::size_t count) {
  KeyNode*& node = database_.place(slot_);
  const std::size_t size = node->value_size;
  const std::size_t new_size = size - old_bytes + new_bytes;
  if (new_size > size) node = resize_value(node, new_size);
  char* const at = node->value_data() + kPackedListHeader + offset;
  std::memmove(at + new_bytes, at + old_bytes, size - kPackedListHeader - offset - old_bytes);
  set_packed_list_count(node->value_data(), count);
  if (new_size < size) node = resize_value(node, new_size);
  return node->value_data() + kPackedListHeader + offset;
}

void ListRef::turn_into_chunks() {
  auto list = std::make_unique<ChunkedList>();
  const ListEntries entries = packed();
  if (entries.count > 0) list->append(entries);
  KeyNode*& node = database_.place(slot_);
  node = resize_value(node, sizeof(void*));
  node->set_encoding(Encoding::chunked_list);
  node->set_outside(list.release());
}

// REQUIRES: there is one chunk.
void ListRef::pack() {
  KeyNode*& node = database_.place(slot_);
  const std::unique_ptr<ChunkedList> list(&chunked());
  list->each_chunk([&](const ListEntries& entries) {
    node = resize_value(node, kPackedListHeader + entries.bytes.size());
    set_packed_list_count(node->value_data(), entries.count);
    std::memcpy(node->value_data() + kPackedListHeader, entries.begin(), entries.bytes.size());
  });
  node->set_encoding(Encoding::packed_list);
}

void ListRef::push(ListEnd end, std::string_view text) {
  if (!grow_by(text)) return chunked().push(end, text, limits());
  const ListEntries entries = packed();
  const ListpackText encoded(text);
  const std::size_t offset = end == ListEnd::head ? 0 : entries.bytes.size();
  encoded.write(replace_packed(offset, 0, encoded.bytes(), entries.count + 1));
}

std::string ListRef::pop(ListEnd end) {
  char digits[24];
  if (is_packed()) {
    std::string text(at(end == ListEnd::head ? 0 : size() - 1).as_text(digits));
    drop(end, 1);
    return text;
  }
  ChunkedList& list = chunked();
  std::string text(list.at_end(end).as_text(digits));
  list.pop(end);
  may_be_small_ = true;
  return text;
}

void ListRef::drop(ListEnd end, std::size_t count) {
  if (is_packed()) return erase(end == ListEnd::head ? 0 : size() - count, count);
  may_be_small_ = true;
  chunked().drop(end, count);
}

void ListRef::set(std::size_t index, std::string_view text) {
  may_be_small_ = true;
  if (!grow_by(text)) return chunked().set(index, text, limits());
  const ListEntries entries = packed();
  const char* const at = entries.find(index);
  const ListpackText encoded(text);
  encoded.write(replace_packed(static_cast<std::size_t>(at - entries.begin()),
                               static_cast<std::size_t>(next_entry(at) - at), encoded.bytes(),
                               entries.count));
}

void ListRef::insert(std::size_t index, std::string_view text) {
  if (!grow_by(text)) return chunked().insert(index, text, limits());
  const ListEntries entries = packed();
  const ListpackText encoded(text);
  const auto offset = static_cast<std::size_t>(entries.find(index) - entries.begin());
  encoded.write(replace_packed(offset, 0, encoded.bytes(), entries.count + 1));
}

void ListRef::erase(std::size_t index, std::size_t count) {
  may_be_small_ = true;
  if (count == 0) return;
  if (!is_packed()) return chunked().erase(index, count, limits());
  const ListEntries entries = packed();
  const char* const from = entries.find(index);
  const char* const to = entries.find(index + count);
  replace_packed(static_cast<std::size_t>(from - entries.begin()),
                 static_cast<std::size_t>(to - from), 0, entries.count - count);
}

std::size_t ListRef::remove(std::string_view text, std::size_t most, ListEnd from) {
  if (!is_packed()) {
    const std::size_t removed = chunked().remove(text, most, from, limits());
    may_be_small_ = may_be_small_ || removed > 0;
    return removed;
  }
  KeyNode*& node = database_.place(slot_);
  char* const begin = node->value_data() + kPackedListHeader;
  char* const end = node->value_data() + node->value_size;
  const RemovedEntries result = remove_entries(begin, end, ListpackText(text), most, from);
  if (result.removed == 0) return 0;
  const std::size_t count = size() - result.removed;
  // What is left is at one end; the rest is given back.
  const bool is_head = result.begin == begin;
  const auto unused = static_cast<std::size_t>(is_head ? end - result.end : result.begin - begin);
  replace_packed(is_head ? static_cast<std::size_t>(result.end - begin) : 0, unused, 0, count);
  return result.removed;
}

bool ListRef::finish() {
  announced_ = 0;
  if (size() == 0) {
    database_.unlink(slot_);
    return true;
  }
  if (may_be_small_ && !is_packed() && chunked().is_small(limits())) pack();
  may_be_small_ = false;
  // To add up the chunks of a long list takes time.
  constexpr std::size_t kLong = 10'000;
  if (size() < kLong || size() % 64 == 0) database_.record_size(slot_);
  return false;
}

}  // namespace mayfly
