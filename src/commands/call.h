// SPDX-License-Identifier: Apache-2.0
// Call: one request under way, and all that its handler may touch.
//
//   void hlen(Call& call) {
//     const Slot slot = call.hash_to_read(call.word(1));
//     if (call.has_failed()) return;                      // it was no hash, and that was said
//     call.reply().integer(slot == kNoSlot ? 0 : call.database().hash(slot).size());
//   }
//
// A handler replies exactly once. It says what it changed: changed() for every key, notify() for
// every event, in the order in which users see them. A write command that changed something is
// propagated (to replicas and the append-only file) word for word, unless the handler says
// propagate_as(), which it must whenever the words alone would mean something else later: a
// relative time, a random choice, a condition.
//
// Time: now() is the same throughout a call, and throughout a transaction.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "commands/events.h"
#include "keyspace/keyspace.h"
#include "resp/reply.h"
#include "resp/request.h"

namespace mayfly {

// What commands need of the server around them.
class Host {
 public:
  virtual ~Host() = default;

  // A keyspace event; the host knows whether anybody wants it.
  virtual void notify(Event event, std::string_view name, std::string_view key, int database) = 0;

  // A key was changed: transactions that watch it fail.
  virtual void key_changed(int database, std::string_view key) = 0;

  // A whole database was changed (FLUSHDB, SWAPDB).
  virtual void database_changed(int database) = 0;

  virtual void count_lookup(bool hit) = 0;

  // Whether anybody gets what is propagated.
  virtual bool wants_propagation() const { return true; }

  // How the removal of an expired key is propagated: UNLINK, or DEL if lazyfree-lazy-expire is no.
  virtual std::string_view removal_name() const { return "UNLINK"; }
};

// A command in the form in which it goes to replicas and the append-only file.
using Propagated = std::vector<std::string>;

class Call {
 public:
  Call(Host& host, Keyspace& keyspace, int database, const Command& command, Words words,
       Reply& reply)
      : host_(host),
        keyspace_(keyspace),
        database_(database),
        command_(command),
        words_(words),
        reply_(reply) {}

  // ---- The request ----

  Words words() const { return words_; }
  std::size_t count() const { return words_.size(); }
  std::string_view word(std::size_t i) const { return words_[i]; }
  bool is(std::size_t i,
          std::string_view option) const;  // in any case; false if there is no word i
  const Command& command() const { return command_; }
  std::string full_name() const;  // "hset", "client|id"

  // A whole number, or an error reply ("ERR value is not an integer or out of range").
  std::optional<std::int64_t> integer(std::size_t i);
  // With bounds and an error text of its own.
  std::optional<std::int64_t> integer(std::size_t i, std::int64_t least, std::int64_t most,
                                      std::string_view error);

  // ---- What it may touch ----

  Host& host() { return host_; }
  Keyspace& keyspace() { return keyspace_; }
  Database& database() { return keyspace_[database_]; }
  Reply& reply() { return reply_; }
  Time now() const { return keyspace_.now(); }

  // ---- Finding keys ----

  // For reading: counts hit or miss, tells `keymiss`, notes the use. kNoSlot if it is not there.
  Slot find_to_read(std::string_view key);
  // For writing: notes the use.
  Slot find_to_write(std::string_view key);

  // The same, and if the key holds something else, the reply is WRONGTYPE and has_failed() is true.
  Slot string_to_read(std::string_view key);
  Slot string_to_write(std::string_view key);
  Slot hash_to_read(std::string_view key);
  Slot hash_to_write(std::string_view key);

  // An empty hash under a key that is not there. Tells `new`.
  Slot make_hash(std::string_view key);

  // Sets a string under a key, whatever was there. Tells `new` if nothing was.
  Slot put_string(std::string_view key, std::string_view value);

  // The longest string that this call may make: proto-max-bulk-len. What a primary or a log says
  // was allowed there: it is limited only by what a node can hold.
  std::uint64_t string_bytes_max() const;

  // ---- Failing ----

  void fail(std::string_view error);  // the full text, "ERR ..."
  bool has_failed() const { return has_failed_; }
  void fail_syntax();
  void fail_arity();
  void fail_wrong_type();

  // ---- Telling ----

  // The key is not as it was: counts a change and wakes watchers.
  void changed(std::string_view key, std::int64_t times = 1);
  void changed_database(int number);
  void count_changes(std::int64_t times) { changes_ += times; }
  void notify(Event event, std::string_view name, std::string_view key);
  void notify(Event event, std::string_view name, std::string_view key, int database);

  // A hash was used: tells what was found due, and `del` if nothing is left. Returns whether the
  // key is gone. After this `slot` is good only if false.
  bool settle(HashRef& hash, std::string_view key);

  // ---- Propagating ----

  // Instead of the words as they came; may be repeated. Nothing is built if nobody wants it.
  template <class... Text>
  void propagate_as(const Text&... words) {
    is_replaced_ = true;
    if (wants_propagation()) propagated_.push_back({std::string(words)...});
  }
  void propagate_list(Propagated words);
  // Instead of all that was propagated so far; nothing if it is only a name.
  void propagate_instead(Propagated words);
  void propagate_nothing() { is_replaced_ = true; }
  bool wants_propagation() const { return host_.wants_propagation(); }
  std::int64_t changes() const { return changes_; }
  bool is_replaced() const { return is_replaced_; }
  const std::vector<Propagated>& propagated() const { return propagated_; }

 private:
  Slot checked(Slot slot, bool is_right);

  Host& host_;
  Keyspace& keyspace_;
  const int database_;
  const Command& command_;
  Words words_;
  Reply& reply_;
  bool has_failed_ = false;
  bool is_replaced_ = false;
  std::int64_t changes_ = 0;
  std::vector<Propagated> propagated_;
};

}  // namespace mayfly
