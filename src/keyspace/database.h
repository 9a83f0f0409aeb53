// SPDX-License-Identifier: Apache-2.0
// Database: the keys of one numbered database, their values and their deadlines.
//
//   Table     hash of the key -> slot      (grows one bucket at a time; scan order survives)
//   Slab      slot -> KeyNode*             (the only pointer to a node)
//   keys      slot -> deadline of the key, in order of time
//   members   slot -> earliest deadline among the key's members, in order of time
//
// A slot is valid until its key is erased; changing a value keeps it. A key that is due is
// invisible to find() and not counted by size(), whether it is still stored or not. The policy of
// the ExecContext says whether find() removes such a key.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/exec_context.h"
#include "keyspace/forecast/entry_sums.h"
#include "keyspace/hash_slot_counts.h"
#include "keyspace/key_node.h"
#include "keyspace/list/list_ref.h"
#include "keyspace/members/members_ref.h"
#include "keyspace/table.h"
#include "keyspace/value.h"
#include "mayfly/internal/slab.h"
#include "mayfly/internal/slot_column.h"
#include "mayfly/random.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"
#include "mayfly/volatile_set.h"

namespace mayfly {

class Keyspace;

// All that a database holds. FLUSHDB takes it away at once, and it is freed in slices.
struct Contents {
  Contents() = default;
  ~Contents();

  // Frees at most about `limit` keys and members; returns how many. REQUIRES: no longer in use.
  std::size_t free_some(std::size_t limit);

  Table table;
  internal::Slab<KeyNode*> nodes;
  VolatileSet keys;                          // deadlines of keys
  VolatileSet members;                       // earliest deadlines of members, by key
  internal::SlotColumn<Millis> stale_times;  // see Database::set_deadline(); claimed unless zero
  EntrySums sums;
  std::unique_ptr<HashSlotCounts> hash_slots;  // null: not counted
  Slot cursor = 0;                             // of free_some()
  OutsideValue value;                          // of a key that free_some() has freed already
};

// What a request will look up: a key, and maybe members of it.
struct LookupHint {
  static constexpr std::size_t kMembers = 2;
  std::string_view key;
  std::array<std::string_view, kMembers> members;  // empty: none
};

class Database {
 public:
  Database(Keyspace& keyspace, int number);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  int number() const { return number_; }
  Keyspace& keyspace() { return keyspace_; }

  // ---- Finding ----

  // The key's slot if it is alive, else kNoSlot. A key that is due, or whose members are all due,
  // is dead; if the policy is `reclaim`, it is removed, reported and counted here.
  Slot find(const ExecContext& context, std::string_view key);

  // The same without removing anything.
  Slot peek(const ExecContext& context, std::string_view key) const;

  // The same, dead or alive.
  Slot stored_slot(std::string_view key) const;

  bool is_alive(const ExecContext& context, Slot slot) const {
    const KeyNode& node = this->node(slot);
    if (node.has_deadline == 0 && node.has_member_deadlines == 0) return true;
    return !has_expired(context, slot);
  }

  // Fetches what will be looked up into the processor's cache. Changes nothing.
  static constexpr std::size_t kHintsMost = 16;
  void prefetch(std::span<const LookupHint> hints) const;  // at most kHintsMost

  std::string_view key(Slot slot) const { return node(slot).key(); }
  ValueType type(Slot slot) const { return type_of(node(slot)); }
  const KeyNode& node(Slot slot) const { return *contents_->nodes[slot]; }

  // Records a use, for eviction and for OBJECT IDLETIME and FREQ.
  void touch(const ExecContext& context, Slot slot);
  void set_access(Slot slot, std::uint32_t access) {
    contents_->nodes[slot]->access = access & 0xFFFFFF;
  }

  // ---- Deadlines of keys ----

  // kNever if it has none.
  Time deadline(Slot slot) const;

  // kNever removes it. A deadline that is due already hides the key, but does not remove it. The
  // key is stale for this time before the deadline: its value is still served, but a new one is
  // wanted.
  void set_deadline(Slot slot, Time deadline, Millis stale = Millis(0));
  Millis stale_time(Slot slot) const {
    return slot < contents_->stale_times.extent() ? contents_->stale_times[slot] : Millis(0);
  }
  bool knows_stale_times() const { return contents_->stale_times.extent() > 0; }
  bool is_stale(Slot slot, Time now) const {
    const Millis stale = stale_time(slot);
    return stale > Millis(0) && is_due(deadline(slot) - stale, now);
  }

  // The earliest deadline among the members, or an earlier time. kNever if none has a deadline.
  Time earliest_member_deadline(Slot slot) const;

  // The least deadline at or after `from` among the members, exact; kNever if no member has one.
  // O(1), but O(members) if they are packed.
  Time first_member_deadline(Slot slot, Time from) const;

  // Makes earliest_member_deadline() exact, and returns it.
  Time settle_member_deadline(Slot slot);

  // ---- Strings ----

  // Valid until the next change of this key. REQUIRES: the key is a string.
  std::string_view string(Slot slot) const { return node(slot).value(); }

  // Makes the key a string without a deadline, whatever it was. `value` must not be part of the
  // old value.
  Slot put_string(const ExecContext& context, std::string_view key, std::string_view value);

  // Replaces the value of a string; its deadline stays. REQUIRES: the key is a string.
  void set_string(Slot slot, std::string_view value);

  // Makes a string `size` bytes long, new bytes zero, for writing. REQUIRES: the key is a string.
  char* resize_string(Slot slot, std::size_t size);

  // ---- Keys with members ----

  // A key without members. Add some, or finish() it, before anything else reads the database. A
  // hidden key of that name is removed; the same holds for the targets of rename() and move().
  Slot make_members(const ExecContext& context, ValueType type, std::string_view key);

  // REQUIRES: the key has members. The context must outlive the reference.
  MembersRef members(const ExecContext& context, Slot slot) { return {*this, context, slot}; }

  // ---- Lists and streams ----

  // A list without elements. Add some, or finish() it, before anything else reads the database.
  Slot make_list(const ExecContext& context, std::string_view key);
  ListRef list(Slot slot) { return {*this, slot}; }  // REQUIRES: the key is a list

  // Makes the key a stream without a deadline, whatever it was.
  Slot put_stream(const ExecContext& context, std::string_view key, std::unique_ptr<Stream> stream);
  Stream& stream(Slot slot) { return node(slot).stream(); }  // REQUIRES: the key is a stream

  // ---- Whole keys ----

  // Large values are freed later, in slices.
  void erase(Slot slot) {
    report_removal(slot);
    unlink(slot);
  }

  // The same without telling the observer: the key lives on elsewhere.
  void forget(Slot slot) { unlink(slot); }

  // REQUIRES: no key alive has the new name.
  void rename(Slot slot, std::string_view key);

  // Moves or copies a key with all its deadlines to `key` in `to`. A copy leaves out members that
  // are due. REQUIRES: no key alive has that name there.
  Slot move(Slot slot, Database& to, std::string_view key);
  Slot copy(const ExecContext& context, Slot slot, Database& to, std::string_view key);

  // Reserves room for so many keys in an empty database, some 9 bytes each; fit() gives back what
  // was too much.
  void reserve(std::size_t keys) { contents_->table.reserve(keys); }
  void fit();

  void clear();
  void swap_contents(Database& other) { std::swap(contents_, other.contents_); }

  // ---- All keys ----

  std::size_t size(const ExecContext& context) const;             // alive
  std::size_t stored() const { return contents_->nodes.size(); }  // dead ones included
  std::size_t deadline_count() const { return contents_->keys.size(); }
  std::size_t member_deadline_count() const { return contents_->members.size(); }
  Time next_deadline() const;  // of a key or a member; nothing is due before

  // Keys with a deadline at or before `moment`; keys with such a member. Dead ones are included.
  // O(buckets until then), a thousand keys each.
  std::size_t deadline_count(Time moment) const { return contents_->keys.count_due(moment); }
  std::size_t member_deadline_count(Time moment) const {
    return contents_->members.count_due(moment);
  }

  // Keys and members that are stored, dead ones included, by type; members that have a deadline.
  std::size_t stored(ValueType type) const { return contents_->sums.keys_of(type); }
  std::size_t stored_members(ValueType type) const { return contents_->sums.members_of(type); }
  std::size_t volatile_members() const {
    const EntrySums& sums = contents_->sums;
    return sums.packed_members.total().entries + sums.table_total().entries;
  }

  // Keys and members with a deadline before each moment, dead ones included, and how many bytes
  // they have for themselves: see key_bytes() and member_bytes(). REQUIRES: see
  // DeadlineSums::until().
  std::vector<DeadlineSum> keys_until(std::span<const Time> moments) const {
    return contents_->sums.key_deadlines.until(moments);
  }
  std::vector<DeadlineSum> packed_members_until(std::span<const Time> moments) const {
    return contents_->sums.packed_members.until(moments);
  }
  std::vector<DeadlineSum> table_members_until(std::span<const Time> moments) const {
    return contents_->sums.tables_until(moments);
  }

  // How many bytes the sums of deadlines free until each moment.
  std::vector<std::size_t> sums_freed_until(std::span<const Time> moments) const {
    return contents_->sums.freed_until(moments);
  }

  // Every slot in use is below it. These take any slot below it.
  std::size_t slot_extent() const { return contents_->nodes.extent(); }
  bool is_used(Slot slot) const { return contents_->nodes.is_used(slot); }
  Time indexed_deadline(Slot slot) const { return contents_->keys.find(slot); }
  bool has_member_deadlines(Slot slot) const { return contents_->members.find(slot) != kNever; }

  // After a change of a stream: its size may be another one. Other values report it themselves.
  // REQUIRES: the key is no string.
  void record_size(Slot slot) {
    if (node(slot).has_deadline != 0) refresh_size(slot, contents_->sums.sizes[slot]);
  }

  // ---- Hash slots of a cluster ----

  // Keys of the hash slot, dead ones included. REQUIRES: KeyspaceOptions::hash_slot_of is given, as
  // for keys_in_hash_slot().
  std::size_t stored_in_hash_slot(std::uint16_t hash_slot) const {
    return contents_->hash_slots->count(hash_slot);
  }

  // Some `limit` keys alive of the hash slot. O(all keys) unless it finds them before.
  std::vector<std::string_view> keys_in_hash_slot(const ExecContext& context,
                                                  std::uint16_t hash_slot, std::size_t limit) const;

  // A random key alive, each as likely as any other, or kNoSlot.
  Slot random(const ExecContext& context, Random& random) const;

  // The same, dead or alive.
  Slot random_stored(Random& random) const {
    return stored() == 0 ? kNoSlot : contents_->table.pick(random);
  }

  // Visits the slots of a few keys (dead ones, too), and returns the next cursor; 0 ends. A key
  // that exists from begin to end is visited at least once.
  template <class Visit>
  std::uint64_t scan(std::uint64_t cursor, Visit visit) const {
    return contents_->table.scan(cursor, visit);
  }

  // Every stored slot, in no order, until `visit` returns false. No change meanwhile.
  void each(const std::function<bool(Slot)>& visit) const;

  // Slots whose keys have deadlines, soonest first, until `visit` returns false.
  void visit_deadlines(Time from, Time to, const VolatileSet::See& visit) const {
    contents_->keys.visit(from, to, visit);
  }

  // The same for keys whose members have deadlines, by the earliest one.
  void visit_member_deadlines(Time from, Time to, const VolatileSet::See& visit) const {
    contents_->members.visit(from, to, visit);
  }

  // ---- Expiry ----

  // Removes what is due, at most `limit` keys and members; returns how many.
  std::size_t sweep(const ExecContext& context, std::size_t limit);

  // The same without spared keys, and only with deadlines from `from` on.
  using IsSpared = std::function<bool(std::string_view key)>;
  std::size_t sweep_others(const ExecContext& context, std::size_t limit, Time from,
                           const IsSpared& is_spared);

  // The same for one key: the key itself, or at most `limit` of its members. Returns how many
  // members.
  std::size_t sweep_key(const ExecContext& context, std::string_view key, std::size_t limit,
                        FoundBy by = FoundBy::sweep);

  // Tells the observer of a key or a member that is about to be removed.
  void report_expiring(const ExecContext& context, Slot slot, Time deadline, FoundBy by);
  void report_expiring(const ExecContext& context, Slot slot, const Member& member, FoundBy by);

  // The same for all members of a key that are due. REQUIRES: the key has members.
  void report_overdue(const ExecContext& context, Slot slot, FoundBy by);

  std::size_t average_ttl_ms(Time now) const;
  std::size_t table_bytes() const { return contents_->table.bytes(); }
  std::size_t table_places() const { return contents_->table.places(); }
  std::string check_invariants() const;

 private:
  friend class ListRef;
  friend class MembersLoad;
  friend class MembersRef;

  std::uint64_t hash_of(std::string_view key) const;
  std::unique_ptr<Contents> new_contents() const;
  void prefetch_keys(std::span<const LookupHint> hints) const;
  Slot insert(KeyNode* node);
  void set_stale_time(Slot slot, Millis stale);
  Slot add(const ExecContext& context, KeyNode* node);  // insert(), as used now
  void remove_stored(std::string_view key);             // if there is one
  void report_removal(Slot slot) {
    if (node(slot).has_member_deadlines != 0) report_removal_with_members(slot);
  }
  void report_removal_with_members(Slot slot);
  void unlink(Slot slot);  // removes the key and frees its value
  KeyNode*& place(Slot slot) { return contents_->nodes[slot]; }
  void free_value(KeyNode& node);  // and forgets its members
  Slot put_outside(const ExecContext& context, Encoding encoding, std::string_view key,
                   void* value);
  KeyNode* new_members_node(ValueType type, std::string_view key) const;
  void turn_into_table(Slot slot);  // REQUIRES: its members are packed
  void end_int_set(Slot slot);      // makes the members packed, or a table
  void set_table(Slot slot, std::unique_ptr<MemberTable> table);
  void refresh_deadline(Slot slot);  // after a change of the members' deadlines
  void schedule_members(Slot slot, Time earliest);

  // ---- Sums: database_sums.cc ----
  // What a key counts for, before a change of its value or its name; 0 if it has no deadline. And
  // after that change. REQUIRES: it has a deadline.
  std::uint64_t counted_size(Slot slot) const;
  void refresh_size(Slot slot, std::uint64_t before);
  void move_deadline(Slot slot, Time before, Time deadline);  // kNever: it had, or has, none
  void add_member(const KeyNode& node, const Member& member);
  void remove_member(const KeyNode& node, const Member& member);
  void add_members(const KeyNode& node);  // all of them
  void remove_members(const KeyNode& node);
  std::size_t forget_value(Slot slot);  // the key is an empty string then; how many members it had
  std::string check_sums() const;

  bool has_expired(const ExecContext& context, Slot slot) const;
  bool has_alive_members(Slot slot, Time now) const;
  void reclaim(const ExecContext& context, Slot slot);  // REQUIRES: it is dead
  std::size_t sweep_keys(const ExecContext& context, std::size_t limit);
  std::size_t sweep_taken(const ExecContext& context, const Due& taken, std::size_t limit);
  std::size_t sweep_members(const ExecContext& context, std::size_t limit);
  void take_due(const ExecContext& context, Slot slot, std::size_t limit, FoundBy by,
                std::vector<std::string>& names, std::vector<Time>& deadlines);
  std::size_t sweep_members_of(const ExecContext& context, Slot slot, std::size_t limit, FoundBy by,
                               bool keeps_key = false);  // even without members

  Keyspace& keyspace_;
  const int number_;
  std::unique_ptr<Contents> contents_;
};

}  // namespace mayfly
