// SPDX-License-Identifier: Apache-2.0
// ReplicaState: the state of a client that is a replica.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mayfly/time.h"
#include "persist/disk/byte_sink.h"
#include "server/replication/foreign_replica.h"

namespace mayfly {

// A replica goes through these in order; one that can go on where it was is online at once.
enum class ReplicaPhase {
  greeting,   // it has sent REPLCONF, but not PSYNC yet
  waiting,    // for a child to start that saves for it
  saving,     // the child writes a file
  sending,    // the file is on its way
  streaming,  // the child writes to the replica's connection itself
  loading,    // after streaming: until it says that it has loaded all of it
  online,
  done,  // it wanted only the file, which is sent
};

// What the file for a replica has: REPLCONF rdb-filter-only.
enum class RdbFilter : std::uint8_t { all, functions, nothing };

struct ReplicaState {
  ReplicaPhase phase = ReplicaPhase::greeting;
  std::int64_t port = 0;   // where it listens itself
  std::string ip;          // as it announces itself; empty: the address it came from
  bool takes_eof = false;  // a transfer whose length is not known at first
  bool knows_ids = false;  // that replication ids can change
  bool is_old = false;     // it sent SYNC
  bool is_mayfly = false;  // it knows deadlines of all members
  bool announces_version = false;
  bool wants_file_only = false;  // rdb-only: no stream after it
  RdbFilter filter = RdbFilter::all;
  std::int64_t version = 0;  // the first number of it
  bool has_loaded = false;   // it has acknowledged before our child ended
  Time since{};              // of the phase
  std::uint64_t cursor = 0;  // the next byte of the log that goes to it
  std::uint64_t acked = 0;   // it has applied all bytes before this one
  std::uint64_t acked_aof = 0;
  Time acked_at{};
  std::unique_ptr<ByteSource> file;
  std::string node;         // of a cluster; empty: none
  std::string incarnation;  // of that node

  // A program that asks for the data by SYNC, such as `redis-cli --rdb`, need not understand it.
  // Valkey announces its version, 9 or more; so did Mayfly, 1 or less, before it knew sets.
  KnownDeadlines known_deadlines() const {
    if (is_mayfly || is_old) return KnownDeadlines::all;
    const bool knows_fields = announces_version && (version >= 9 || version < 8);
    return knows_fields ? KnownDeadlines::fields : KnownDeadlines::none;
  }

  // The stream that follows would not fit to a part of the data.
  bool ends_with_file() const { return wants_file_only || filter != RdbFilter::all; }

  bool is_attached() const { return phase != ReplicaPhase::greeting; }
  bool is_online() const { return phase == ReplicaPhase::online; }
};

}  // namespace mayfly
