// SPDX-License-Identifier: Apache-2.0
// What the parts that save and load share.

#include "server/persistence/storage_context.h"

#include <chrono>

#include "keyspace/eviction.h"
#include "server/core/memory.h"
#include "server/core/version.h"
#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

constexpr std::uint64_t kSyncEveryBytes = 4u << 20;  // 4 MiB

bool uses_access(Eviction policy) {
  using enum Eviction;
  return policy == allkeys_lru || policy == volatile_lru || uses_lfu(policy);
}

}  // namespace

SaveOptions save_options(const StorageContext& context) {
  const Config& config = context.config;
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(context.clock.now()).time_since_epoch().count();
  SaveOptions options;
  options.format = {.compresses = config.rdbcompression, .checksums = config.rdbchecksum};
  options.saves_access = uses_access(config.maxmemory_policy);
  options.aux = {{"mayfly-ver", std::string(kServerVersion)},
                 {"redis-ver", std::string(kCompatibleVersion)},
                 {"ctime", std::to_string(seconds)},
                 {"used-mem", std::to_string(used_memory())}};
  const RdbAux more = context.stream.aux();
  options.aux.insert(options.aux.end(), more.begin(), more.end());
  options.sync_every_bytes = config.rdb_save_incremental_fsync ? kSyncEveryBytes : 0;
  return options;
}

Status check_skipped(const Environment& environment,
                     const std::map<std::string, std::uint64_t>& skipped, const std::string& file) {
  if (skipped.empty()) return Done{};
  std::string counts;  // "3 of type list, 1 of type set"
  for (const auto& [type, count] : skipped) {
    counts += fmt::format("{}{} of type {}", counts.empty() ? "" : ", ", count, type);
  }
  const std::string what = fmt::format("{} has keys of unsupported types: {}", file, counts);
  if (!environment.config.drop_unsupported) {
    return Error{Code::unsupported,
                 what +
                     " (to leave them out: --drop-unsupported, or CONFIG SET drop-unsupported "
                     "yes)"};
  }
  environment.log.warning("{}. They are left out (drop-unsupported)", what);
  return Done{};
}

std::uint64_t stored_keys(Keyspace& keyspace) {
  std::uint64_t keys = 0;
  for (int i = 0; i < keyspace.count(); ++i) keys += keyspace[i].stored();
  return keys;
}

}  // namespace mayfly
