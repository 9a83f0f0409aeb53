// SPDX-License-Identifier: Apache-2.0
// MemberTable: the members of a large key, each with a deadline if it has one.
//
//   table_   hash of a name -> slot
//   nodes_   slot -> | name size 1-5 | name | payload size 1-5 | payload |       one malloc each
//   index_   slot -> deadline, in order; made with the first deadline and dropped with the last
//   order_   slots by score, only of a sorted set
//
// Members that are due are stored, counted and found until they are taken: callers compare
// deadlines themselves.
//
//   find, put, erase     O(1) expected
//   take_due             O(1) amortised a member
//   count_due            O(due / 1,000), see VolatileSet
//   memory               16 bytes a member and its node, 15 more if it has a deadline, and 16 more
//                        if it has a score

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

#include "keyspace/members/member.h"
#include "keyspace/members/score_order.h"
#include "keyspace/table.h"
#include "mayfly/internal/slab.h"
#include "mayfly/random.h"
#include "mayfly/time.h"
#include "mayfly/volatile_set.h"

namespace mayfly {

// A name and a payload in one allocation, known by one pointer. A payload has a size of its own
// only if it is a value; all functions are given the same kind of payload.
class MemberNode {
 public:
  MemberNode(std::string_view name, std::string_view value, Payload payload);

  std::string_view name() const;
  Member read(Payload payload) const;  // without the deadline

  // In place if the size class of the allocation stays the same. REQUIRES: not a part of this node.
  void set_value(std::string_view value, Payload payload);

  // The size of the allocation.
  std::size_t bytes(Payload payload) const;

  [[gnu::always_inline]] void prefetch() const { __builtin_prefetch(bytes_.get()); }

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };

  std::unique_ptr<char, Free> bytes_;
};

class MemberTable {
 public:
  // The seed should be a secret: see hasher.h.
  MemberTable(std::uint64_t seed, Payload payload);

  MemberTable(MemberTable&&) noexcept = default;
  MemberTable& operator=(MemberTable&&) noexcept = default;

  Payload payload() const { return payload_; }

  // How many members are stored, due ones included.
  std::size_t count() const { return nodes_->size(); }

  // Whatever its deadline: the caller asks is_due().
  std::optional<Member> find(std::string_view name) const;

  // Sets the member's payload and its deadline; kNever means none. Returns whether it is new; if
  // not, `replaced` is what it had before. REQUIRES: the value is not a view into this table.
  struct Replaced {
    Time deadline = kNever;
    std::size_t value_size = 0;
  };
  bool put(std::string_view name, std::string_view value, Time deadline,
           Replaced* replaced = nullptr);

  // Puts a member that does not exist. Returns false, and changes nothing, if it exists.
  bool add(std::string_view name, std::string_view value, Time deadline);

  // Adds members that do not exist yet, faster than put(). Stops at the first that does; returns
  // how many it added.
  std::size_t put_new(std::span<const Member> members);

  // Reserves room for so many members in an empty table; fit() gives back what was too much.
  void reserve(std::size_t members) { table_.reserve(members); }
  void fit();

  // These return whether the member exists.
  bool set_deadline(std::string_view name, Time deadline);
  bool erase(std::string_view name);

  // Removes at most `limit` members that are due, soonest first (but those due within one bucket of
  // the index in any order), and appends their names to `names` and their deadlines to `deadlines`,
  // unless it is null. `see` is shown each before it goes. Returns how many.
  std::size_t take_due(Time now, std::size_t limit, std::vector<std::string>& names,
                       std::vector<Time>* deadlines, const SeeMember& see = {});

  bool has_deadlines() const { return index_ != nullptr; }
  std::size_t deadline_count() const { return index_ ? index_->size() : 0; }
  std::size_t count_due(Time now) const { return index_ ? index_->count_due(now) : 0; }
  bool has_alive(Time now) const { return count() > deadline_count() || count() > count_due(now); }

  // Nothing is due before it; kNever if nothing ever is. O(1). It may be early after the least
  // deadline was removed or changed, and is exact again after a take_due().
  Time earliest() const { return index_ ? index_->next_deadline() : kNever; }

  // The least deadline at or after `from`, exact; kNever if no member has one. Reads one or two
  // buckets of the index.
  Time first_deadline(Time from) const { return index_ ? index_->first_deadline(from) : kNever; }

  // Calls `visit(member)` for each until it returns false. The table must not change meanwhile.
  template <class Visit>
  void each(Visit visit) const {
    for (Slot slot = nodes_->next(0); slot != kNoSlot; slot = nodes_->next(slot + 1)) {
      if (!visit(at(slot))) return;
    }
  }

  // Slots of members with from <= deadline < to, soonest first, until `see` returns false.
  void visit_deadlines(Time from, Time to, const VolatileSet::See& see) const {
    if (index_) index_->visit(from, to, see);
  }

  // Calls `visit(member)` for a few members and returns the next cursor: see Table::scan.
  template <class Visit>
  std::uint64_t scan(std::uint64_t cursor, Visit visit) const {
    return table_.scan(cursor, [&](Slot slot) { visit(at(slot)); });
  }

  // A random member, each as likely as any other. REQUIRES: count() > 0.
  Member random(Random& random) const { return at(table_.pick(random)); }

  // The members of a sorted set by score, without those whose deadline is at or before
  // `hidden_until`. O(log n) for each member whose deadline is between the last such moment and
  // this one. REQUIRES: the payload is a score.
  const ScoreOrder& order(Time hidden_until);
  Member member_at(Slot slot) const { return at(slot); }
  std::string_view name_at(Slot slot) const { return (*nodes_)[slot].name(); }

  // The three steps of fetching a member into the processor's cache, ahead of a find(): its bucket,
  // its slot (kNoSlot if there is none), its node.
  std::uint64_t prefetch_bucket(std::string_view name) const {
    const std::uint64_t hash = hash_of(name);
    table_.prefetch(hash);
    return hash;
  }
  Slot prefetch_slot(std::uint64_t hash) const {
    const Slot slot = table_.candidate(hash);
    if (slot != kNoSlot) prefetch_place(slot);
    return slot;
  }
  [[gnu::always_inline]] void prefetch_place(Slot slot) const {
    __builtin_prefetch(&(*nodes_)[slot]);
  }
  [[gnu::always_inline]] void prefetch_node(Slot slot) const { (*nodes_)[slot].prefetch(); }

  // Frees at most `limit` members and returns how many are left, to free a large table in slices.
  // After the first call only count() and this may be called. `see` is shown members with deadlines
  // before they go; then deadline_count() and count_due() work until the last.
  std::size_t free_some(std::size_t limit, const SeeMember& see = {});

  // About how many members the table has room for before it grows.
  std::size_t table_places() const { return table_.places(); }

  // The size of a member's node; the same on average.
  static std::size_t member_bytes(std::size_t name_size, std::size_t value_size, Payload payload);
  std::size_t average_member_bytes() const;

  // What it has allocated. The part of the index is an estimate, 15 bytes a deadline.
  std::size_t bytes() const;
  std::size_t table_bytes() const { return table_.bytes(); }
  std::size_t order_bytes() const { return order_ ? order_->bytes() : 0; }

  // Slots of members are below it.
  std::size_t slot_extent() const { return nodes_->extent(); }
  bool is_used(Slot slot) const { return nodes_->is_used(slot); }
  // REQUIRES: the slot is in use.
  Time deadline_at(Slot slot) const { return index_ ? index_->deadline(slot) : kNever; }

  // Empty if the structure is valid, else what is wrong with it. For tests.
  std::string check_invariants() const;

 private:
  Member at(Slot slot) const;
  std::uint64_t hash_of(std::string_view name) const;
  std::uint64_t hash_at(Slot slot) const { return hash_of((*nodes_)[slot].name()); }
  Slot slot_of(std::string_view name, std::uint64_t hash) const;
  void insert(const Member& member, std::uint64_t hash);
  void schedule(Slot slot, Time deadline);
  void change_deadline(Slot slot, Time deadline);
  void drop_empty_index();
  std::string check_order() const;
  void remove(Slot slot, std::uint64_t hash);

  // Whether a member with this deadline is in the order.
  bool is_ordered(Time deadline) const { return order_ && deadline > hidden_until_; }
  void insert_ordered(Slot slot);
  void erase_ordered(Slot slot);

  std::uint64_t seed_;
  Payload payload_;
  std::unique_ptr<internal::Slab<MemberNode>> nodes_ =
      std::make_unique<internal::Slab<MemberNode>>();
  Table table_;
  std::unique_ptr<VolatileSet> index_;  // null if no member has a deadline
  std::unique_ptr<ScoreOrder> order_;   // null if the payload is no score
  Time hidden_until_ = Time::min();     // members with such a deadline are not in the order
  std::size_t node_bytes_ = 0;
};

}  // namespace mayfly
