// SPDX-License-Identifier: Apache-2.0
// HashRef: a hash in a database, whichever way it is kept.
//
//   HashRef hash = database.hash(slot);
//   hash.put("name", "Ann", now + 60s);
//   if (hash.settle()) ...                     // the key is gone, it had no field left
//
// A field that is due is not there. Where a field is asked for by name and found due, it is
// reclaimed (as the policy says); settle() then tells the listener, once for all of them, and
// removes the key if nothing is left. Whoever used a HashRef calls settle() before anything else
// is told about the command.
//
// Small hashes are one packed blob in the key's node; with too many fields or bytes they turn into
// a TableHash, for good. A few long values alone are no reason for that: a table has a floor of
// some KiB. Such a hash only says that it is a table, as others would have made it one.
//
//   find, put, erase, set_deadline   O(1); in a packed hash O(fields), which are few
//   size                             O(1) unless something is due; then O(due / 1000)

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keyspace/members/hash_field.h"
#include "mayfly/random.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

class Database;
struct KeyNode;
struct PackedPut;

class HashRef {
 public:
  HashRef(Database& database, Slot slot) : database_(database), slot_(slot) {}

  Slot slot() const { return slot_; }

  // ---- Reading; views are good until the next change ----

  std::optional<HashField> find(std::string_view field);
  std::size_t size() const;    // fields alive
  std::size_t stored() const;  // due ones included
  bool has_deadlines() const;
  bool is_packed() const;

  // What OBJECT ENCODING says: "listpack", or "hashtable" for a table, for a hash with deadlines
  // and for one beyond the limits of KeyspaceOptions.
  std::string_view encoding() const;

  // Fields alive, until `see` returns false. The hash must not be changed meanwhile.
  using See = std::function<bool(const HashField&)>;
  void each(const See& see) const;

  // Visits some fields alive (a whole packed hash at once) and returns the next cursor; 0 ends.
  std::uint64_t scan(std::uint64_t cursor, const See& see) const;

  // A field alive, evenly chosen. REQUIRES: size() > 0.
  HashField random(Random& random) const;

  // ---- Writing ----

  // Sets value and deadline. Returns whether the field is new. REQUIRES: deadline is not due (an
  // import or a load may store what is due; then it is invisible at once).
  bool put(std::string_view field, std::string_view value, Time deadline = kNever);

  // Sets the value only. Returns whether the field is new; then it has no deadline.
  bool put_keeping_deadline(std::string_view field, std::string_view value);

  // kNever removes the deadline. Returns whether the field is there.
  bool set_deadline(std::string_view field, Time deadline);

  // Returns whether the field was there.
  bool erase(std::string_view field);

  // The same, but the field counts as expired: for a deadline that was given in the past. It is
  // counted in the statistics, but the listener is not told; the command tells its own way.
  bool expire(std::string_view field);

  // Fields that were found due and reclaimed since the last settle().
  const std::vector<std::string>& reclaimed() const { return reclaimed_; }

  // Tells the listener what was reclaimed, and removes the key if no field is left. Returns whether
  // the key is gone; then the reference is of no use any more.
  bool settle();

 private:
  friend class HashLoad;

  std::optional<HashField> find_stored(std::string_view field) const;
  bool is_dead(Time deadline) const;
  void note_reclaimed(std::string_view field, Time deadline);
  void erase_stored(std::string_view field);
  void apply(const PackedPut& plan, std::string_view field, std::string_view value);
  bool must_be_table(std::size_t count, std::size_t size) const;  // of fields; of the packed form
  void turn_into_table();

  Database& database_;
  Slot slot_;
  std::vector<std::string> reclaimed_;
};

}  // namespace mayfly
