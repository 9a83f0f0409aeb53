// SPDX-License-Identifier: Apache-2.0
// Call: one request that is being run, and all that its handler may use: the words, the context
// (time, policy), the reply, and what is propagated.
//
//   void hlen(Call& call) {
//     const Slot slot = call.find_to_read(call.word(1), ValueType::hash);
//     if (call.has_failed()) return;                      // it was no hash, and the reply says so
//     call.reply().integer(slot == kNoSlot ? 0 : call.members(slot).size());
//   }
//
// A handler replies exactly once. It calls changed() for every key that it changed and notify() for
// every event, in the order in which clients see them. A write command that changed something is
// propagated (to replicas and the append-only file) word for word, unless the handler calls
// propagate_as(). It must do so if the words alone would mean something else later: a relative
// time, a random choice, a condition.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "commands/events.h"
#include "keyspace/exec_context.h"
#include "keyspace/keyspace.h"
#include "resp/reply.h"
#include "resp/request.h"

namespace mayfly {

class Call;
class TtlPolicy;
struct TtlRule;

// What a blocking command waits for.
struct KeyWait {
  std::vector<std::string_view> keys;
  ValueType type;
  Time until = kNever;                  // then the reply is a null array
  std::vector<std::string> words = {};  // the request runs again with these; none: with its own
  bool wakes_without_key = false;       // also when a key is gone, or has another type
};

// What commands need of the server.
class Host {
 public:
  virtual ~Host() = default;

  // A keyspace event. The host decides whether it is published.
  virtual void notify(Event event, std::string_view name, std::string_view key, int database) = 0;

  // The same, with the members that it is about, for subscribers that want to know them.
  virtual bool wants_members(Event) const { return false; }
  virtual void notify_members(Event, std::string_view /*name*/, std::string_view /*key*/,
                              int /*database*/, const MemberView&) {}

  // A key was changed: transactions that watch it fail.
  virtual void key_changed(const ExecContext& context, int database, std::string_view key) = 0;

  // A whole database was changed (FLUSHDB, SWAPDB).
  virtual void database_changed(const ExecContext& context, int database) = 0;

  virtual void count_lookup(bool hit) = 0;

  // FLUSHALL has removed all keys.
  virtual void all_flushed() {}

  // Whether there is a replica or a log to propagate to.
  virtual bool wants_propagation() const { return true; }

  // See Call::wait_for(). This one never lets a client wait.
  virtual bool wait_for(Call&, const KeyWait&) { return false; }

  // The rules of ttl-policy; null if there are none.
  virtual const TtlPolicy* ttl_policy() const { return nullptr; }
  virtual void count_ttl_violation() {}

  // How the removal of an expired key is propagated: UNLINK, or DEL if lazyfree-lazy-expire is no.
  virtual std::string_view removal_name() const { return "UNLINK"; }

  // The same for a key that goes although nobody asked for that: lazyfree-lazy-server-del.
  virtual std::string_view implied_removal_name() const { return "UNLINK"; }
};

// A command in the form in which it goes to replicas and the append-only file.
using Propagated = std::vector<std::string>;

class Call {
 public:
  Call(Host& host, Keyspace& keyspace, const ExecContext& context, int database,
       const Command& command, Words words, Reply& reply)
      : host_(host),
        keyspace_(keyspace),
        context_(context),
        database_(database),
        command_(command),
        words_(words),
        reply_(reply) {}

  // ---- The request ----

  Words words() const { return words_; }
  std::size_t count() const { return words_.size(); }
  std::string_view word(std::size_t i) const { return words_[i]; }
  // Whether word `i` exists and is this option, in upper or lower case.
  bool is(std::size_t i, std::string_view option) const;
  const Command& command() const { return command_; }
  std::string full_name() const;  // "hset", "client|id"

  // A whole number, or an error reply ("ERR value is not an integer or out of range").
  std::optional<std::int64_t> integer(std::size_t i);
  // With bounds and an error text of its own.
  std::optional<std::int64_t> integer(std::size_t i, std::int64_t least, std::int64_t most,
                                      std::string_view error);

  // ---- What it may use ----

  Host& host() { return host_; }
  Keyspace& keyspace() { return keyspace_; }
  Database& database() { return keyspace_[database_]; }
  Reply& reply() { return reply_; }
  const ExecContext& context() const { return context_; }
  Time now() const { return context_.now; }  // the same throughout a call, and a transaction

  // ---- Finding keys; kNoSlot if there is none ----

  Slot find(std::string_view key) { return database().find(context_, key); }

  // For reading: counts hit or miss, notifies of `keymiss`, records the use.
  Slot find_to_read(std::string_view key);
  // The same without recording a use: TTL, TYPE, EXISTS.
  Slot find_untouched(std::string_view key);
  // For writing: records the use.
  Slot find_to_write(std::string_view key);

  // The same for a key that must have this type. If it has another, the reply is WRONGTYPE and
  // has_failed() is true.
  Slot find_to_read(std::string_view key, ValueType type);
  Slot find_to_write(std::string_view key, ValueType type);

  MembersRef members(Slot slot) { return database().members(context_, slot); }
  bool is_string(Slot slot) { return database().type(slot) == ValueType::string; }

  // A key without members, where no key is. Notifies of `new`.
  Slot make_members(ValueType type, std::string_view key);

  // The same for a list without elements, and for an empty stream.
  Slot make_list(std::string_view key);
  Slot make_stream(std::string_view key);

  // Sets a key to a string, whatever it was. Notifies of `new` if the key did not exist.
  Slot put_string(std::string_view key, std::string_view value);

  // The longest string that this call may make: proto-max-bulk-len. Commands of a primary or a log
  // were checked there: they are limited only by what a node can hold.
  std::uint64_t string_bytes_max() const;

  // The rule of ttl-policy for a key (ttl_policy.h). Null if there is none, or if this call is not
  // to be judged: only a primary does that, and not what it loads.
  const TtlRule* ttl_rule(std::string_view key) const {
    return judges_ttls() ? rule_of(key) : nullptr;
  }
  bool judges_ttls() const {
    return host_.ttl_policy() != nullptr && context_.policy == Policy::reclaim;
  }

  // ---- Blocking ----

  // Lets the client wait for a change of one of these keys; there is no reply now. After a change
  // the request runs again. It then replies, or calls this again and keeps its place; `until` is
  // that of the first time. False if the client must not wait, as in a transaction or in the stream
  // of a primary: the handler replies as if the time were over.
  bool wait_for(const KeyWait& wait) { return host_.wait_for(*this, wait); }

  // ---- Failing ----

  void fail(std::string_view error);  // the full text, "ERR ..."
  bool has_failed() const { return has_failed_; }
  void fail_syntax();
  void fail_arity();
  void fail_wrong_type();

  // ---- Reporting changes ----

  // A key was changed: counts the changes, and makes transactions that watch it fail.
  void changed(std::string_view key, std::int64_t times = 1);
  // The same for a key of any database, without counting.
  void key_changed(int database, std::string_view key);
  void changed_database(int number);
  // Ends the lease of GETSTALE on a key. A change does so, too.
  void end_lease(std::string_view key) { end_lease(database_, key); }
  void count_changes(std::int64_t times) { changes_ += times; }
  void notify(Event event, std::string_view name, std::string_view key);
  void notify(Event event, std::string_view name, std::string_view key, int database);
  // Also names the members to those who want to know.
  void notify(Event event, std::string_view name, std::string_view key, const MemberView& members);
  bool wants_members(Event event) const { return host_.wants_members(event); }

  // Ends the use of a key's members: reports members that were found expired. Removes the key, with
  // a `del`, if none is left.
  void finish(MembersRef& members, std::string_view key);
  // The same for a list.
  void finish(ListRef& list, std::string_view key);

  // ---- Propagating ----

  // Instead of the original words; may be repeated. Nothing is built if there is no receiver.
  template <class... Text>
  void propagate_as(const Text&... words) {
    is_replaced_ = true;
    if (wants_propagation()) propagated_.push_back({std::string(words)...});
  }
  void propagate_list(Propagated words);
  // Instead of all that was propagated so far; nothing if it is only the name of a command.
  void propagate_instead(Propagated words);
  void propagate_nothing() { is_replaced_ = true; }
  // After all that, in the same unit: a key got a deadline that nobody asked for.
  void propagate_deadline(int database, std::string_view key, Time deadline);
  bool wants_propagation() const { return host_.wants_propagation(); }
  std::int64_t changes() const { return changes_; }
  bool is_replaced() const { return is_replaced_; }
  const std::vector<Propagated>& propagated() const { return propagated_; }
  const std::vector<std::pair<int, Propagated>>& appended() const { return appended_; }

 private:
  Slot checked(Slot slot, ValueType type);
  void end_lease(int database, std::string_view key) {
    RefreshLeases& leases = keyspace_.leases();
    if (!leases.is_empty()) leases.key_changed(database, key);
  }
  const TtlRule* rule_of(std::string_view key) const;

  Host& host_;
  Keyspace& keyspace_;
  const ExecContext context_;
  const int database_;
  const Command& command_;
  Words words_;
  Reply& reply_;
  bool has_failed_ = false;
  bool is_replaced_ = false;
  std::int64_t changes_ = 0;
  std::vector<Propagated> propagated_;
  std::vector<std::pair<int, Propagated>> appended_;  // with their databases
};

}  // namespace mayfly
