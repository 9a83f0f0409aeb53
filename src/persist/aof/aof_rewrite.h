// SPDX-License-Identifier: Apache-2.0
// What the base of an append-only file holds: all that is stored, as an RDB file or as commands.
//
//   FUNCTION LOAD code                        a library of functions
//   SELECT 0
//   SET key value PXAT 1700000000000          a string, with its deadline if it has one
//   HSET key f v f v ...                      members without a deadline, 64 at a time
//   SADD key m m ...
//   ZADD key s m s m ...
//   HSETEX key PXAT ms FIELDS 2 f v f v       members that share a deadline, 64 at a time
//   SADDEX key PXAT ms MEMBERS 2 m m
//   ZADDEX key PXAT ms MEMBERS 2 s m s m
//   RPUSH key e e ...                         elements of a list, 64 at a time
//   XADD key id f v ...                       an entry of a stream; aof_rewrite_values.h
//   PEXPIREAT key ms                          if the key itself has a deadline, after all of it
//
// Members that are due at options.format.now are left out of commands.
//
// Like save_rdb() it changes nothing, takes no lock and starts no thread: for a child process.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "keyspace/keyspace.h"
#include "mayfly/result.h"
#include "persist/disk/byte_sink.h"
#include "persist/disk/disk.h"
#include "persist/rdb/rdb_save.h"

namespace mayfly {

// With `rdb_preamble` what save_rdb() writes, with "aof-base" = "1" added to its aux.
Result<SaveProgress> write_aof_base(Keyspace& keyspace, ByteSink& sink, const SaveOptions& options,
                                    bool rdb_preamble, const OnSaveProgress& progress);

// The same into a new file at `path`, synced: what the child does with Aof::begin_rewrite()'s path.
Result<SaveProgress> write_aof_base_file(Disk& disk, const std::string& path, Keyspace& keyspace,
                                         const SaveOptions& options, bool rdb_preamble,
                                         const OnSaveProgress& progress);

// Whether a key is wanted.
using KeyFilter = std::function<bool(std::string_view key)>;

// The commands for some keys of one database, without SELECT: for another server that shall have
// them.
Result<SaveProgress> write_keys(Database& database, ByteSink& sink, Time now,
                                const KeyFilter& wants, const OnSaveProgress& progress);

}  // namespace mayfly
