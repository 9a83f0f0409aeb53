// SPDX-License-Identifier: Apache-2.0
// HeldReplies: with `cluster-replies in-sync`, a reply leaves only when the writes that it depends
// on are safe: all in-sync replicas have them, and no failover can undo them. So reads and writes
// of a key are linearizable.
//
// The reply of a request that has written needs the log up to its end. Any other needs it up to the
// last write of all data that was read: by the request, by the commands that EXEC or a script ran
// for it, and by the watches of EXEC. See WrittenSlots for the precision. Output behind a held
// reply waits with it. While no other process is in the set, or about to be, nothing is held: no
// other can take over.
//
// Messages to subscribers, MONITOR, invalidations of cached keys, and reports about the server
// (INFO, MEMORY STATS) are not held.

#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cluster/hash_slot.h"
#include "server/cluster/replies/written_slots.h"
#include "server/core/server_call.h"

namespace mayfly {

class HeldReplies {
 public:
  explicit HeldReplies(const ServerParts& parts) : parts_(parts), written_(parts) {}

  // ---- The request that runs now ----

  // Its reads and writes so far.
  struct Seen {
    std::uint64_t offset = 0;  // the end of the last write that it may have read
    std::uint64_t writes = 0;  // WrittenSlots::count() at its beginning
  };

  // A request begins, perhaps while a script of another one is interrupted. The returned value is
  // of that one, for resume().
  Seen begin_request() { return std::exchange(seen_, {0, written_.count()}); }
  void resume(const Seen& outer) { seen_ = outer; }

  // It runs this command, itself or by EXEC or a script.
  void reads(Client& client, const Command& command, Words words);

  // It waits for its keys. An answer without another run, because its time is over, counts as a
  // read of them.
  void waits(const Client& client, const Command& command, Words words);
  void reads_of_wait(const Client& client);

  // It has ended; its reply begins at `start` of the output.
  void add(Client& client, std::size_t start);

  // The same for an answer of the console, which begins at this position of the connection's
  // stream. It may depend on anything that is in the log now.
  void add_answer(Link& link, std::uint64_t from);

  // Lets replies go that are safe by now.
  void release();

  // This server is a primary now, or replies wait from now on: what there is may not be safe yet.
  void begin();

  // From now on no replies are added; those that are held wait until they are safe.
  void end() { written_.end(); }

  // It may not answer any more: clients whose replies are held must ask another server whether
  // their writes were done.
  void drop();

  void forget(const Client& client);
  void forget(Link& link) { answers_.erase(&link); }
  std::size_t clients() const { return held_.size(); }

 private:
  // A piece of output: its end in the connection's stream, and the offset of the log it needs.
  struct Piece {
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
  };
  struct Held {
    std::vector<Piece> pieces;
    std::uint64_t begin = 0;  // of the first piece

    std::size_t memory() const;
  };

  std::uint64_t safe() const;  // everything, if no other process can take over

  const ServerParts& parts_;
  WrittenSlots written_;
  Seen seen_;
  std::map<std::uint64_t, Held> held_;                    // by client
  std::map<std::uint64_t, std::vector<HashSlot>> waits_;  // likewise; perhaps over by now
  std::map<Link*, std::uint64_t> answers_;  // of the console: the offset that each needs
};

}  // namespace mayfly
