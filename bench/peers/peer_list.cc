// SPDX-License-Identifier: Apache-2.0
// The systems that the suite `store` can compare, one row each. Declared in peer.h.

#include <algorithm>

#include "bench/peers/peer.h"

namespace mayfly::bench {
namespace {

constexpr PeerRow kPeers[] = {
    {"mayfly", "through its C++ interface", true, make_mayfly_peer},
    {"mayfly-c", "Mayfly through kvstore.h; single gets only", true, make_capi_peer},
    {"lmdb", "the same B-tree operations written by hand", false, make_lmdb_peer},
    {"sqlite", "WAL; synchronous OFF, NORMAL or FULL as the row says", false, make_sqlite_peer},
    {"rocksdb", "write-ahead log on; synced only where it says full", false, make_rocksdb_peer},
};

}  // namespace

std::span<const PeerRow> peer_rows() { return kPeers; }

const PeerRow& peer_named(std::string_view name) {
  return *std::ranges::find(kPeers, name, &PeerRow::name);
}

bool is_built_in(const PeerRow& peer) {
  const ManualClock clock;
  return peer.make(clock) != nullptr;
}

bool takes(const PeerRow& peer, const StoreWorkload& workload) {
  if (peer.name == "mayfly-c") return workload.task == StoreTask::get_each;
  if (peer.name == "sqlite") return workload.task != StoreTask::put_threads;
  if (peer.name == "lmdb") return workload.durability != Durability::normal;
  return true;
}

}  // namespace mayfly::bench
