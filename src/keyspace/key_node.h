// SPDX-License-Identifier: Apache-2.0
// KeyNode: a key with its value, in one allocation.
//
//   | access 24, kind 4, marks 4 | key size 4 | value size 4 | key ... | value ... |
//
// The value of a string is its bytes, that of a small hash its packed form (packed_hash.h), that of
// a large one a pointer to its TableHash. One allocation a key is what makes a key cheap: nothing
// is rounded up twice, and finding a key has brought its value into the cache.
//
// Only the database's table of slots points to a node. So a node may move when its value grows,
// and whoever holds a node must take it anew after any change.
//
//   memory   12 bytes, key and value, rounded up by the allocator

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mayfly {

class TableHash;

// The most bytes of a key, and of a value.
inline constexpr std::size_t kNodeBytesMax = UINT32_MAX;

enum class Kind : std::uint8_t { string, packed_hash, table_hash };

struct KeyNode {
  std::uint32_t access : 24;              // when or how often it was used: see eviction.h
  std::uint32_t kind : 4;                 // a Kind
  std::uint32_t has_deadline : 1;         // the key itself has one
  std::uint32_t has_field_deadlines : 1;  // some of its fields have one
  std::uint32_t is_raw : 1;  // a string that was changed in place, as OBJECT ENCODING tells
  std::uint32_t is_beyond_limits : 1;  // a packed hash that others would keep as a table
  std::uint32_t key_size;
  std::uint32_t value_size;

  Kind type() const { return static_cast<Kind>(kind); }
  std::string_view key() const { return {key_data(), key_size}; }
  std::string_view value() const { return {key_data() + key_size, value_size}; }
  char* value_data() { return reinterpret_cast<char*>(this + 1) + key_size; }

  // REQUIRES: type() is table_hash.
  TableHash& table_hash() const;
  void set_table_hash(TableHash* hash);

 private:
  const char* key_data() const { return reinterpret_cast<const char*>(this + 1); }
};
static_assert(sizeof(KeyNode) == 12);

// A node with the key, and room for a value of `value_size` bytes that are not set. Here and below,
// sizes above kNodeBytesMax throw std::length_error: whoever takes data from outside asks before.
KeyNode* make_node(Kind kind, std::string_view key, std::size_t value_size);

// Makes room for `value_size` bytes and sets that size; what was there before stays. The node may
// move. With `greedy`, room for more is taken along, for a value that will grow again.
KeyNode* resize_value(KeyNode* node, std::size_t value_size, bool greedy = false);

// The same node and value under another key.
KeyNode* rename_node(KeyNode* node, std::string_view key);

// Frees the node, but not a TableHash it points to.
void free_node(KeyNode* node);

// How many bytes the allocator gave for it.
std::size_t node_bytes(const KeyNode* node);

}  // namespace mayfly
