// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bench_store_seat.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace mayfly {
namespace {

void settle(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::syncfs(descriptor);
  ::close(descriptor);
}

}  // namespace

Seat::Seat(const PeerRow& row, const Clock& clock, const std::filesystem::path& directory)
    : row_(&row), clock_(&clock) {
  // What is ours shares one database.
  place_.directory = directory / (row.is_ours ? std::string_view("mayfly") : row.name);
}

Status Seat::prepare(const StoreWorkload& workload, std::size_t value_bytes) {
  const bool is_right = peer_ != nullptr && place_.durability == workload.durability;
  if (is_right && !workload.fresh) return warm(workload);
  peer_.reset();  // there may be only one at a time
  if (workload.fresh) {
    std::filesystem::remove_all(place_.directory);
    std::filesystem::create_directories(place_.directory);
  }
  place_.durability = workload.durability;
  place_.ttl = workload.ttl;
  place_.value_bytes = value_bytes;
  peer_ = row_->make(*clock_);
  is_warm_ = false;
  if (const Status status = peer_->open(place_); !status) return status;
  return warm(workload);
}

void Seat::finish(const StoreWorkload& workload) {
  if (row_->name == "mayfly-c") return peer_.reset();
  if (!writes(workload)) return;
  is_warm_ = false;
  settle(place_.directory);
}

// Reads everything once, so that no page has to be found anew.
Status Seat::warm(const StoreWorkload& workload) {
  if (is_warm_ || writes(workload) || row_->name == "mayfly-c") return Done{};
  is_warm_ = true;
  const Result<PeerTally> tally = peer_->scan();
  if (!tally) return tally.error();
  return Done{};
}

}  // namespace mayfly
