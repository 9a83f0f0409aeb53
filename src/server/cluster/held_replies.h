// SPDX-License-Identifier: Apache-2.0
// HeldReplies: with `cluster-replies in-sync`, a reply leaves only when what it tells of is safe:
// all in-sync replicas have it, and no failover can take it back. So reads and writes of a key are
// linearizable.
//
// A reply to a write needs the log up to its end; a reply to a read needs the last write of its
// slot, or the last one of those that may be of any slot: removals between requests, evictions, and
// writes of scripts, which need not name their keys. What is behind a held reply waits with it.
// While nobody else is in the set, or about to be, nothing is held: nobody else can take over.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cluster/hash_slot.h"
#include "server/cluster/request_slot.h"
#include "server/core/server_call.h"

namespace mayfly {

class HeldReplies {
 public:
  explicit HeldReplies(const ServerParts& parts) : parts_(parts) {}

  // A request of the client has ended; its reply begins at `start` of the output. `begin` is the
  // end of the log before the request.
  void add(Client& client, const RequestSlot& slot, std::size_t start, std::uint64_t begin);

  // The same for an answer of the console, which begins at this position of the connection's
  // stream. It may tell of anything that is in the log now.
  void add_answer(Link& link, std::uint64_t from);

  // Lets replies go that are safe by now.
  void release();

  // This server is a primary now, or replies wait from now on: what there is may not be safe yet.
  void begin();

  // It may not answer any more: clients whose replies are held must ask another server whether
  // their writes were done.
  void drop();

  void forget(const Client& client) { held_.erase(client.id()); }
  void forget(Link& link) { answers_.erase(&link); }
  std::size_t clients() const { return held_.size(); }

 private:
  // A piece of output that ends at a position of the connection's stream, and what it needs.
  struct Piece {
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
  };
  struct Held {
    std::vector<Piece> pieces;
    std::uint64_t begin = 0;  // of the first piece
  };

  std::uint64_t needed(const Client& client, const RequestSlot& slot, std::uint64_t begin);
  std::uint64_t safe() const;  // everything, if nobody else can take over

  const ServerParts& parts_;
  std::vector<std::uint64_t> written_;  // by slot: where its last write ends; empty: not used yet
  std::uint64_t written_before_ = 0;    // of slots without a write since
  std::uint64_t seen_end_ = 0;          // of the log, after the last request
  std::uint64_t elsewhere_ = 0;         // where the last write ends that any slot may have
  std::uint64_t evicted_ = 0;           // keys, when this was last looked at
  std::map<std::uint64_t, Held> held_;  // by client
  std::map<Link*, std::uint64_t> answers_;  // of the console: the offset that each needs
};

}  // namespace mayfly
