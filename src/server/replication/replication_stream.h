// SPDX-License-Identifier: Apache-2.0
// ReplicationStream: the writes of a primary as a stream of bytes with an id, and the role of this
// server in it.
//
// A stream has a replication id of 40 digits, and its bytes have offsets. A replica that has all
// bytes of a stream up to an offset can go on from there (PSYNC); any other gets all data. A replica
// that is promoted begins a stream with an id of its own, and remembers the one it comes from.
//
// A primary appends its writes. A replica appends what comes from its primary, byte for byte, so
// that it can have replicas, too.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "persist/rdb/rdb_writer.h"
#include "server/replication/propagation.h"
#include "server/replication/replication_log.h"

namespace mayfly {

// 40 random digits: the id of a run or of a replication stream.
std::string random_id();

struct ReplicationIds {
  std::string id = random_id();
  std::string former = {};       // the stream it comes from, or empty
  std::uint64_t former_end = 0;  // both are the same up to here
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

  // A write of this server. A replica appends only what its primary sends.
  void take(int database, std::string_view command) override;

  // The database of the last command in the log; -1: the next command must select one.
  int selected() const { return selected_; }
  void set_selected(int database) { selected_ = database; }

  // Saved with the data, for going on after a restart.
  RdbAux aux() const;

 private:
  Propagation& propagation_;
  ReplicationIds ids_;
  ReplicationLog log_;
  bool is_open_ = false;
  bool is_replica_ = false;
  int selected_ = -1;
};

}  // namespace mayfly
