// SPDX-License-Identifier: Apache-2.0
// KeyNode: a key with its value, in one allocation.
//
//   | access 24, encoding 4, flags 4 | key size 4 | value size 4 | key ... | value ... |
//
// The value of a string is its bytes, that of a key with few members their packed form
// (packed_view.h, int_set.h, packed_list.h), and that of a large one a pointer to its MemberTable,
// ChunkedList or Stream. One allocation per key keeps keys small: nothing is rounded up twice, and
// finding a key brings its value into the cache.
//
// Only the database's table of slots points to a node. So a node may move when its value grows, and
// pointers to it are invalid after any change.
//
//   memory   12 bytes, key and value, rounded up by the allocator

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mayfly {

class ChunkedList;
class MemberTable;
class Stream;

// The most bytes of a key, and of a value.
inline constexpr std::size_t kNodeBytesMax = UINT32_MAX;

// The types as TYPE names them.
enum class ValueType : std::uint8_t { string, list, set, zset, hash, stream };

// How a value is stored: its type and its form. value.h tells them apart.
enum class Encoding : std::uint8_t {
  string,
  packed_hash,
  table_hash,
  int_set,
  packed_set,
  table_set,
  packed_zset,
  table_zset,
  packed_list,
  chunked_list,
  stream,
};

struct KeyNode {
  std::uint32_t access : 24;               // when or how often it was used: see eviction.h
  std::uint32_t encoding_bits : 4;         // an Encoding
  std::uint32_t has_deadline : 1;          // the key itself has one
  std::uint32_t has_member_deadlines : 1;  // some of its members have one
  std::uint32_t is_raw : 1;            // a string that was changed in place, for OBJECT ENCODING
  std::uint32_t is_beyond_limits : 1;  // packed members that Valkey would keep as a table
  std::uint32_t key_size;
  std::uint32_t value_size;

  Encoding encoding() const { return static_cast<Encoding>(encoding_bits); }
  void set_encoding(Encoding encoding) {
    encoding_bits = static_cast<std::uint32_t>(encoding) & 0xF;
  }
  std::string_view key() const { return {key_data(), key_size}; }
  std::string_view value() const { return {key_data() + key_size, value_size}; }
  char* value_data() { return reinterpret_cast<char*>(this + 1) + key_size; }

  // A value outside of the node. REQUIRES: the encoding is that of such a value.
  MemberTable& member_table() const { return *static_cast<MemberTable*>(outside()); }
  ChunkedList& chunked_list() const { return *static_cast<ChunkedList*>(outside()); }
  Stream& stream() const { return *static_cast<Stream*>(outside()); }
  void set_outside(void* value);  // REQUIRES: value_size is that of a pointer

 private:
  void* outside() const;
  const char* key_data() const { return reinterpret_cast<const char*>(this + 1); }
};
static_assert(sizeof(KeyNode) == 12);

// A node with the key, and room for a value of `value_size` bytes that are not set. Here and below,
// sizes above kNodeBytesMax throw std::length_error: callers check data from outside first.
KeyNode* make_node(Encoding encoding, std::string_view key, std::size_t value_size);

// Makes room for `value_size` bytes and sets that size; the old bytes stay. The node may
// move. With `greedy`, extra room is allocated for a value that will grow again.
KeyNode* resize_value(KeyNode* node, std::size_t value_size, bool greedy = false);

// A copy of the node with another key; everything but the key is kept. The old node stays.
KeyNode* copy_node(const KeyNode& node, std::string_view key);

// Frees the node, but not the value that it may point to.
void free_node(KeyNode* node);

// What an allocation of `size` bytes takes with jemalloc: classes of 16 bytes up to 128, then four
// for each doubling.
inline std::size_t allocated_size(std::size_t size) {
  const std::size_t step = size <= 128 ? 16 : std::bit_floor(size - 1) / 4;  // a power of two
  return (size + step - 1) & ~(step - 1);
}

// How many bytes the allocator gave for it.
std::size_t node_bytes(const KeyNode* node);

}  // namespace mayfly
