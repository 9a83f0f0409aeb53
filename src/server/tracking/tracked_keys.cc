// SPDX-License-Identifier: Apache-2.0
#include "server/tracking/tracked_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "keyspace/hasher.h"
#include "server/monitoring/memory.h"

namespace mayfly {
namespace {

struct NodeHead {
  std::uint32_t key_size;
  std::uint32_t readers;
};

constexpr std::size_t kIdBytes = sizeof(std::uint64_t);
constexpr std::size_t kSearchedReaders = 64;  // shorter lists are not searched for clients gone

NodeHead& head_of(char* bytes) { return *reinterpret_cast<NodeHead*>(bytes); }

std::size_t ids_at(std::size_t key_size) {
  return sizeof(NodeHead) + (key_size + kIdBytes - 1) / kIdBytes * kIdBytes;
}

char* checked(void* bytes) {
  if (bytes == nullptr) throw std::bad_alloc();
  return static_cast<char*>(bytes);
}

}  // namespace

// ---- A key ----

TrackedKey::TrackedKey(std::string_view key, std::uint64_t reader)
    : bytes_(checked(std::malloc(ids_at(key.size()) + kIdBytes))) {
  head_of(bytes_.get()) = {static_cast<std::uint32_t>(key.size()), 1};
  if (!key.empty()) std::memcpy(bytes_.get() + sizeof(NodeHead), key.data(), key.size());
  ids()[0] = reader;
}

std::string_view TrackedKey::key() const {
  return {bytes_.get() + sizeof(NodeHead), head_of(bytes_.get()).key_size};
}

std::span<const std::uint64_t> TrackedKey::readers() const {
  const NodeHead& head = head_of(bytes_.get());
  const char* const ids = bytes_.get() + ids_at(head.key_size);
  return {reinterpret_cast<const std::uint64_t*>(ids), head.readers};
}

std::span<std::uint64_t> TrackedKey::ids() {
  const NodeHead& head = head_of(bytes_.get());
  return {reinterpret_cast<std::uint64_t*>(bytes_.get() + ids_at(head.key_size)), head.readers};
}

void TrackedKey::set_count(std::size_t count) {
  head_of(bytes_.get()).readers = static_cast<std::uint32_t>(count);
}

void TrackedKey::resize(std::size_t room) {
  const std::size_t size = ids_at(head_of(bytes_.get()).key_size) + room * kIdBytes;
  char* const bytes = checked(std::realloc(bytes_.get(), size));
  static_cast<void>(bytes_.release());
  bytes_.reset(bytes);
}

bool TrackedKey::add(std::uint64_t reader) {
  const std::span<const std::uint64_t> before = readers();
  const auto place =
      static_cast<std::size_t>(std::ranges::lower_bound(before, reader) - before.begin());
  if (place < before.size() && before[place] == reader) return false;
  if (is_full()) resize(2 * before.size());
  set_count(readers().size() + 1);
  const std::span<std::uint64_t> after = ids();
  std::copy_backward(after.begin() + static_cast<std::ptrdiff_t>(place), after.end() - 1,
                     after.end());
  after[place] = reader;
  return true;
}

std::size_t TrackedKey::remove_if(const std::function<bool(std::uint64_t)>& is_gone) {
  const std::size_t before = readers().size();
  const auto gone = static_cast<std::size_t>(std::ranges::count_if(readers(), is_gone));
  if (gone == 0 || gone * 4 < before) return 0;
  const std::span<std::uint64_t> all = ids();
  std::ignore = std::remove_if(all.begin(), all.end(), is_gone);
  set_count(before - gone);
  resize(std::bit_ceil(std::max<std::size_t>(before - gone, 1)));
  return gone;
}

// ---- All keys ----

TrackedKeys::TrackedKeys(std::uint64_t seed, std::function<bool(std::uint64_t id)> is_gone)
    : seed_(seed), is_gone_(std::move(is_gone)), random_(seed) {}

std::uint64_t TrackedKeys::hash_of(std::string_view key) const { return hash_bytes(key, seed_); }

Slot TrackedKeys::find(std::string_view key, std::uint64_t hash) const {
  return table_.find(hash, [&](Slot slot) { return (*nodes_)[slot].key() == key; });
}

std::size_t TrackedKeys::bytes_of(std::string_view key) {
  constexpr std::size_t kInTables = 16;  // in the slab and in the table
  return allocated_for(ids_at(key.size()) + kIdBytes) + kInTables;
}

bool TrackedKeys::add(std::string_view key, std::uint64_t reader) {
  const std::uint64_t hash = hash_of(key);
  const Slot slot = find(key, hash);
  if (slot == kNoSlot) {
    table_.insert(hash, nodes_->emplace(key, reader), [this](Slot at) { return hash_at(at); });
    ++items_;
    return true;
  }
  TrackedKey& node = (*nodes_)[slot];
  if (node.is_full() && node.readers().size() >= kSearchedReaders &&
      !std::ranges::binary_search(node.readers(), reader)) {
    items_ -= node.remove_if(is_gone_);
  }
  const bool is_new = node.add(reader);
  items_ += is_new ? 1 : 0;
  return is_new;
}

std::optional<TrackedKey> TrackedKeys::take(std::string_view key) {
  if (table_.size() == 0) return std::nullopt;
  const std::uint64_t hash = hash_of(key);
  const Slot slot = find(key, hash);
  return slot == kNoSlot ? std::nullopt : take_at(slot, hash);
}

std::optional<TrackedKey> TrackedKeys::take_any() {
  const Slot slot = table_.pick(random_);
  return take_at(slot, hash_at(slot));
}

std::optional<TrackedKey> TrackedKeys::take_at(Slot slot, std::uint64_t hash) {
  std::optional<TrackedKey> taken = std::move((*nodes_)[slot]);
  nodes_->erase(slot);
  table_.erase(hash, slot, [this](Slot at) { return hash_at(at); });
  items_ -= taken->readers().size();
  return taken;
}

void TrackedKeys::clear() {
  if (nodes_->size() == 0) return;
  table_.clear();
  items_ = 0;
  cleared_.push_back(std::exchange(nodes_, std::make_unique<Nodes>()));
  next_cleared_ = 0;
}

bool TrackedKeys::free_some(std::size_t limit) {
  for (; limit > 0 && !cleared_.empty(); --limit) {
    Nodes& nodes = *cleared_.back();
    next_cleared_ = nodes.next(next_cleared_);
    if (next_cleared_ != kNoSlot) {
      nodes.erase(next_cleared_);
      continue;
    }
    cleared_.pop_back();
    next_cleared_ = 0;
  }
  return !cleared_.empty();
}

std::string TrackedKeys::check_invariants() const {
  std::size_t items = 0;
  std::size_t keys = 0;
  for (Slot slot = nodes_->next(0); slot != kNoSlot; slot = nodes_->next(slot + 1), ++keys) {
    const TrackedKey& node = (*nodes_)[slot];
    items += node.readers().size();
    if (node.readers().empty()) return fmt::format("'{}' has no readers", node.key());
    if (std::ranges::adjacent_find(node.readers(), std::greater_equal()) != node.readers().end()) {
      return fmt::format("readers of '{}' are not in order", node.key());
    }
    if (find(node.key(), hash_at(slot)) != slot) return fmt::format("'{}' is lost", node.key());
  }
  if (keys != table_.size()) return fmt::format("{} keys, {} in the table", keys, table_.size());
  if (items != items_) return fmt::format("{} items, {} counted", items, items_);
  return table_.check_invariants([this](Slot at) { return hash_at(at); });
}

}  // namespace mayfly
