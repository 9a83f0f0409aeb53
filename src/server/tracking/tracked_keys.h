// SPDX-License-Identifier: Apache-2.0
// TrackedKeys: which clients have read which keys.
//
//   table_   hash of a key -> slot
//   nodes_   slot -> | key size 4 | readers 4 | key, filled up to 8 n bytes | id 8 | id 8 | ...
//                                                                            one malloc each
//
// Ids are in order, and a key has room for a power of two of them. Ids of clients that are gone
// stay: to look for them would take long. A list that is full is rid of them before it grows, if
// they are a quarter of it, so that a key that is only read does not collect them.
//
//   add, take            O(1) expected, and O(log readers); a new reader moves those behind it
//   clear                O(1): nodes are freed later, by free_some
//   memory               24 bytes a key and its name, and 8 for each reader

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/table.h"
#include "mayfly/internal/slab.h"
#include "mayfly/random.h"

namespace mayfly {

// A key and the ids of its readers, in one allocation.
class TrackedKey {
 public:
  TrackedKey(std::string_view key, std::uint64_t reader);

  std::string_view key() const;
  std::span<const std::uint64_t> readers() const;
  bool is_full() const { return std::has_single_bit(readers().size()); }

  // Returns whether it is new.
  bool add(std::uint64_t reader);

  // Removes those for which `is_gone` holds, if they are at least a quarter. Returns how many.
  std::size_t remove_if(const std::function<bool(std::uint64_t)>& is_gone);

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };

  std::span<std::uint64_t> ids();
  void set_count(std::size_t count);
  void resize(std::size_t room);  // in ids

  std::unique_ptr<char, Free> bytes_;
};

class TrackedKeys {
 public:
  // The seed should be a secret: see hasher.h.
  TrackedKeys(std::uint64_t seed, std::function<bool(std::uint64_t id)> is_gone);

  std::size_t keys() const { return table_.size(); }
  std::size_t items() const { return items_; }  // pairs of a key and a reader

  // REQUIRES: the key may exist, so it has at most kNodeBytesMax bytes.
  // Returns whether the reader is new.
  bool add(std::string_view key, std::uint64_t reader);

  // Memory of a key that has one reader.
  static std::size_t bytes_of(std::string_view key);

  // Removes the key and returns it with its readers; nothing if nobody has read it.
  std::optional<TrackedKey> take(std::string_view key);

  // A random one. REQUIRES: keys() > 0.
  std::optional<TrackedKey> take_any();

  void clear();

  // Frees so many nodes of those that clear() left, and returns whether any are left.
  bool free_some(std::size_t limit);

  // Empty if the structure is valid, else what is wrong with it. For tests.
  std::string check_invariants() const;

 private:
  using Nodes = internal::Slab<TrackedKey>;

  std::uint64_t hash_of(std::string_view key) const;
  std::uint64_t hash_at(Slot slot) const { return hash_of((*nodes_)[slot].key()); }
  Slot find(std::string_view key, std::uint64_t hash) const;
  std::optional<TrackedKey> take_at(Slot slot, std::uint64_t hash);

  const std::uint64_t seed_;
  const std::function<bool(std::uint64_t)> is_gone_;
  Table table_;
  std::unique_ptr<Nodes> nodes_ = std::make_unique<Nodes>();
  std::size_t items_ = 0;
  Random random_;
  std::vector<std::unique_ptr<Nodes>> cleared_;
  Slot next_cleared_ = 0;  // of the last of them
};

}  // namespace mayfly
