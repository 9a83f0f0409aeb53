// SPDX-License-Identifier: Apache-2.0
// The systems that `mayfly bench store` can compare, one row each.

#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "bench/peers/peer.h"
#include "bench/store/bench_store_workload.h"

namespace mayfly {

struct PeerRow {
  std::string_view name;    // on the command line and in JSON
  std::string_view title;   // in tables and charts
  std::string_view colour;  // in charts; see strategies.h
  std::string_view idea;    // what it does, in a few words
  bool is_ours;
  std::unique_ptr<Peer> (*make)(const Clock&);
};

// All of them, in the order in which they are shown. Mayfly comes first.
std::span<const PeerRow> peer_rows();

// REQUIRES: there is one of that name.
const PeerRow& peer_named(std::string_view name);

bool is_built_in(const PeerRow& peer);

// Whether it can do that: LMDB has no durability between all and nothing, and the C API is there to
// be asked for single gets.
bool takes(const PeerRow& peer, const StoreWorkload& workload);

}  // namespace mayfly
