// SPDX-License-Identifier: Apache-2.0
#include "server/migration/migration_targets.h"

#include <algorithm>

namespace mayfly {
namespace {

constexpr std::size_t kTargetsMax = 64;
constexpr Millis kIdleMax{10'000};

}  // namespace

Result<MigrationTargets::Target> MigrationTargets::take(const std::string& host, int port,
                                                        Millis longest) {
  if (const auto found = kept_.find({host, port}); found != kept_.end()) {
    Target target = std::move(found->second.target);
    kept_.erase(found);
    target.was_kept = true;
    return target;
  }
  Result<std::unique_ptr<BlockingStream>> stream = host_.connect_blocking(host, port, longest);
  if (!stream) return stream.error();
  return Target{.stream = std::move(*stream)};
}

void MigrationTargets::keep(const std::string& host, int port, Target target, Time now) {
  if (kept_.size() >= kTargetsMax) {
    kept_.erase(
        std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.used; }));
  }
  kept_.insert_or_assign({host, port}, Kept{std::move(target), now});
}

void MigrationTargets::close_idle(Time now) {
  std::erase_if(kept_,
                [&](const auto& entry) { return is_due(entry.second.used + kIdleMax, now); });
}

}  // namespace mayfly
