// SPDX-License-Identifier: Apache-2.0
// StorageContext: what saving, loading and synchronising need of the rest of the server.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "keyspace/keyspace.h"
#include "persist/rdb/rdb_loader.h"
#include "persist/rdb/rdb_save.h"
#include "server/core/server_host.h"

namespace mayfly {

class Background;
class Loading;
class KeyEvents;
class ReplicationStream;
class Scripting;
struct Stats;

struct StorageContext : ServerContext {
  Keyspace& keyspace;
  Stats& stats;
  Background& background;
  Loading& loading;
  ReplicationStream& stream;
  Scripting& scripting;
};

// How a snapshot is written now, for SAVE, for the append-only file and for replicas.
SaveOptions save_options(const StorageContext& context);

// Takes a library of functions from a file. `replaces`: also if there is one of that name.
LoadFunction load_function(const StorageContext& context, bool replaces = false);

// Whether the file can be loaded: for a load at once that replaces data.
Status verify_rdb(const StorageContext& context, const std::string& path);

// Removes all data, before other data is loaded: keys and libraries of functions.
void clear_data(const StorageContext& context, KeyEvents& events);

// An error if keys of a file could not be loaded, unless `drop-unsupported` allows that. The error
// counts them by type.
Status check_skipped(const ServerContext& context,
                     const std::map<std::string, std::uint64_t>& skipped, const std::string& file);

// An error of the manifest of the append-only file, with advice: the files that it names may be
// whole.
Error bad_manifest(const Error& why);

// A key without members or elements, which no server writes, is left out. That is logged.
void warn_of_empty_keys(const ServerContext& context, const RdbReport& report,
                        const std::string& file);

// All keys that are stored, including those that are due.
std::uint64_t stored_keys(Keyspace& keyspace);

}  // namespace mayfly
