// SPDX-License-Identifier: Apache-2.0
// Where the append-only file is, and when it is synced.

#pragma once

#include <string>

namespace mayfly {

// What a power cut takes. A crash of the process alone takes nothing that was flushed, whichever it
// is.
enum class AofSync {
  always,    // nothing that was flushed: every flush() waits for the disk
  everysec,  // about the last two seconds: a thread syncs once a second
  no,        // what the system has not written yet, some 30 seconds
};

struct AofOptions {
  std::string directory;                // of all its files: dir/appenddirname
  std::string name = "appendonly.aof";  // what their names begin with: appendfilename
  AofSync sync = AofSync::everysec;
  bool rdb_preamble = true;         // bases are RDB files, else commands
  bool no_sync_on_rewrite = false;  // no sync from begin_rewrite() to its end: as with AofSync::no
};

}  // namespace mayfly
