// SPDX-License-Identifier: Apache-2.0
// ReplicationStream: the writes of a primary as a stream of bytes with an id, and the role of this
// server in it.
//
// A stream has a replication id of 40 digits, and its bytes have offsets. A replica that has all
// bytes of a stream up to an offset can go on from there (PSYNC); any other gets all data. A
// replica that is promoted begins a stream with an id of its own, and remembers the one it comes
// from.
//
// A primary appends its writes. A replica appends what comes from its primary, byte for byte, so
// that it can have replicas, too.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "persist/rdb/rdb_writer.h"
#include "server/replication/propagation.h"

namespace mayfly {

// 40 random digits: the id of a run or of a replication stream.
std::string random_id();

// 40 hexadecimal digits, of either case.
bool is_replication_id(std::string_view id);

struct ReplicationIds {
  std::string id = random_id();
  std::string former = {};       // the stream it comes from, or empty
  std::uint64_t former_end = 0;  // both are the same up to here
};

// ReplicationLog: the stream of commands that replicas follow, by the number of each byte.
//
//   begin()                  a replica's cursor                 end()
//     | kept for partial syncs       |   not sent to all yet    |
//
// All replicas share the one copy: each has a cursor, and what none of them needs any more is
// dropped, but for the last `repl-backlog-size` bytes. So memory is that of the backlog plus what
// the slowest replica has not taken yet, which its output limit bounds.
//
//   append, read   O(bytes), in blocks of 64 KiB that are never moved
//   trim           O(blocks dropped)
class ReplicationLog {
 public:
  static constexpr std::size_t kBlockMemory = 64 * 1024;  // a size that allocators do not round up
  static constexpr std::size_t kBlockBytes = kBlockMemory - 1;  // usable by a string
  static constexpr std::uint64_t kKeptLeast = 16 * 1024;        // the least backlog

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }  // the number of the next byte
  bool contains(std::uint64_t from) const { return from >= begin_ && from <= end_; }

  void append(std::string_view bytes);

  // Bytes from there on, as many as lie together; empty at the end. Good until the next change.
  // REQUIRES: contains(from).
  std::string_view read(std::uint64_t from) const;

  // Keeps the last `kept` bytes, and those from `needed` on. Whole blocks go.
  void trim(std::uint64_t kept, std::uint64_t needed);

  // Forgets all; the next byte has this number.
  void restart(std::uint64_t next);

  std::size_t memory() const { return blocks_.size() * kBlockMemory; }

  // The part of it that slow replicas keep: beyond the last `kept` bytes and the two blocks at the
  // ends, which are not full.
  std::size_t memory_beyond(std::uint64_t kept) const {
    const std::uint64_t most = std::max<std::uint64_t>(kept, kKeptLeast) + 2 * kBlockMemory;
    return static_cast<std::size_t>(memory() - std::min<std::uint64_t>(memory(), most));
  }
  std::string check_invariants() const;

 private:
  std::deque<std::string> blocks_;  // all but the last are full
  std::uint64_t begin_ = 0;         // of the first block
  std::uint64_t end_ = 0;
};

class ReplicationStream final : public PropagationSink {
 public:
  explicit ReplicationStream(Propagation& propagation) : propagation_(propagation) {}

  bool is_replica() const { return is_replica_; }
  void set_replica(bool is) { is_replica_ = is; }

  const ReplicationIds& ids() const { return ids_; }
  ReplicationLog& log() { return log_; }
  const ReplicationLog& log() const { return log_; }

  // Whether all writes go to the log. Not so in a primary that never had a replica.
  bool is_open() const { return is_open_; }
  void open();
  void close();  // and a new id, as the bytes are not kept any more

  // The id becomes the former one.
  void start_new_id() { change_id(random_id()); }
  void change_id(const std::string& id) { ids_ = {id, ids_.id, log_.end()}; }

  // Takes the id of the primary; the next byte has this offset.
  void adopt(const std::string& id, std::uint64_t next);

  // For a restarted primary whose data equals the stream `id` up to `end`. It begins another stream
  // there, with which replicas of the former stream can go on.
  void resume(const std::string& id, std::uint64_t end);

  // A write of this server. A replica appends only what its primary sends.
  unsigned target() const override { return propagate_to::replicas; }
  void take(int database, std::string_view command) override;

  // The last request in the log that only Mayfly knows (foreign_replica.h), and where it ends.
  // Other replicas can go on only from there.
  struct MayflyOnly {
    std::uint64_t end = 0;
    std::string what;
  };
  const MayflyOnly& mayfly_only() const { return mayfly_only_; }
  void note_mayfly_only(std::string what) { mayfly_only_ = {log_.end(), std::move(what)}; }

  // Whether a replica that is not Mayfly is attached. Then writes should be such that it knows.
  bool has_foreign() const { return has_foreign_; }
  void set_foreign(bool is_there) { has_foreign_ = is_there; }

  // The database of the last command in the log; -1: the next command must select one.
  int selected() const { return selected_; }
  void set_selected(int database) { selected_ = database; }

  // Of a cluster: the epoch of the primary whose stream this is. 0: there is no cluster.
  std::uint64_t epoch() const { return epoch_; }
  void set_epoch(std::uint64_t epoch) { epoch_ = epoch; }

  // Saved with the data, for going on after a restart.
  RdbAux aux() const;

 private:
  Propagation& propagation_;
  ReplicationIds ids_;
  ReplicationLog log_;
  bool is_open_ = false;
  bool is_replica_ = false;
  int selected_ = -1;
  std::uint64_t epoch_ = 0;
  bool has_foreign_ = false;
  MayflyOnly mayfly_only_;
};

}  // namespace mayfly
