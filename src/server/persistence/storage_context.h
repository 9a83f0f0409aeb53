// SPDX-License-Identifier: Apache-2.0
// StorageContext: what saving, loading and synchronising need of the rest of the server.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "keyspace/keyspace.h"
#include "persist/rdb/rdb_save.h"
#include "server/core/server_host.h"

namespace mayfly {

class Background;
class Loading;
class ReplicationStream;
struct Stats;

struct StorageContext : Environment {
  Keyspace& keyspace;
  Stats& stats;
  Background& background;
  Loading& loading;
  ReplicationStream& stream;
};

// How a snapshot is written now, for SAVE, for the append-only file and for replicas.
SaveOptions save_options(const StorageContext& context);

// An error if keys of a file could not be loaded, unless `drop-unsupported` allows that. The error
// counts them by type.
Status check_skipped(const Environment& environment,
                     const std::map<std::string, std::uint64_t>& skipped, const std::string& file);

// All keys that are stored, including those that are due.
std::uint64_t stored_keys(Keyspace& keyspace);

}  // namespace mayfly
