// SPDX-License-Identifier: Apache-2.0
#include "server/replication/stream_errors.h"

#include <fmt/format.h>

#include <chrono>

namespace mayfly {
namespace {

constexpr std::chrono::seconds kInterval{1};
constexpr std::size_t kKindsMax = 64;

}  // namespace

void StreamErrors::add(Log& log, Time now, const StreamError& error) {
  const std::string_view code = error.error.substr(0, error.error.find(' '));
  if (kinds_.size() >= kKindsMax && !kinds_.contains(code)) kinds_.clear();
  Kind& kind = kinds_[std::string(code)];
  if (!is_due(kind.next, now)) {
    ++kind.left_out;
    return;
  }
  std::string line =
      fmt::format("A command of the {} {} failed: '{:.128}': {:.256} (data may differ from now on)",
                  error.peer, error.address, error.command, error.error);
  if (kind.left_out > 0) line += fmt::format("; {} more of this kind before", kind.left_out);
  log.write(Level::warning, line);
  kind = {now + kInterval, 0};
}

}  // namespace mayfly
