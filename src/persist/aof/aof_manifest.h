// SPDX-License-Identifier: Apache-2.0
// AofManifest: which files make up the append-only file, and in which order they are read.
//
//   file appendonly.aof.2.base.rdb seq 2 type b        the keyspace when the rewrite began
//   file appendonly.aof.1.incr.aof seq 1 type h        history: not needed any more, to be removed
//   file appendonly.aof.2.incr.aof seq 2 type i        what was done since, in order
//
// This is how Redis 7 and Valkey lay it out. The file is NAME.manifest in the directory of the
// others, and always whole: it is written under another name, synced and renamed.
//
// Before Redis 7 the log was one file, DIRECTORY/../NAME. Such a file is found, too (is_old), and
// taken over as a base by Aof::open().

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "persist/disk/disk.h"

namespace mayfly {

// What a power failure loses. A crash of the process alone loses nothing that was flushed.
enum class AofSync {
  always,    // nothing: every flush() waits for the disk
  everysec,  // about the last two seconds: a thread syncs once a second
  no,        // what the system has not written yet, about 30 seconds
};

struct AofOptions {
  std::string directory;                // of all files: dir/appenddirname
  std::string name = "appendonly.aof";  // prefix of their names: appendfilename
  AofSync sync = AofSync::everysec;
  bool rdb_preamble = true;         // bases are RDB files, else commands
  bool no_sync_on_rewrite = false;  // during a rewrite, as with AofSync::no
};

struct AofPart {
  std::string name;  // within the directory; no slash in it
  std::int64_t sequence = 0;
  char type = 'i';  // b base, h history, i increment

  bool operator==(const AofPart&) const = default;
};

struct AofManifest {
  std::optional<AofPart> base;
  std::vector<AofPart> history;
  std::vector<AofPart> increments;  // oldest first; the last is being written

  bool operator==(const AofManifest&) const = default;

  // The greatest number in use, or 0.
  std::int64_t last_base() const;
  std::int64_t last_increment() const;

  // The next base or increment, not added yet: appendonly.aof.3.base.rdb, appendonly.aof.3.incr.aof
  AofPart next_base(std::string_view name, bool is_rdb) const;
  AofPart next_increment(std::string_view name) const;
};

// Code::corrupt tells the line. Words that we do not know (startoffset) and lines that begin with #
// are skipped. Increments must be in order of their numbers, and there is one base at most.
Result<AofManifest> parse_manifest(std::string_view text);

// Base, history, increments, a line each; names are quoted if they need it.
std::string format_manifest(const AofManifest& manifest);

// What there is on the disk.
struct AofFiles {
  std::optional<AofManifest> manifest;  // none: there is no log
  bool is_old = false;  // the base is DIRECTORY/../NAME yet; the manifest is what it would be

  // Where a part of the manifest is.
  std::string path(const AofOptions& options, const AofPart& part) const;
};

// Changes nothing. A log that is there but cannot be understood is an error.
Result<AofFiles> find_aof(Disk& disk, const AofOptions& options);

std::string aof_path(const AofOptions& options, std::string_view name);  // DIRECTORY/name
std::string manifest_path(const AofOptions& options);
std::string old_aof_path(const AofOptions& options);  // DIRECTORY/../NAME

// The directory that `path` is in: "." if it says none.
std::string parent_directory(const std::string& path);

// All bytes of a file; for small ones.
Result<std::string> read_file(Disk& disk, const std::string& path);

}  // namespace mayfly
