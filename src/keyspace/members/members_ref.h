// SPDX-License-Identifier: Apache-2.0
// MembersRef: the members of a key in a database, in any form.
//
//   MembersRef members = database.members(context, slot);
//   members.put("name", "Ann", now + 60s);
//   if (members.finish()) ...                  // the key is gone, it had no member left
//
// A member that is due does not exist. If it is looked up by name, it is reclaimed (if the policy
// says so); finish() then reports all reclaimed members to the listener at once, and removes the
// key if no member is left. Call finish() before anything else is reported about the command.
//
// Few members are packed into the key's node; with too many members or bytes they turn into a
// MemberTable, for good. A few long values alone are no reason for that, since a table takes some
// KiB at least. OBJECT ENCODING still calls such a hash a hashtable, as Valkey would. A set of few
// integers without deadlines is an int set (int_set.h) until another member comes.
//
//   find, put, erase, set_deadline   O(1); if packed O(members), which are few
//   size                             O(1) unless something is due; then O(due / 1000)

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_arena.h"
#include "keyspace/exec_context.h"
#include "keyspace/members/member.h"
#include "keyspace/members/members_order.h"
#include "mayfly/random.h"
#include "mayfly/slot.h"
#include "mayfly/time.h"

namespace mayfly {

class Database;
struct PackedLimits;
struct PackedPut;

class MembersRef {
 public:
  // REQUIRES: the key has members. The context must outlive the reference.
  MembersRef(Database& database, const ExecContext& context, Slot slot)
      : database_(database), context_(context), slot_(slot) {}

  Slot slot() const { return slot_; }

  // ---- Reading; views are valid until the next change, and as long as this reference ----

  std::optional<Member> find(std::string_view name);
  std::size_t size() const;    // members alive
  std::size_t stored() const;  // due ones included
  bool has_deadlines() const;
  bool is_packed() const;
  bool is_table() const;

  // Members alive, until `visit` returns false. The key must not be changed meanwhile.
  using Visit = std::function<bool(const Member&)>;
  void each(const Visit& visit) const;

  // Visits some members alive (all, if packed) and returns the next cursor; 0 ends.
  std::uint64_t scan(std::uint64_t cursor, const Visit& visit) const;

  // A random member alive, each as likely as any other. REQUIRES: size() > 0.
  Member random(Random& random) const;

  // The members of a sorted set in order, without those that are due; so ranks are exact. If the
  // policy says so, a thousand of them are reclaimed first. Those with a score above `most` may be
  // missing. REQUIRES: the key is a sorted set.
  MembersOrder order(double most = std::numeric_limits<double>::infinity());

  // ---- Writing ----

  // Puts a member that does not exist. Returns false, and changes nothing, if it exists.
  bool add(std::string_view name, std::string_view value, Time deadline = kNever);

  // Sets payload and deadline. Returns whether the member is new. REQUIRES: deadline is not due (an
  // import or a load may store what is due; then it is invisible at once).
  bool put(std::string_view name, std::string_view value, Time deadline = kNever);

  // Sets the payload only. Returns whether the member is new; then it has no deadline.
  bool put_keeping_deadline(std::string_view name, std::string_view value);

  // kNever removes the deadline. Returns whether the member exists.
  bool set_deadline(std::string_view name, Time deadline);

  // Returns whether the member existed. The name may be a view into the key.
  bool erase(std::string_view name);

  // The same, but counted as expired, for a deadline in the past. The listener is not told: the
  // command sends its own notifications.
  bool expire(std::string_view name, Time deadline);

  // Members that were found due and reclaimed since the last finish().
  const std::vector<std::string>& reclaimed() const { return reclaimed_; }

  // Reports reclaimed members to the listener, and removes the key if no member is left. Returns
  // whether the key is gone; then the reference is invalid.
  bool finish();

 private:
  const PackedLimits& limits() const;
  std::optional<Member> find_stored(std::string_view name) const;
  void record_reclaimed(std::string_view name, Time deadline);
  void reclaim_due();
  void report_overwritten(std::string_view name);
  void erase_stored(std::string_view name);
  std::optional<bool> put_int(std::string_view name, Time deadline);
  void apply(const PackedPut& plan, std::string_view name, std::string_view value);

  Database& database_;
  const ExecContext& context_;
  Slot slot_;
  std::vector<std::string> reclaimed_;
  mutable TextArena texts_{2048};  // names of an int set
};

// Whether so many members of so many packed bytes are kept as a table.
bool must_be_table(const PackedLimits& limits, std::size_t count, std::size_t bytes);

}  // namespace mayfly
