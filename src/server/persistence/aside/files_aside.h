// SPDX-License-Identifier: Apache-2.0
// Files that would be replaced although they have data that is nowhere else: they get a second
// name, which is never used again.
//
//   dump.rdb.unsupported-1       it had keys of unsupported types, which were left out
//   dump.rdb.not-loaded-1        it was put there beside an append-only file, which was loaded
//   appendonlydir.not-loaded-1   the server started with `appendonly no`, and began another one
//   dump.rdb.replaced-1          the server led, and had to follow one that has less; or its
//                                primary restarted without keys
//
// A mark in the folder of the append-only file identifies the last dump that the server has
// written, so that a restored backup is recognised.

#pragma once

#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "server/persistence/storage_context.h"

namespace mayfly {

class AofWriter;

// The first of path.WHY-1, path.WHY-2 and so on that does not exist.
std::string unused_name(const Disk& disk, const std::string& path, std::string_view why);

// Keeps all data that is in memory, by the files that have it or by a new one. Returns its name.
Result<std::string> keep_data_aside(const StorageContext& context, AofWriter& aof);

// Whether an RDB file is whole and has no keys. It is read up to the first one.
bool has_no_keys(Disk& disk, const std::string& path);

// Marks the dump as one that needs not be kept. Does nothing without a dump or without the folder.
void mark_dump(const StorageContext& context);

// Whether a dump is there that is not the one marked last.
bool has_unknown_dump(const StorageContext& context);

}  // namespace mayfly
