// SPDX-License-Identifier: Apache-2.0
// What the nodes of a shard tell each other, for ShardMachine. server/cluster/node/node_messages.h
// has them as requests and replies.

#pragma once

#include <cstdint>
#include <string>

#include "cluster/records.h"
#include "mayfly/time.h"

namespace mayfly {

// From a replica to its primary.
struct Pulse {
  std::uint64_t epoch = 0;
  NodeMemory from;
  std::string history;       // the replication id of its data
  std::uint64_t offset = 0;  // of what it has applied of it
  Time token{};              // the last one it got of this primary; Time{} for none
  Time own{};                // its own clock: a token for the case that it becomes the primary
  Time wall{};               // its wall clock
  bool leaves = false;       // it shuts down, or drops its data: it will never take over
};

struct PulseReply {
  std::uint64_t epoch = 0;
  std::uint64_t version = 0;  // of the record
  Time token{};
  Time echo{};  // Pulse::own, as it came
  Time wall{};  // the primary's wall clock, with its floor
  bool is_serving = false;
  bool is_in_sync = false;  // the replica is in the record
};

// From a replica that wants to take over to the others of the set.
struct Canvass {
  std::uint64_t version = 0;  // of the record
  std::uint64_t epoch = 0;    // of the record
  NodeMemory from;
  std::uint64_t offset = 0;
  Time token{};  // its clock
};

struct CanvassReply {
  std::uint64_t version = 0;
  NodeMemory from;
  bool is_granted = false;  // false: it still hears a primary that serves
  std::uint64_t offset = 0;
  Time token{};  // as it came
};

}  // namespace mayfly
