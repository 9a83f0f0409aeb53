// SPDX-License-Identifier: Apache-2.0
// Making, growing and freeing the nodes of keys.

#include "keyspace/key_node.h"

#include <malloc.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace mayfly {
namespace {

constexpr std::size_t kGreedyMost = 1 << 20;  // a growing value gets at most 1 MiB extra

KeyNode* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<KeyNode*>(memory);
}

std::uint32_t checked_size(std::size_t size) {
  if (size > kNodeBytesMax) throw std::length_error("a key or a value of 4 GiB or more");
  return static_cast<std::uint32_t>(size);
}

void copy_bytes(char* to, std::string_view from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

void* KeyNode::outside() const {
  assert(value_size == sizeof(void*));
  void* pointer = nullptr;
  std::memcpy(&pointer, value().data(), sizeof(void*));
  return pointer;
}

void KeyNode::set_outside(void* value) {
  assert(value_size == sizeof(void*));
  std::memcpy(value_data(), &value, sizeof(void*));
}

KeyNode* make_node(Encoding encoding, std::string_view key, std::size_t value_size) {
  KeyNode sizes{};
  sizes.key_size = checked_size(key.size());
  sizes.value_size = checked_size(value_size);
  KeyNode* const node = checked(std::malloc(sizeof(KeyNode) + key.size() + value_size));
  *node = sizes;
  node->set_encoding(encoding);
  copy_bytes(node->value_data() - key.size(), key);
  return node;
}

KeyNode* resize_value(KeyNode* node, std::size_t value_size, bool greedy) {
  const std::uint32_t checked_value_size = checked_size(value_size);
  const std::size_t before = sizeof(KeyNode) + node->key_size + node->value_size;
  std::size_t bytes = sizeof(KeyNode) + node->key_size + value_size;
  const std::size_t capacity = malloc_usable_size(node);
  const bool fits = bytes <= capacity && (greedy || bytes > capacity / 2 || bytes >= before);
  if (!fits) {
    if (greedy) bytes += std::min(bytes, kGreedyMost);
    node = checked(std::realloc(node, bytes));
  }
  node->value_size = checked_value_size;
  return node;
}

KeyNode* copy_node(const KeyNode& node, std::string_view key) {
  KeyNode* const copy = make_node(node.encoding(), key, node.value_size);
  const std::uint32_t key_size = copy->key_size;
  *copy = node;
  copy->key_size = key_size;
  copy_bytes(copy->value_data(), node.value());
  return copy;
}

void free_node(KeyNode* node) { std::free(node); }

std::size_t node_bytes(const KeyNode* node) {
  return malloc_usable_size(const_cast<KeyNode*>(node));
}

}  // namespace mayfly
