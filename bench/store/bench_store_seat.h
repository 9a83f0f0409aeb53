// SPDX-License-Identifier: Apache-2.0
// Seat: one of the systems that `mayfly bench store` compares, and the database that it has open.

#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "bench/peers/peer_list.h"
#include "bench/store/bench_store_workload.h"
#include "mayfly/clock.h"
#include "mayfly/result.h"

namespace mayfly {

class Seat {
 public:
  // Its database goes into a directory below `directory`. `clock` must outlive it.
  Seat(const PeerRow& row, const Clock& clock, const std::filesystem::path& directory);

  const PeerRow& row() const { return *row_; }
  Peer& peer() { return *peer_; }

  // Opens the database as the workload wants it: fresh, with its durability, and where reads are to
  // be measured, warm. Nothing of this is to be measured.
  Status prepare(const StoreWorkload& workload, std::size_t value_bytes);

  // After a workload: waits until the disk has what was written, so that nobody pays for what
  // another one wrote.
  void finish(const StoreWorkload& workload);

  void close() { peer_.reset(); }

 private:
  Status warm(const StoreWorkload& workload);

  const PeerRow* row_;
  const Clock* clock_;
  PeerPlace place_;
  std::unique_ptr<Peer> peer_;
  bool is_warm_ = false;  // all was read since it was opened or written to
};

}  // namespace mayfly
