// SPDX-License-Identifier: Apache-2.0
// TableHash: a large hash, with a deadline for each field that wants one.
//
//   table_   hash of a field -> slot
//   nodes_   slot -> | field size 1-5 | value size 1-5 | field | value |       one malloc each
//   index_   slot -> deadline, in order; made with the first deadline and dropped with the last
//
// What is due is stored, counted and found until it is taken: whoever asks compares deadlines.
//
//   find, put, erase     O(1) expected
//   take_due             O(1) amortised a field
//   count_due            O(due / 1,000), see VolatileSet
//   memory               16 bytes a field and its node, and 15 more if it has a deadline

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/members/hash_field.h"
#include "keyspace/table.h"
#include "mayfly/internal/slab.h"
#include "mayfly/random.h"
#include "mayfly/time.h"
#include "mayfly/volatile_set.h"

namespace mayfly {

// A field and its value in one allocation, known by one pointer.
class FieldNode {
 public:
  FieldNode(std::string_view field, std::string_view value);

  std::string_view field() const { return read().field; }
  std::string_view value() const { return read().value; }
  HashField read() const;  // without the deadline

  // In place if the size class of the allocation stays the same. REQUIRES: not a part of this node.
  void set_value(std::string_view value);

  // What the allocation takes.
  std::size_t bytes() const;

  void prefetch() const { __builtin_prefetch(bytes_.get()); }

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };

  std::unique_ptr<char, Free> bytes_;
};

class TableHash {
 public:
  // The seed should be a secret: see hasher.h.
  explicit TableHash(std::uint64_t seed) : seed_(seed) {}

  TableHash(TableHash&&) noexcept = default;
  TableHash& operator=(TableHash&&) noexcept = default;

  // How many fields are stored, due ones included.
  std::size_t count() const { return nodes_->size(); }

  // Whatever its deadline: the caller asks is_due().
  std::optional<HashField> find(std::string_view field) const;

  // Sets the field's value and its deadline; kNever means none. Returns whether the field is new.
  // REQUIRES: the value is not a view into this hash.
  bool put(std::string_view field, std::string_view value, Time deadline);

  // Puts fields that are not there yet, faster than put(). Returns false at the first one that is.
  bool put_new(std::span<const HashField> fields);

  // Room for so many fields in an empty hash; and back with what was too much, in the end.
  void reserve(std::size_t fields) { table_.reserve(fields); }
  void fit();

  // These return whether the field is there.
  bool set_deadline(std::string_view field, Time deadline);
  bool erase(std::string_view field);

  // Removes at most `limit` fields that are due, soonest first (but those due within one bucket of
  // the index in any order), and appends their names to `fields` and their deadlines to
  // `deadlines`, unless it is null. Returns how many.
  std::size_t take_due(Time now, std::size_t limit, std::vector<std::string>& fields,
                       std::vector<Time>* deadlines);

  bool has_deadlines() const { return index_ != nullptr; }
  std::size_t deadline_count() const { return index_ ? index_->size() : 0; }
  std::size_t count_due(Time now) const { return index_ ? index_->count_due(now) : 0; }

  // Nothing is due before it; kNever if nothing ever is. O(1). It may be early after the least
  // deadline was taken away or moved, and is exact again after a take_due(); the other one is exact
  // always, for a look at up to 2,048 deadlines.
  Time earliest() const { return index_ ? index_->next_deadline() : kNever; }
  Time exact_earliest() const;

  // Calls `see(field)` for each until it returns false. The hash must not be changed meanwhile.
  template <class See>
  void each(See see) const {
    for (Slot slot = nodes_->next(0); slot != kNoSlot; slot = nodes_->next(slot + 1)) {
      if (!see(at(slot))) return;
    }
  }

  // Calls `see(field)` for a few fields and returns the cursor of the next few: see Table::scan.
  template <class See>
  std::uint64_t scan(std::uint64_t cursor, See see) const {
    return table_.scan(cursor, [&](Slot slot) { see(at(slot)); });
  }

  // Calls `see(field)` for those with from <= deadline < to, soonest first, until it returns false.
  // The hash must not be changed meanwhile.
  template <class See>
  void visit_expiring(Time from, Time to, See see) const {
    if (!index_) return;
    index_->visit(from, to, [&](Slot slot, Time) { return see(at(slot)); });
  }

  // A field by lot, each as likely as any other. REQUIRES: count() > 0.
  HashField random(Random& random) const { return at(table_.pick(random)); }

  // Frees at most `limit` fields and returns how many are left: to be rid of a large hash in
  // slices. After the first call only count() and this may be called.
  std::size_t free_some(std::size_t limit);

  // How many fields its table has room for before it grows, about.
  std::size_t table_places() const { return table_.places(); }

  // What it has allocated, as far as the index's part can be known: that is reckoned at 15 bytes
  // a deadline.
  std::size_t bytes() const;

  // Empty if the structure is sound, else what is wrong with it. For tests.
  std::string check_invariants() const;

 private:
  HashField at(Slot slot) const;
  std::uint64_t hash_of(std::string_view field) const;
  Slot slot_of(std::string_view field, std::uint64_t hash) const;
  bool add(const HashField& field, std::uint64_t hash);
  void schedule(Slot slot, Time deadline);
  void remove(Slot slot, std::uint64_t hash);

  std::uint64_t seed_;
  std::unique_ptr<internal::Slab<FieldNode>> nodes_ = std::make_unique<internal::Slab<FieldNode>>();
  Table table_;
  std::unique_ptr<VolatileSet> index_;  // null if no field has a deadline
  std::size_t node_bytes_ = 0;
};

}  // namespace mayfly
