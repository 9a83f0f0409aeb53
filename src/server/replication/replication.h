// SPDX-License-Identifier: Apache-2.0
// Replication: which part the server plays, and the history of writes that it shares with others.
//
//   primary    its writes go to the log (replication_log.h), replicas follow it (replicas.h)
//   replica    what comes from its primary (primary_link.h) is applied, and goes to the log byte
//              for byte, so that replicas of its own can follow it, too
//
// A history has a name of 40 digits, and its bytes have numbers. Who has all bytes of a history up
// to a number can go on from there (PSYNC); who has not gets everything anew. A replica that is
// promoted begins a history of its own, and remembers the one it comes from (`former`).
//
// Only the primary decides what expires: a replica hides what is due, and removes it when told.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "mayfly/time.h"
#include "persist/rdb/rdb_writer.h"
#include "server/replication/local_expiries.h"
#include "server/replication/failover.h"
#include "server/replication/replicas.h"
#include "server/replication/replication_log.h"
#include "server/replication/waiters.h"

namespace mayfly {

class PrimaryLink;
class Server;

struct History {
  std::string id;
  std::string former;            // the history it comes from, or empty
  std::uint64_t former_end = 0;  // they are the same up to here
};

class Replication {
 public:
  explicit Replication(Server& server);
  ~Replication();

  bool is_replica() const { return primary_ != nullptr; }
  const History& history() const { return history_; }
  ReplicationLog& log() { return log_; }
  const ReplicationLog& log() const { return log_; }

  // Whether all writes go to the log. Not so in a primary that nobody has followed yet.
  bool has_log() const { return has_log_; }
  void open_log();   // from now on
  void close_log();  // nobody comes any more: a new history begins, for its bytes are not kept

  // ---- The part it plays ----

  void follow(const std::string& host, int port);
  void follow_nobody();

  Replicas& replicas() { return replicas_; }
  Waiters& waiters() { return waiters_; }
  Failover& failover() { return failover_; }
  LocalExpiries& local_expiries() { return local_expiries_; }
  PrimaryLink* primary() { return primary_.get(); }
  const PrimaryLink* primary() const { return primary_.get(); }

  // Why a write of a client's cannot be taken ("READONLY ...", "NOREPLICAS ..."), or empty.
  std::string why_no_writes(Time now) const;

  // ---- For the link to the primary ----

  // The history of the primary is ours from now on; the first byte that comes has this number.
  void adopt(const std::string& id, std::uint64_t next);
  // What we have belongs to no history any more: the next synchronisation brings everything.
  void forget_history() { close_log(); }
  // The primary has a new name for the history that we share.
  void rename_history(const std::string& id);
  // Bytes of the stream were applied.
  void applied(std::string_view bytes);

  // ---- Saved with the data, for going on after a restart ----

  RdbAux aux() const;
  // From the aux fields of what was loaded at the start: a replica can go on from there.
  void restore(const std::string& id, std::uint64_t offset, int database);

  void before_sleep(Time now);

 private:
  void begin_history();

  Server& server_;
  History history_;
  ReplicationLog log_;
  bool has_log_ = false;
  Replicas replicas_;
  Waiters waiters_;
  Failover failover_;
  LocalExpiries local_expiries_;
  std::unique_ptr<PrimaryLink> primary_;
};

// 40 random digits: the name of a run or of a history.
std::string random_id();

}  // namespace mayfly
