// SPDX-License-Identifier: Apache-2.0
// SlotMap: the hash map that the cache is built on. Its entries never move and have dense numbers.
//
//   SlotMap<std::string, int> map;
//   const Slot slot = map.insert("apple", 3);
//   map[map.find("apple")].value;                     // 3; find gives kNoSlot for what is absent

#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "mayfly/internal/hash_cells.h"
#include "mayfly/internal/slab.h"

namespace mayfly {

// The default hash. Strings can be looked up by anything that converts to a string_view.
template <class Key>
struct KeyHash : std::hash<Key> {};

template <>
struct KeyHash<std::string> {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
};

namespace internal {

// Whether `Hash` can be made and gives a number for a key.
template <class Hash, class Key>
concept HashFor = requires(const Hash& hash, const Key& key) {
  {Hash{}};
  { hash(key) } -> std::convertible_to<std::size_t>;
};
#define MAYFLY_NO_HASH \
  "mayfly: the key has no hash: specialize std::hash<Key>, or name a hash as template argument"

// Whether `Equal` can be made and compares keys.
template <class Equal, class Key>
concept EqualFor = requires(const Key& key) {
  { Equal{}(key, key) } -> std::convertible_to<bool>;
};
#define MAYFLY_NO_EQUAL                                                              \
  "mayfly: the key has no operator==: define one, or name a comparison as template " \
  "argument Equal"

// Compares a key with the key of a lookup. For types that cannot be compared the compiler prints
// one error, not one for each use.
template <class Equal, class Key, class Lookup>
bool is_equal(const Key& key, const Lookup& lookup) {
  if constexpr (requires { Equal{}(key, lookup); }) {
    return Equal{}(key, lookup);
  } else {
    static_assert(!EqualFor<Equal, Key>, "mayfly: keys cannot be compared with what is looked up");
    return false;
  }
}

struct NoCell {};

// An entry may begin with a cell of another structure, such as an expiry index (see SlotTable).
template <class Key, class Value, class Hash = KeyHash<Key>, class Equal = std::equal_to<>,
          class Cell = NoCell>
class SlotMap {
 public:
  struct Entry {
    [[no_unique_address]] Cell cell;
    Key key;
    Value value;
  };

  explicit SlotMap(std::uint64_t seed = HashCells::kSeed) : seed_(seed) {}

  template <class Lookup>
  static std::uint32_t hash_of(const Lookup& key, std::uint64_t seed) {
    return HashCells::spread(Hash{}(key), seed);
  }
  template <class Lookup>
  std::uint32_t hash_of(const Lookup& key) const {
    return hash_of(key, seed_);
  }

  // The slot of `key`, or kNoSlot.
  template <class Lookup>
  Slot find(const Lookup& key) const {
    return find(key, hash_of(key));
  }

  // The same with the hash at hand.
  template <class Lookup>
  Slot find(const Lookup& key, std::uint32_t hash) const {
    return cells_.find(hash, [&](Slot slot) { return is_equal<Equal>(entries_[slot].key, key); });
  }

  // The entry of `key`, or null.
  template <class Lookup>
  const Entry* lookup(const Lookup& key, std::uint32_t hash) const {
    const Entry* found = nullptr;
    cells_.find(hash, [&](Slot slot) {
      const Entry& entry = entries_[slot];
      if (!is_equal<Equal>(entry.key, key)) return false;
      found = &entry;
      return true;
    });
    return found;
  }

  // REQUIRES: the key is not there.
  Slot insert(Key key, Value value) {
    const std::uint32_t hash = hash_of(key);
    const Slot slot = entries_.emplace(Entry{Cell(), std::move(key), std::move(value)});
    cells_.insert(hash, slot);
    return slot;
  }

  // Removes an entry and returns it.
  Entry take(Slot slot) {
    Entry entry = std::move(entries_[slot]);
    cells_.erase(hash_of(entry.key), slot);
    entries_.erase(slot);
    return entry;
  }

  void erase(Slot slot) {
    cells_.erase(hash_of(entries_[slot].key), slot);
    entries_.erase(slot);
  }

  Entry& operator[](Slot slot) { return entries_[slot]; }
  const Entry& operator[](Slot slot) const { return entries_[slot]; }

  // The first slot in use from `slot` on, or kNoSlot: for walking over all entries.
  Slot next(Slot slot) const { return entries_.next(slot); }

  SlotTable table() const { return entries_.table(); }

  void clear() {
    cells_.clear();
    entries_.clear();
  }

  // For removing many at once: the first asks for an entry, the second for its cell.
  [[gnu::always_inline]] void prefetch(Slot slot) const { __builtin_prefetch(&entries_[slot], 1); }
  void prefetch_cell(Slot slot) const { cells_.prefetch(hash_of(entries_[slot].key)); }

  std::size_t size() const { return cells_.size(); }
  std::size_t extent() const { return entries_.extent(); }
  std::size_t cell_bytes() const { return cells_.bytes(); }
  bool is_sound() const { return cells_.is_sound() && cells_.size() == entries_.size(); }

 private:
  std::uint64_t seed_;
  HashCells cells_;
  Slab<Entry> entries_;
};

}  // namespace internal
}  // namespace mayfly
