// SPDX-License-Identifier: Apache-2.0
// Errors of peers in the log, at a bounded rate.

#include "server/core/log.h"

#include <chrono>

namespace mayfly {
namespace {

constexpr std::chrono::seconds kLogInterval{1};
constexpr std::size_t kErrorKindsMax = 64;

}  // namespace

void PeerErrors::add(Log& log, Time now, const Entry& entry) {
  const std::string_view code = entry.error.substr(0, entry.error.find(' '));
  if (kinds_.size() >= kErrorKindsMax && !kinds_.contains(code)) kinds_.clear();
  Kind& kind = kinds_[std::string(code)];
  if (!is_due(kind.next, now)) {
    ++kind.left_out;
    return;
  }
  const std::string more =
      kind.left_out > 0 ? fmt::format("; {} more errors of this kind before", kind.left_out) : "";
  log.warning("A command from the {} {} failed: '{:.128}': {:.256} (the data may differ now){}",
              entry.peer, entry.address, entry.command, entry.error, more);
  kind = {now + kLogInterval, 0};
}

}  // namespace mayfly
