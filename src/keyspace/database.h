// SPDX-License-Identifier: Apache-2.0
// Database: the keys of one numbered database, their values and their deadlines.
//
//   Table     hash of the key -> slot      (grows one bucket at a time; scan order survives)
//   Slab      slot -> KeyNode*             (the only pointer to a node)
//   keys      slot -> deadline of the key, in order of time
//   members   slot -> earliest deadline among the key's fields, in order of time
//
// A slot is good until its key is erased; changing a value keeps it. What is due is invisible to
// find() and uncounted by size(), whether it is still stored or not. What find() does about a key
// that it meets dead is up to Keyspace::policy().
//
// Time: the database never asks a clock; keyspace.now() is set once a command.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "keyspace/key_node.h"
#include "keyspace/members/hash_ref.h"
#include "keyspace/table.h"
#include "mayfly/internal/slab.h"
#include "mayfly/random.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"
#include "mayfly/volatile_set.h"

namespace mayfly {

class Keyspace;

// Who noticed that something was due.
enum class Found { on_access, by_sweep };

// All that a database holds: what FLUSHDB takes away at once and frees in slices.
struct Contents {
  Contents() = default;
  ~Contents();

  // Frees at most about `limit` keys and fields; returns how many. Nobody may look at it any more.
  std::size_t free_some(std::size_t limit);

  Table table;
  internal::Slab<KeyNode*> nodes;
  VolatileSet keys;     // deadlines of keys
  VolatileSet members;  // earliest deadlines of fields, by key
  Slot cursor = 0;      // of free_some()
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

  // The key's slot if it is alive, else kNoSlot. A key that is due, or whose fields are all due, is
  // dead; where the policy says so it is reclaimed here, with event and count.
  Slot find(std::string_view key);

  // The same without reclaiming anything.
  Slot peek(std::string_view key) const;

  // The same, dead or alive.
  Slot stored_slot(std::string_view key) const;

  bool is_alive(Slot slot) const;

  std::string_view key(Slot slot) const { return node(slot).key(); }
  Kind kind(Slot slot) const { return node(slot).type(); }
  bool is_string(Slot slot) const { return kind(slot) == Kind::string; }
  bool is_hash(Slot slot) const { return kind(slot) != Kind::string; }
  const KeyNode& node(Slot slot) const { return *contents_->nodes[slot]; }

  // Notes a use, for the eviction policies and OBJECT IDLETIME and FREQ.
  void touch(Slot slot);
  void set_access(Slot slot, std::uint32_t access) {
    contents_->nodes[slot]->access = access & 0xFFFFFF;
  }

  // ---- Deadlines of keys ----

  // kNever if it has none.
  Time deadline(Slot slot) const;

  // kNever removes it. A deadline that is due already makes the key dead, not gone.
  void set_deadline(Slot slot, Time deadline);

  // The earliest deadline among the fields; at or before it, never after. kNever if none has one.
  Time earliest_field(Slot slot) const;

  // ---- Strings ----

  // Good until the next change of this key. REQUIRES: is_string(slot).
  std::string_view string(Slot slot) const { return node(slot).value(); }

  // Makes the key a string, whatever it was, without a deadline. `value` must not be part of the
  // value the key has.
  Slot put_string(std::string_view key, std::string_view value);

  // Replaces the value of a string; its deadline stays. REQUIRES: is_string(slot).
  void set_string(Slot slot, std::string_view value);

  // Makes a string `size` bytes long, new bytes zero, and lets it be written. REQUIRES: is_string.
  char* resize_string(Slot slot, std::size_t size);

  // ---- Hashes ----

  // An empty hash. Fill it, or settle() it, before anybody else looks. What was stored under the
  // key, dead and hidden, is gone; the same holds for the targets of rename() and move().
  Slot make_hash(std::string_view key);

  // REQUIRES: is_hash(slot).
  HashRef hash(Slot slot) { return {*this, slot}; }

  // ---- Whole keys ----

  // Large values are freed later, in slices.
  void erase(Slot slot);

  // REQUIRES: no key alive has the new name.
  void rename(Slot slot, std::string_view key);

  // Moves or copies a key with all its deadlines to `key` in `to`. A copy leaves out fields that
  // are due. REQUIRES: no key alive has that name there.
  Slot move(Slot slot, Database& to, std::string_view key);
  Slot copy(Slot slot, Database& to, std::string_view key);

  // Room for so many keys in an empty database, some 9 bytes each; and back with what was too much.
  void reserve(std::size_t keys) { contents_->table.reserve(keys); }
  void fit();

  void clear();
  void swap_contents(Database& other);

  // ---- All keys ----

  std::size_t size() const;                                       // alive
  std::size_t stored() const { return contents_->nodes.size(); }  // dead ones included
  std::size_t deadline_count() const { return contents_->keys.size(); }
  std::size_t member_deadline_count() const { return contents_->members.size(); }
  Time next_deadline() const;  // of a key or a field; nothing is due before

  // Keys whose deadline is at or before `moment`; keys with a field of which that is so. Dead ones
  // too. Cost: O(buckets until then), a thousand keys each.
  std::size_t deadline_count(Time moment) const { return contents_->keys.count_due(moment); }
  std::size_t member_deadline_count(Time moment) const {
    return contents_->members.count_due(moment);
  }

  // An alive key, evenly chosen, or kNoSlot.
  Slot random(Random& random) const;

  // The same, dead or alive.
  Slot random_stored(Random& random) const {
    return stored() == 0 ? kNoSlot : contents_->table.pick(random);
  }

  // Visits the slots of a few keys (dead ones, too), and returns the next cursor; 0 ends. A key
  // that is there from begin to end is seen at least once.
  template <class See>
  std::uint64_t scan(std::uint64_t cursor, See see) const {
    return contents_->table.scan(cursor, see);
  }

  // Every stored slot, in no order, until `see` returns false. No change meanwhile.
  void each(const std::function<bool(Slot)>& see) const;

  // Slots whose keys have deadlines, soonest first, until `see` returns false.
  void visit_deadlines(Time from, Time to, const VolatileSet::See& see) const {
    contents_->keys.visit(from, to, see);
  }

  // ---- For the sweep (keyspace.cc) ----

  // Removes what is due, at most `limit` keys and fields; returns how many.
  std::size_t sweep(std::size_t limit);

  // The same of one key: the key itself, or at most `limit` of its fields. Returns how many fields.
  std::size_t sweep_key(std::string_view key, std::size_t limit, Found found = Found::by_sweep);

  std::size_t average_ttl_ms() const;
  std::size_t table_bytes() const { return contents_->table.bytes(); }
  std::size_t table_places() const { return contents_->table.places(); }
  std::string check_invariants() const;

 private:
  friend class HashLoad;  // makes whole hashes: hash_load.h
  friend class HashRef;

  std::uint64_t hash_of(std::string_view key) const;
  Slot add(KeyNode* node);
  void make_way(std::string_view key);
  void unlink(Slot slot);  // takes the key out and frees its value
  void refile(Slot slot);  // after a change of the fields' deadlines
  KeyNode*& place(Slot slot) { return contents_->nodes[slot]; }
  void free_value(KeyNode& node);
  bool has_alive_fields(Slot slot) const;
  bool reclaim(Slot slot);  // a dead key; by policy. Returns whether it is gone.
  std::size_t sweep_keys(std::size_t limit);
  std::size_t sweep_members(std::size_t limit);
  std::size_t sweep_fields(Slot slot, std::size_t limit, Found found);

  Keyspace& keyspace_;
  const int number_;
  std::unique_ptr<Contents> contents_;
};

}  // namespace mayfly
